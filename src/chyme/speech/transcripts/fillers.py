"""Filler sounds and stuttered words by language: only those that have no meaning in that language."""

from __future__ import annotations

import re
from functools import cache
from itertools import product

from chyme.text.word_lists import WordList

# A sound in one language is a word in another: `um` is German and Portuguese, `er` German and Dutch.
_FILLERS = {
    "en": r"u+m+|u+h+m*|e+r+m+|er|ehm+",
    "de": r"ä+h+m*|ö+h+m*|e+h+m+|ühm+|uhm+",
    "fr": r"e+u+h+m*|h+e+u+h*|ehm+",
    "es": r"eh+m*|em+|uhm+",
    "it": r"eh+m+|uhm+|ehmm+",
    "nl": r"u+h+m*|e+h+m*|e+u+h+m*",
    "pt": r"ehm+|uhm+|ahm+|ã+h+m*",
}
_FILLERS_ELSEWHERE = r"uhm+|ehm+|ähm+"

_SAID_ONCE = WordList(__package__, "said_once")
_ARTICLES, _BEFORE_ARTICLES = WordList(__package__, "articles"), WordList(__package__, "before_articles")
KNOWN = tuple(_FILLERS)


@cache
def filler_pattern(language: str | None) -> re.Pattern[str]:
    """Matches one whole word that is only a sound, ignoring case."""
    return re.compile(_FILLERS.get(language or "", _FILLERS_ELSEWHERE), re.IGNORECASE)


def stutter_words(language: str | None) -> frozenset[str]:
    """Words, in lower case, whose immediate repetition is a stutter."""
    return _SAID_ONCE.words(language or "")


@cache
def stutter_phrases(language: str | None) -> frozenset[tuple[str, str]]:
    """Pairs of words, in lower case, whose immediate repetition is a stutter."""
    known = language or ""
    return frozenset(product(_BEFORE_ARTICLES.words(known), _ARTICLES.words(known)))


def is_filler(word: str, language: str | None) -> bool:
    """Whether a bare word is only a sound. In capitals it is an abbreviation: ER, UM."""
    return filler_pattern(language).fullmatch(word) is not None and (len(word) < 2 or not word.isupper())
