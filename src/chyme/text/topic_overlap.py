"""Checks whether a text has the same topics as the text it was made from."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from chyme.text.function_words import empty_words, function_words, words_in
from chyme.text.sentences import terms_of

_MIN_TERMS = 4  # a text with this many terms must share one with the other
_LANGUAGES = ("en", "de", "fr", "es", "it", "nl", "pt")  # languages whose function words are listed
_HEAD_LETTERS = 5  # letters that are compared


def is_off_topic(text: str, source: str, language: str | None) -> bool:
    """Whether `text` has enough significant words, and none of them is in `source`."""
    empty = _empty_words(language)
    heads = frozenset(_heads(terms_of(text, empty)))
    return len(heads) >= _MIN_TERMS and heads.isdisjoint(_heads(terms_of(source, empty)))


def is_in_another_language(text: str, language: str | None) -> bool:
    """Whether it has function words of other languages, and none of this one."""
    own_words = function_words(language)
    words = [word for word in words_in(text) if len(word) > 1]
    return (
        bool(own_words)
        and own_words.isdisjoint(words)
        and any(not function_words(other).isdisjoint(words) for other in _LANGUAGES)
    )


@cache
def _empty_words(language: str | None) -> frozenset[str]:
    """Those of the language; of every listed one if it is unknown or not listed, or `the` would be a topic."""
    return empty_words(language) or frozenset[str]().union(*map(empty_words, _LANGUAGES))


def _heads(terms: Sequence[str]) -> list[str]:
    """Shorter beginnings of words, because a summary inflects them differently."""
    return [term[:_HEAD_LETTERS] for term in terms]
