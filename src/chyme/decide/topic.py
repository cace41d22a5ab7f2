"""Whether a text is about the same things as the one it was made from."""

from __future__ import annotations

from collections.abc import Sequence

from chyme.decide.function_words import empty_words
from chyme.decide.sentences import terms_of

_ENOUGH = 4  # terms from which on a text must share one with the other


def off_topic(told: str, said: str, language: str | None) -> bool:
    """Whether `told` has enough words that say something, and none of them is in `said`."""
    empty = empty_words(language)
    ours = frozenset(_heads(terms_of(told, empty)))
    return len(ours) >= _ENOUGH and ours.isdisjoint(_heads(terms_of(said, empty)))


def _heads(terms: Sequence[str]) -> list[str]:
    """Shorter beginnings of words: who summarises inflects."""
    return [term[:5] for term in terms]
