"""Checks whether a text has the same topics as the text it was made from."""

from __future__ import annotations

from collections.abc import Sequence

from chyme.text.function_words import empty_words, function_words, words_in
from chyme.text.sentences import terms_of
from chyme.text.stemmer import fold

_MIN_TERMS = 4  # a text with this many terms must share one with the other
_LANGUAGES = ("en", "de", "fr", "es", "it", "nl", "pt")  # languages whose function words are listed
_HEAD_LETTERS = 5  # letters that are compared


def is_off_topic(text: str, source: str, language: str | None) -> bool:
    """Whether `text` has enough significant words, and none of them is in `source`."""
    empty = empty_words(language)
    heads = frozenset(_heads(terms_of(text, empty)))
    return len(heads) >= _MIN_TERMS and heads.isdisjoint(_heads(terms_of(source, empty)))


def shares_words(text: str, source: str, language: str | None) -> bool:
    """Whether a significant word of `text` is in `source`, even as part of a longer word."""
    heads = _heads(terms_of(text, empty_words(language)))
    if not frozenset(heads).isdisjoint(_heads(terms_of(source, empty_words(language)))):
        return True
    folded = fold(source)
    return any(len(head) == _HEAD_LETTERS and head in folded for head in heads)


def count_telling_words(text: str, language: str | None) -> int:
    """The number of significant words."""
    return len(terms_of(text, empty_words(language)))


def is_in_another_language(text: str, language: str | None) -> bool:
    """Whether it has function words of other languages, and none of this one."""
    own_words = function_words(language)
    words = [word for word in words_in(text) if len(word) > 1]
    return (
        bool(own_words)
        and own_words.isdisjoint(words)
        and any(not function_words(other).isdisjoint(words) for other in _LANGUAGES)
    )


def _heads(terms: Sequence[str]) -> list[str]:
    """Shorter beginnings of words, because a summary inflects them differently."""
    return [term[:_HEAD_LETTERS] for term in terms]
