"""Score texts by the words of a question like SQLite's bm25(), so that both scores can be in one list."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from chyme.search.engines.word_encoding import EnginePhrase

_SATURATION, _LENGTH_SHARE = 1.2, 0.75
_MIN_WEIGHT = 1e-6  # the weight of a word that is in more than half of all texts


def weight(texts: int, with_it: int) -> float:
    """How much a word that is in `with_it` of `texts` texts contributes."""
    return max(math.log((texts - with_it + 0.5) / (with_it + 0.5)), _MIN_WEIGHT) if texts > with_it else _MIN_WEIGHT


def score(
    columns: Sequence[Sequence[str]],
    weights: Sequence[float],
    phrase_weights: Mapping[EnginePhrase, float],
    average_length: float,
) -> float | None:
    """The score of a text, given as columns of words; None if it contains nothing that was asked for."""
    length = sum(len(words) for words in columns)
    norm = _SATURATION * (1 - _LENGTH_SHARE + _LENGTH_SHARE * length / max(average_length, 1.0))
    counted = [(words, Counter(words), column) for words, column in zip(columns, weights, strict=True)]
    total, found = 0.0, False
    for phrase, phrase_weight in phrase_weights.items():
        frequency = sum(_count_phrase(words, counts, phrase) * column for words, counts, column in counted)
        if frequency:
            found = True
            total += phrase_weight * frequency * (_SATURATION + 1) / (frequency + norm)
    return total if found else None


def _count_phrase(words: Sequence[str], counts: Counter[str], phrase: EnginePhrase) -> int:
    *before, last = phrase.words
    if not before and not phrase.prefix:
        return counts[last]
    if not before:
        return sum(frequency for word, frequency in counts.items() if word.startswith(last))
    if not all(word in counts for word in before):
        return 0
    ends = (i for i in range(len(before), len(words)) if _word_matches(words[i], last, phrase.prefix))
    return sum(list(words[i - len(before) : i]) == before for i in ends)


def _word_matches(word: str, wanted: str, prefix: bool) -> bool:
    return word.startswith(wanted) if prefix else word == wanted
