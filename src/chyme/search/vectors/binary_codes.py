"""Vectors as sign bits: comparing these rules out most vectors before anything is multiplied."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    Floats = NDArray[numpy.float32]
    Whole = NDArray[numpy.int64]
    Words = NDArray[numpy.uint64]
    Counts = NDArray[numpy.uint16]

WORD = 64  # signs per word
_COUNT_BLOCK = 16_384  # vectors whose signs are counted together: intermediate results stay in the CPU cache
_MULTIPLY_BLOCK = 256


def words_for(dimension: int) -> int:
    """How many words hold the signs of one vector."""
    return -(-dimension // WORD)


def pack_signs(vectors: Floats) -> Words:
    """The signs of each vector as a column. A row holds the same word of all vectors, to be read sequentially."""
    import numpy

    bits = numpy.packbits(vectors > 0, axis=1)
    padded = numpy.zeros((len(vectors), words_for(vectors.shape[1]) * WORD // 8), numpy.uint8)
    padded[:, : bits.shape[1]] = bits
    return numpy.ascontiguousarray(padded.view("<u8").T)


def count_differing(codes: Words, code: Words, differing: Counts) -> None:
    """Write into `differing` how many signs of each column differ from the code."""
    import numpy

    different = numpy.empty(_COUNT_BLOCK, numpy.uint64)
    bits = numpy.empty(_COUNT_BLOCK, numpy.uint8)
    for first in range(0, len(differing), _COUNT_BLOCK):
        sums = differing[first : first + _COUNT_BLOCK]
        sums[:] = 0
        for row, word in zip(codes, code, strict=True):
            numpy.bitwise_xor(row[first : first + _COUNT_BLOCK], word, out=different[: len(sums)])
            numpy.bitwise_count(different[: len(sums)], out=bits[: len(sums)])
            numpy.add(sums, bits[: len(sums)], out=sums)


def find_lowest(differing: Counts, wanted: int) -> NDArray[numpy.int64]:
    """The positions of the `wanted` lowest counts, in ascending order."""
    import numpy

    if wanted >= len(differing):
        return numpy.arange(len(differing))
    histogram = numpy.zeros(1, numpy.int64)
    for first in range(0, len(differing), _COUNT_BLOCK):  # in blocks, since bincount converts its input to integers
        counted = numpy.bincount(differing[first : first + _COUNT_BLOCK], minlength=len(histogram))
        counted[: len(histogram)] += histogram
        histogram = counted
    last = int(numpy.searchsorted(numpy.cumsum(histogram), wanted))
    below = int(histogram[:last].sum())
    found = numpy.flatnonzero(differing <= last)
    if len(found) == wanted:
        return found
    ties = numpy.flatnonzero(differing[found] == last)
    return numpy.delete(found, ties[wanted - below :])


def cosines(vectors: Floats, query_vector: Floats, rows: Whole | None = None) -> Floats:
    """The cosines of these rows (None: all) with the question's vector; all vectors have length 1."""
    import numpy

    count = len(vectors) if rows is None else len(rows)
    found = numpy.empty(count, numpy.float32)
    buffer = numpy.empty((min(count, _MULTIPLY_BLOCK), len(query_vector)), numpy.float32)
    for first in range(0, count, _MULTIPLY_BLOCK):
        out = found[first : first + _MULTIPLY_BLOCK]
        if rows is None:
            numpy.dot(vectors[first : first + _MULTIPLY_BLOCK], query_vector, out=out)
            continue
        chosen = buffer[: len(out)]
        numpy.take(vectors, rows[first : first + _MULTIPLY_BLOCK], axis=0, out=chosen, mode="clip")
        numpy.dot(chosen, query_vector, out=out)
    return found


def top_scores(ids: Whole, scores: Floats, count: int) -> list[tuple[int, float]]:
    """The ids with the highest scores, best first; of equal ones the lower id first."""
    import numpy

    scores = numpy.nan_to_num(scores, nan=-1.0)
    if count < len(scores):
        floor = numpy.partition(scores, len(scores) - count)[len(scores) - count]
        best = numpy.flatnonzero(scores >= floor)
        ids, scores = ids[best], scores[best]
    order = numpy.lexsort((ids, -scores))[:count]
    return list(zip(ids[order].tolist(), scores[order].tolist(), strict=True))
