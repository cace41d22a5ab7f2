"""Agglomerative clustering by the average similarity of all pairs (average linkage)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    Floats = NDArray[numpy.float32]
    Numbers = NDArray[numpy.int64]

MAX_COMPARED = 1500  # items compared pairwise: 9 MB of similarities


def cluster_vectors(vectors: Floats, threshold: float) -> Numbers:
    """Return the group of each vector, numbered from 0.

    Only MAX_COMPARED items are compared pairwise: larger inputs are first merged within blocks of neighbours, to few
    enough items for all blocks together.
    """
    import numpy

    groups = numpy.arange(len(vectors), dtype=numpy.int64)
    sums, counts = vectors.astype(numpy.float32), numpy.ones(len(vectors), numpy.float32)
    while len(sums) > MAX_COMPARED:
        blocks = -(-len(sums) // MAX_COMPARED)
        step = numpy.empty(len(sums), numpy.int64)
        count = 0
        for start in range(0, len(sums), MAX_COMPARED):
            part = slice(start, start + MAX_COMPARED)
            step[part] = count + _merge_similar(sums[part], counts[part], threshold, MAX_COMPARED // blocks)
            count = int(step[part].max()) + 1
        groups, sums, counts = step[groups], _sum_by_group(sums, step, count), _sum_by_group(counts, step, count)
    return _merge_similar(sums, counts, threshold, None)[groups]


def _merge_similar(sums: Floats, counts: Floats, threshold: float, target: int | None) -> Numbers:
    """Merge the most similar groups until none are similar enough or, given a target, until so many remain."""
    import numpy

    removed = -numpy.inf
    size = len(sums)
    group = numpy.arange(size, dtype=numpy.int64)
    weight = counts.copy()
    similarity = sums @ sums.T
    similarity /= weight  # in place, by column and by row: there is no memory for a second matrix
    similarity /= weight[:, None]
    numpy.fill_diagonal(similarity, removed)
    nearest = similarity.argmax(axis=1)
    nearest_similarity = similarity[group, nearest]
    remaining = size
    while remaining > 1:
        first = int(nearest_similarity.argmax())
        if remaining <= target if target is not None else nearest_similarity[first] < threshold:
            break
        second = int(nearest[first])
        total = weight[first] + weight[second]
        row = (weight[first] * similarity[first] + weight[second] * similarity[second]) / total
        weight[first] = total
        similarity[first], similarity[:, first] = row, row
        similarity[second], similarity[:, second] = removed, removed
        group[group == second] = first
        nearest_similarity[second] = removed
        nearer = row > nearest_similarity
        nearest[nearer], nearest_similarity[nearer] = first, row[nearer]
        outdated = numpy.flatnonzero(
            ((nearest == first) | (nearest == second)) & ~nearer & (nearest_similarity > removed)
        )
        for index in (first, *outdated.tolist()):
            nearest[index] = similarity[index].argmax()
            nearest_similarity[index] = similarity[index, nearest[index]]
        remaining -= 1
    numbered: Numbers = numpy.unique(group, return_inverse=True)[1]
    return numbered


def _sum_by_group(values: Floats, group: Numbers, groups: int) -> Floats:
    import numpy

    totals = numpy.zeros((groups, *values.shape[1:]), numpy.float32)
    numpy.add.at(totals, group, values)
    return totals
