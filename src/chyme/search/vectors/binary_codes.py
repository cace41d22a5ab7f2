"""Vectors by their signs: a bit for each number sorts out what is far before anything is multiplied."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    Floats = NDArray[numpy.float32]
    Whole = NDArray[numpy.int64]
    Words = NDArray[numpy.uint64]
    Counts = NDArray[numpy.uint16]

WORD = 64  # signs to a word
_COUNTED = 16_384  # vectors whose signs are counted in one go: what lies between the steps stays in the cache
_MULTIPLIED = 256


def words_for(dimension: int) -> int:
    """How many words hold the signs of one vector."""
    return -(-dimension // WORD)


def pack_signs(vectors: Floats) -> Words:
    """The signs of each vector: its column. A row holds the same word of all vectors, to be read from end to end."""
    import numpy

    bits = numpy.packbits(vectors > 0, axis=1)
    whole = numpy.zeros((len(vectors), words_for(vectors.shape[1]) * WORD // 8), numpy.uint8)
    whole[:, : bits.shape[1]] = bits
    return numpy.ascontiguousarray(whole.view("<u8").T)


def count_differing(codes: Words, code: Words, differing: Counts) -> None:
    """Put down for each column in how many signs it differs from the code."""
    import numpy

    different = numpy.empty(_COUNTED, numpy.uint64)
    bits = numpy.empty(_COUNTED, numpy.uint8)
    for first in range(0, len(differing), _COUNTED):
        sums = differing[first : first + _COUNTED]
        sums[:] = 0
        for row, word in zip(codes, code, strict=True):
            numpy.bitwise_xor(row[first : first + _COUNTED], word, out=different[: len(sums)])
            numpy.bitwise_count(different[: len(sums)], out=bits[: len(sums)])
            numpy.add(sums, bits[: len(sums)], out=sums)


def find_lowest(differing: Counts, wanted: int) -> NDArray[numpy.int64]:
    """Where the lowest counts stand, so many of them, in the order they stand in."""
    import numpy

    if wanted >= len(differing):
        return numpy.arange(len(differing))
    up_to = numpy.zeros(1, numpy.int64)
    for first in range(0, len(differing), _COUNTED):  # all at once, bincount would make whole numbers of everything
        counted = numpy.bincount(differing[first : first + _COUNTED], minlength=len(up_to))
        counted[: len(up_to)] += up_to
        up_to = counted
    last = int(numpy.searchsorted(numpy.cumsum(up_to), wanted))
    below = int(up_to[:last].sum())
    found = numpy.flatnonzero(differing <= last)
    if len(found) == wanted:
        return found
    level = numpy.flatnonzero(differing[found] == last)
    return numpy.delete(found, level[wanted - below :])


def cosines(vectors: Floats, asked: Floats, rows: Whole | None = None) -> Floats:
    """The cosines of these rows, of all when none are named, with the vector asked for; all are of length 1."""
    import numpy

    count = len(vectors) if rows is None else len(rows)
    found = numpy.empty(count, numpy.float32)
    near = numpy.empty((min(count, _MULTIPLIED), len(asked)), numpy.float32)
    for first in range(0, count, _MULTIPLIED):
        out = found[first : first + _MULTIPLIED]
        if rows is None:
            numpy.dot(vectors[first : first + _MULTIPLIED], asked, out=out)
            continue
        taken = near[: len(out)]
        numpy.take(vectors, rows[first : first + _MULTIPLIED], axis=0, out=taken, mode="clip")
        numpy.dot(taken, asked, out=out)
    return found


def top_scores(ids: Whole, scores: Floats, count: int) -> list[tuple[int, float]]:
    """The ids with the highest scores, best first, the lower id first of equals."""
    import numpy

    scores = numpy.nan_to_num(scores, nan=-1.0)
    if count < len(scores):
        floor = numpy.partition(scores, len(scores) - count)[len(scores) - count]
        kept = numpy.flatnonzero(scores >= floor)
        ids, scores = ids[kept], scores[kept]
    order = numpy.lexsort((ids, -scores))[:count]
    return list(zip(ids[order].tolist(), scores[order].tolist(), strict=True))
