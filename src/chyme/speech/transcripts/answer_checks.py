"""Check that a model's answer corrects or summarises what was said, and does nothing else."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher

from chyme.speech.transcripts.cleanup_rules import KNOWN, strip_fillers
from chyme.speech.transcripts.summary import TAKEAWAY_LENGTH
from chyme.text.function_words import language_of, words_in
from chyme.text.markdown_lines import clean_line
from chyme.text.topic_overlap import is_off_topic
from chyme.text.unspaced_scripts import IDEOGRAPH
from chyme.text.word_lists import WordList

_MIN_SIMILARITY = 0.5  # minimum share of words, or of letter pairs, that must remain
_MAX_GROWTH, _MAX_SHRINKING = 1.4, 0.6  # length ratio in letters, against the text without fillers
_SLACK_LETTERS = 12  # letters that a text of any length may grow or shrink by
_MAX_ORDERED_WORDS = 300  # up to this many words their order is compared; beyond, only the set of words
_NUMBERS = re.compile(r"\d+")
_NUMBER_WORDS = WordList(__package__, "number_words")
_NAME = re.compile(r"(?<=[\w,;’'-] )[A-ZÀ-ÖØ-Þ][^\W\d_]+(?:[-’'][^\W\d_]+)*")  # a capital within a sentence
_CAPITAL_NOUNS = frozenset({"de", "lb"})  # languages in which a capital tells no name


def check_numbering(expected: Sequence[int], got: Sequence[int]) -> str | None:
    """What is wrong with the numbers of an answer, as an instruction to correct it; None when they fit."""
    if list(got) == list(expected):
        return None
    wanted, counts = set(expected), Counter(got)
    missing = [number for number in expected if number not in counts]
    extra = sorted(set(got) - wanted)
    twice = sorted(number for number, times in counts.items() if times > 1)
    if missing:
        return f"segments {_join_numbers(missing)} are missing: do not merge segments"
    if extra:
        return f"there are no segments {_join_numbers(extra)}: do not add any"
    if twice:
        return f"segments {_join_numbers(twice)} came more than once: do not split segments"
    return "the segments are not in their order: keep it"


def check_correction(said: str, given: str, language: str | None, around: Sequence[str] = ()) -> str | None:
    """Why `given` is not `said` with its mistakes corrected; None when it is.

    A name may only be replaced by one that is heard elsewhere: in the texts `around`.
    """
    cleaned = strip_fillers(said, language)
    given = clean_line(given)
    if not given:
        return None if not cleaned else "was emptied, though it says something"
    if _numbers_in(said, language) != _numbers_in(given, language):
        return "has other numbers than were said"
    if language not in _CAPITAL_NOUNS and (name := _new_name(said, given, around)):
        return f"names {name}, which was not said: keep names as they were heard"
    length = max(len(cleaned), 1)
    if len(given) > max(length, len(said)) * _MAX_GROWTH + _SLACK_LETTERS:
        return "is much longer than what was said"
    if len(given) < length * _MAX_SHRINKING - _SLACK_LETTERS:
        return "leaves out much of what was said"
    original_language, given_language = language_of(cleaned), language_of(given)
    if original_language and given_language and original_language != given_language:
        return "is in another language than what was said"
    if _similarity(cleaned or said, given) < _MIN_SIMILARITY:
        return "has too few words in common with what was said"
    return None


def _numbers_in(text: str, language: str | None) -> list[str]:
    """The numbers of a text, in digits and in words."""
    words = _NUMBER_WORDS.words(language or "")
    return [*_NUMBERS.findall(text), *(word for word in words_in(text) if word in words)]


def _new_name(said: str, given: str, around: Sequence[str]) -> str | None:
    """A name that takes the place of one that was said, though it is heard nowhere."""
    given_words = set(words_in(given))
    lost = [name for name in _NAME.findall(said) if not set(words_in(name)) <= given_words]
    if not lost:
        return None
    heard = {word for text in (said, *around) for word in words_in(text)}
    return next((name for name in _NAME.findall(given) if not set(words_in(name)) <= heard), None)


def _similarity(said: str, given: str) -> float:
    """From 0 to 1: the share of words that remain in order, or of letter pairs where a word was misheard."""
    original_words, given_words = words_in(said), words_in(given)
    if not original_words or not given_words:
        return 1.0 if not original_words and not given_words else 0.0
    letter_score = _shared_share(_letter_pairs("".join(original_words)), _letter_pairs("".join(given_words)))
    if IDEOGRAPH.search(said):
        return letter_score
    if max(len(original_words), len(given_words)) > _MAX_ORDERED_WORDS:
        return _shared_share(Counter(original_words), Counter(given_words))
    word_score = SequenceMatcher(None, original_words, given_words, autojunk=False).ratio()
    is_short = max(len(original_words), len(given_words)) <= 4  # one misheard word may be half of the text
    return max(word_score, letter_score) if is_short else max(word_score, letter_score - 0.25)


def _letter_pairs(letters: str) -> Counter[str]:
    return Counter(letters[index : index + 2] for index in range(max(len(letters) - 1, 1)))


def _shared_share(first: Counter[str], second: Counter[str]) -> float:
    return 2 * (first & second).total() / max(first.total() + second.total(), 1)


def _join_numbers(numbers: Sequence[int]) -> str:
    shown = ", ".join(map(str, numbers[:10]))
    return shown + (" …" if len(numbers) > 10 else "")


def check_summary(takeaway: str, points: Sequence[str], said: str, language: str | None) -> str | None:
    """What is wrong with a summary, as an instruction to correct it; None when nothing is."""
    if not takeaway:
        return "the takeaway is empty"
    if len(takeaway) > TAKEAWAY_LENGTH:
        return "the takeaway is too long: one or two sentences are enough"
    written_in = language_of(takeaway) or language_of(" ".join((takeaway, *points)))
    if language in KNOWN and written_in is not None and written_in != language:
        return f"the summary is not in the language that was spoken, which is {language!r}"
    if is_off_topic(takeaway, said, language):
        return "the takeaway is about something that was not said: only summarise the recording"
    return None
