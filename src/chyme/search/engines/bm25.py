"""Score texts by the words of a question, as SQLite's bm25() does, so that both scores may stand in one list."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from chyme.search.engines.word_encoding import EnginePhrase

_SATURATION, _LENGTH_SHARE = 1.2, 0.75
_LEAST = 1e-6  # what a word counts that stands in more than half of all texts


def weight(texts: int, with_it: int) -> float:
    """What a word says that stands in so many of all texts."""
    return max(math.log((texts - with_it + 0.5) / (with_it + 0.5)), _LEAST) if texts > with_it else _LEAST


def score(
    columns: Sequence[Sequence[str]],
    weights: Sequence[float],
    asked: Mapping[EnginePhrase, float],
    average_length: float,
) -> float | None:
    """How well a text answers, given as columns of words; None when nothing of it was asked for."""
    length = sum(len(words) for words in columns)
    norm = _SATURATION * (1 - _LENGTH_SHARE + _LENGTH_SHARE * length / max(average_length, 1.0))
    counted = [(words, Counter(words), column) for words, column in zip(columns, weights, strict=True)]
    total, found = 0.0, False
    for one, worth in asked.items():
        times = sum(_times(words, counts, one) * column for words, counts, column in counted)
        if times:
            found = True
            total += worth * times * (_SATURATION + 1) / (times + norm)
    return total if found else None


def _times(words: Sequence[str], counts: Counter[str], one: EnginePhrase) -> int:
    *before, last = one.words
    if not before and not one.prefix:
        return counts[last]
    if not before:
        return sum(times for word, times in counts.items() if word.startswith(last))
    if not all(word in counts for word in before):
        return 0
    ends = (at for at in range(len(before), len(words)) if _is(words[at], last, one.prefix))
    return sum(list(words[at - len(before) : at]) == before for at in ends)


def _is(word: str, wanted: str, prefix: bool) -> bool:
    return word.startswith(wanted) if prefix else word == wanted
