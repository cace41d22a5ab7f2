"""Let files that are like one another support each other: an answer is seldom alone among the found files.

Each of the best files gets a part of the mean score of those of them that are most like it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from chyme.search.ranking.word_and_meaning_fusion import FusedFile

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    Floats = NDArray[numpy.float32]

SMOOTHED = 75  # best files that support each other
_NEIGHBOURS = 10  # most similar files whose scores count, more the more similar they are
_PRODUCTS = 200_000  # computed at once: for more, the library for matrices keeps a second core busy long afterwards
_SHARE = 0.38  # of their mean in the new score


def smooth_scores(files: Sequence[FusedFile], directions: Mapping[int, Floats]) -> list[FusedFile]:
    """The files in the order that results when the first of them count by those like them, too.

    `directions`: by file, a vector of length 1. A file without one is like no other: for it the mean of all counts.
    """
    import numpy

    first = list(files[:SMOOTHED])
    known = [at for at, file in enumerate(first) if file.file_id in directions]
    if len(known) <= _NEIGHBOURS:
        return list(files)
    scores = numpy.array([file.score for file in first])
    rows = numpy.stack([directions[first[at].file_id] for at in known])
    strip = max(1, _PRODUCTS // rows.size)
    strips = [rows[at : at + strip] @ rows.T for at in range(0, len(rows), strip)]
    similarity = numpy.concatenate(strips).astype(numpy.float64)
    numpy.fill_diagonal(similarity, -numpy.inf)
    nearest = numpy.argsort(-similarity, axis=1, kind="stable")[:, :_NEIGHBOURS]
    weights = numpy.maximum(numpy.take_along_axis(similarity, nearest, 1), 1e-6)
    expected = numpy.full(len(first), scores.mean())
    expected[known] = (weights * scores[known][nearest]).sum(axis=1) / weights.sum(axis=1)
    smoothed = (1 - _SHARE) * scores + _SHARE * expected
    moved = [replace(file, score=float(score)) for file, score in zip(first, smoothed, strict=True)]
    return [*sorted(moved, key=lambda file: -round(file.score, 6)), *files[SMOOTHED:]]
