"""Decide what to believe: Whisper returns some text for every sound."""

from __future__ import annotations

import re
import unicodedata
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from chyme.text.word_lists import WordList

LOOP_COMPRESSION = 2.4  # compression ratio from which a text counts as repetitive
DOUBTFUL_LOGPROB = -0.7  # mean log probability below which the model should try again …
GUESSED_LOGPROB = -1.0  # … and below which it is guessing
NO_SPEECH, UNSURE_LOGPROB = 0.6, -0.6  # the model itself reports no speech, and is not sure of the words either
MIN_WORD_PROBABILITY = 0.35  # minimum mean probability of the words
LETTERS_A_SECOND, EXTRA_LETTERS = 35.0, 10.0  # faster speech is implausible
LETTERS_PER_WIDE_CHARACTER = 3  # letters that one Chinese, Japanese or Korean character counts for
LOOP_REPEATS = 4  # repetitions of one phrase in a row that make a loop
MAX_PHRASE_WORDS = 8  # maximum words in a repeated phrase
_COMMON_HALLUCINATIONS = WordList(__package__, "hallucinations")
_REPEATED_LETTERS = re.compile(r"(.{1,20}?)\1{6}", re.DOTALL)  # the same few letters repeated


@dataclass(frozen=True, slots=True)
class WhisperWord:
    """One word as written in the text, including the space before it, if any. Times are seconds into the sound."""

    text: str
    start: float
    end: float
    probability: float


@dataclass(frozen=True, slots=True)
class WhisperResult:
    """The text recognised in some seconds of sound, and the model's confidence."""

    text: str
    seconds: float
    mean_logprob: float  # mean log probability of the text
    no_speech: float  # probability that there is no speech
    words: tuple[WhisperWord, ...] = ()


def is_doubtful(result: WhisperResult) -> bool:
    """Whether the model should try again."""
    return result.mean_logprob < DOUBTFUL_LOGPROB or is_repetitive(result.text) or _is_too_fast(result)


def quality_score(result: WhisperResult) -> tuple[bool, float]:
    """The larger, the better the result."""
    return not is_repetitive(result.text) and not _is_too_fast(result), result.mean_logprob


def filter_hallucinations(result: WhisperResult) -> tuple[WhisperWord, ...]:
    """The words that were really said: none if the model made them up, and repeated phrases only once."""
    words = result.words
    if is_repetitive(result.text) or _is_too_fast(result):
        words = _without_loops(words)
        result = replace(result, text="".join(word.text for word in words), words=words)
    if not words or is_repetitive(result.text) or _is_too_fast(result) or result.mean_logprob < GUESSED_LOGPROB:
        return ()
    if result.no_speech > NO_SPEECH and result.mean_logprob < UNSURE_LOGPROB:
        return ()
    if sum(word.probability for word in words) < MIN_WORD_PROBABILITY * len(words):
        return ()
    if _normalise(result.text) in _COMMON_HALLUCINATIONS.phrases() and (
        result.no_speech > NO_SPEECH / 2 or result.mean_logprob < UNSURE_LOGPROB
    ):
        return ()
    return words


def is_repetitive(text: str) -> bool:
    """Whether the text, or a part of it, repeats one phrase."""
    data = text.strip().encode()
    return len(data) > LOOP_COMPRESSION * len(zlib.compress(data)) or _REPEATED_LETTERS.search(text) is not None


def _is_too_fast(result: WhisperResult) -> bool:
    letters = sum(
        LETTERS_PER_WIDE_CHARACTER if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in result.text
    )
    return letters > LETTERS_A_SECOND * result.seconds + EXTRA_LETTERS


def _without_loops(words: Sequence[WhisperWord]) -> tuple[WhisperWord, ...]:
    """Return the words with each phrase that is said many times in a row kept once."""
    normalised = [_normalise(word.text) for word in words]
    remaining: list[WhisperWord] = []
    position = 0
    while position < len(words):
        length, repeats = _find_loop(normalised, position)
        remaining += words[position : position + length]
        position += length * repeats
    return tuple(remaining)


def _find_loop(normalised: Sequence[str], position: int) -> tuple[int, int]:
    """Return the number of words of the phrase that starts here, and how often it repeats; (1, 1) if it is no loop."""
    for length in range(1, MAX_PHRASE_WORDS + 1):
        phrase, repeats = normalised[position : position + length], 1
        while (
            len(phrase) == length
            and normalised[position + repeats * length : position + (repeats + 1) * length] == phrase
        ):
            repeats += 1
        if repeats >= LOOP_REPEATS:
            return length, repeats
    return 1, 1


def _normalise(text: str) -> str:
    return " ".join(re.sub(r"[\W_]+", " ", text).casefold().split())
