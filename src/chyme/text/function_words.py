"""The function words of several languages: they carry no topic, and reveal the language."""

from __future__ import annotations

import re
from functools import cache

from chyme.text.unspaced_scripts import IDEOGRAPH
from chyme.text.word_lists import WordList

_FUNCTION_WORDS = WordList(__package__, "function_words")
_FILLERS, _NUMBERS = WordList(__package__, "filler_words"), WordList(__package__, "number_words")
# Also capitalised in the middle of a sentence, so they do not show where one begins.
_ALWAYS_CAPITAL = frozenset(
    {"i", "i'd", "i'll", "i'm", "i've", "sie", "ihnen", "ihr", "ihre", "ihrem", "ihren", "ihrer"}
)
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_MIN_VOTES = 3  # matching function words needed to decide for a language
_LEAD = 1.5  # how much more often than in the next best language


def function_words(language: str | None) -> frozenset[str]:
    """In lower case, with straight apostrophes; empty for a language that is not listed here."""
    return _FUNCTION_WORDS.words(language or "")


@cache
def empty_words(language: str | None) -> frozenset[str]:
    """Words that name no topic: function words and the fillers of speech."""
    code = language or ""
    return function_words(language) | _FILLERS.words(code) | _NUMBERS.words(code)


def words_in(text: str) -> list[str]:
    """The words of a text in lower case, with straight apostrophes and without numbers."""
    return [word.replace("’", "'") for word in _WORD.findall(text.lower())]


def begins_a_sentence(word: str, language: str | None) -> bool:
    """Whether this capitalised word must be at the beginning of a sentence, because elsewhere it has no capital."""
    plain = word.lower().replace("’", "'")
    small = function_words(language) if language == "de" else empty_words(language)  # German nouns are capitalised
    return word[:1].isupper() and plain in small and plain not in _ALWAYS_CAPITAL


def language_of(text: str) -> str | None:
    """The language of a text, among those listed here; None when that is not clear."""
    if IDEOGRAPH.search(text):
        return None
    words = words_in(text)
    votes = sorted(
        ((sum(map(function_words(code).__contains__, words)), code) for code in _FUNCTION_WORDS.sections), reverse=True
    )
    (best, winner), (next_best, _) = votes[:2]
    return winner if best >= _MIN_VOTES and best >= _LEAD * max(next_best, 1) else None
