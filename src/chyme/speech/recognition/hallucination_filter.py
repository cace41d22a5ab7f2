"""Whisper tells something for every sound. What of it to believe."""

from __future__ import annotations

import re
import unicodedata
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

LOOPING = 2.4  # a text that compression makes so much shorter repeats itself
DOUBTFUL = -0.7  # mean log probability below which the model should listen again …
UNLIKELY = -1.0  # … and below which it is guessing
NO_SPEECH, NOT_SURE = 0.6, -0.6  # it says itself that nobody spoke, and is not sure of the words either
LEAST = 0.35  # mean probability of the words
LETTERS_A_SECOND, LETTERS_MORE = 35.0, 10.0  # nobody speaks faster
SYLLABLE = 3  # letters that a sign of Chinese, Japanese or Korean counts for
REPEATS = 4  # of one phrase in a row
PHRASE = 8  # words of a phrase that may be repeated
# What it learned from the subtitles of films in which nobody spoke.
_TABLE = """
you · bye · bye bye · thank you · thank you very much · thank you so much · thanks for watching ·
thank you for watching · please subscribe · subtitles by the amara org community · vielen dank ·
untertitel der amara org community · untertitel im auftrag des zdf für funk 2017 ·
sous titres réalisés para la communauté d amara org · sous titrage st 501 · merci d avoir regardé cette vidéo ·
subtítulos realizados por la comunidad de amara org · gracias por ver el video · gracias ·
sottotitoli creati dalla comunità amara org · legendas pela comunidade amara org · продолжение следует ·
субтитры сделал dimatorzok · спасибо за просмотр · ご視聴ありがとうございました · 字幕由amara org社区提供 · 谢谢观看 ·
謝謝觀看 · 谢谢大家 · 시청해주셔서 감사합니다 · 감사합니다
"""
_HABITS = frozenset(entry.strip() for entry in _TABLE.split("·"))
_STUCK = re.compile(r"(.{1,20}?)\1{6}", re.DOTALL)  # the same few letters again and again


@dataclass(frozen=True, slots=True)
class WhisperWord:
    """One word as it stands in the text, with the blank before it, if there is one. Seconds into the sound."""

    text: str
    start: float
    end: float
    probability: float


@dataclass(frozen=True, slots=True)
class WhisperResult:
    """What was heard in some seconds of sound, and how much the model believes it."""

    text: str
    seconds: float
    likely: float  # mean log probability of the text
    no_speech: float  # probability that nobody spoke
    words: tuple[WhisperWord, ...] = ()


def is_doubtful(heard: WhisperResult) -> bool:
    """Whether the model should listen again."""
    return heard.likely < DOUBTFUL or is_repetitive(heard.text) or _rushed(heard)


def quality_score(heard: WhisperResult) -> tuple[bool, float]:
    """The larger, the better heard."""
    return not is_repetitive(heard.text) and not _rushed(heard), heard.likely


def filter_hallucinations(heard: WhisperResult) -> tuple[WhisperWord, ...]:
    """The words that were said: none if the model made them up, and no phrase again and again."""
    words = heard.words
    if is_repetitive(heard.text) or _rushed(heard):
        words = _without_loops(words)
        heard = replace(heard, text="".join(word.text for word in words), words=words)
    if not words or is_repetitive(heard.text) or _rushed(heard) or heard.likely < UNLIKELY:
        return ()
    if heard.no_speech > NO_SPEECH and heard.likely < NOT_SURE:
        return ()
    if sum(word.probability for word in words) < LEAST * len(words):
        return ()
    if _plain(heard.text) in _HABITS and (heard.no_speech > NO_SPEECH / 2 or heard.likely < NOT_SURE):
        return ()
    return words


def is_repetitive(text: str) -> bool:
    """Whether the text, or a part of it, is one phrase again and again."""
    data = text.strip().encode()
    return len(data) > LOOPING * len(zlib.compress(data)) or _STUCK.search(text) is not None


def _rushed(heard: WhisperResult) -> bool:
    letters = sum(SYLLABLE if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in heard.text)
    return letters > LETTERS_A_SECOND * heard.seconds + LETTERS_MORE


def _without_loops(words: Sequence[WhisperWord]) -> tuple[WhisperWord, ...]:
    """Each phrase that is said many times in a row, once."""
    plain = [_plain(word.text) for word in words]
    kept: list[WhisperWord] = []
    at = 0
    while at < len(words):
        length, again = _loop(plain, at)
        kept += words[at : at + length]
        at += length * again
    return tuple(kept)


def _loop(plain: Sequence[str], at: int) -> tuple[int, int]:
    """How many words the phrase that begins here has, and how often it is said; one word once, if it is no loop."""
    for length in range(1, PHRASE + 1):
        phrase, again = plain[at : at + length], 1
        while len(phrase) == length and plain[at + again * length : at + (again + 1) * length] == phrase:
            again += 1
        if again >= REPEATS:
            return length, again
    return 1, 1


def _plain(text: str) -> str:
    return " ".join(re.sub(r"[\W_]+", " ", text).casefold().split())
