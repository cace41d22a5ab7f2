"""Joining what sounds alike: agglomerative clustering by the average similarity of all pairs (average linkage)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    Floats = NDArray[numpy.float32]
    Numbers = NDArray[numpy.int64]

MOST = 1500  # items compared each with each: 9 MB of similarities


def cluster_vectors(vectors: Floats, alike: float) -> Numbers:
    """The group of each vector, numbered from 0.

    Whatever their number, only MOST are compared each with each: more of them are first joined within stretches of
    neighbours, to as few items as all stretches together may have.
    """
    import numpy

    groups = numpy.arange(len(vectors), dtype=numpy.int64)
    sums, counts = vectors.astype(numpy.float32), numpy.ones(len(vectors), numpy.float32)
    while len(sums) > MOST:
        stretches = -(-len(sums) // MOST)
        step = numpy.empty(len(sums), numpy.int64)
        found = 0
        for at in range(0, len(sums), MOST):
            part = slice(at, at + MOST)
            step[part] = found + _merged(sums[part], counts[part], alike, MOST // stretches)
            found = int(step[part].max()) + 1
        groups, sums, counts = step[groups], _totals(sums, step, found), _totals(counts, step, found)
    return _merged(sums, counts, alike, None)[groups]


def _merged(sums: Floats, counts: Floats, alike: float, target: int | None) -> Numbers:
    """Joins the most alike until none are alike; or, given a target, until there are no more than that."""
    import numpy

    alone = -numpy.inf
    size = len(sums)
    group = numpy.arange(size, dtype=numpy.int64)
    weight = counts.copy()
    alikeness = sums @ sums.T
    alikeness /= weight  # in place, by column and by row: a second matrix is memory we do not have
    alikeness /= weight[:, None]
    numpy.fill_diagonal(alikeness, alone)
    nearest = alikeness.argmax(axis=1)
    nearness = alikeness[group, nearest]
    left = size
    while left > 1:
        one = int(nearness.argmax())
        if left <= target if target is not None else nearness[one] < alike:
            break
        other = int(nearest[one])
        total = weight[one] + weight[other]
        row = (weight[one] * alikeness[one] + weight[other] * alikeness[other]) / total
        weight[one] = total
        alikeness[one], alikeness[:, one] = row, row
        alikeness[other], alikeness[:, other] = alone, alone
        group[group == other] = one
        nearness[other] = alone
        nearer = row > nearness
        nearest[nearer], nearness[nearer] = one, row[nearer]
        lost = numpy.flatnonzero(((nearest == one) | (nearest == other)) & ~nearer & (nearness > alone))
        for index in (one, *lost.tolist()):
            nearest[index] = alikeness[index].argmax()
            nearness[index] = alikeness[index, nearest[index]]
        left -= 1
    numbered: Numbers = numpy.unique(group, return_inverse=True)[1]
    return numbered


def _totals(values: Floats, group: Numbers, groups: int) -> Floats:
    import numpy

    totals = numpy.zeros((groups, *values.shape[1:]), numpy.float32)
    numpy.add.at(totals, group, values)
    return totals
