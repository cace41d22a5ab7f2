"""Whether a text is about the same things as the one it was made from."""

from __future__ import annotations

from collections.abc import Sequence

from chyme.text.function_words import empty_words, function_words, words_in
from chyme.text.sentences import terms_of
from chyme.text.stemmer import fold

_ENOUGH = 4  # terms from which on a text must share one with the other
_KNOWN = ("en", "de", "fr", "es", "it", "nl", "pt")  # whose small words are written down
_HEAD = 5  # letters by which they are compared


def is_off_topic(told: str, said: str, language: str | None) -> bool:
    """Whether `told` has enough words that say something, and none of them is in `said`."""
    empty = empty_words(language)
    ours = frozenset(_heads(terms_of(told, empty)))
    return len(ours) >= _ENOUGH and ours.isdisjoint(_heads(terms_of(said, empty)))


def shares_words(told: str, said: str, language: str | None) -> bool:
    """Whether a word of `told` that says something is in `said`, and be it as a part of a longer one."""
    heads = _heads(terms_of(told, empty_words(language)))
    if not frozenset(heads).isdisjoint(_heads(terms_of(said, empty_words(language)))):
        return True
    folded = fold(said)
    return any(len(head) == _HEAD and head in folded for head in heads)


def count_telling_words(told: str, language: str | None) -> int:
    """How many words say something."""
    return len(terms_of(told, empty_words(language)))


def is_in_another_language(told: str, language: str | None) -> bool:
    """Whether its small words are of other languages, and none of this one."""
    ours = function_words(language)
    words = [word for word in words_in(told) if len(word) > 1]
    return bool(ours) and ours.isdisjoint(words) and any(not function_words(one).isdisjoint(words) for one in _KNOWN)


def _heads(terms: Sequence[str]) -> list[str]:
    """Shorter beginnings of words: who summarises inflects."""
    return [term[:_HEAD] for term in terms]
