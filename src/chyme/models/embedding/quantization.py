"""Round matrices to bytes so that every CPU computes the same products.

CPUs with VNNI instructions add products of bytes in 32 bits. Older x86 CPUs (AVX2) add two products in 16 bits first
(`vpmaddubsw`) and saturate: a sum beyond 32767 is cut to it. An unsigned byte is at most 255, so two neighbouring
weights of one sign whose sum is at most 128 cannot saturate. Steps are chosen to keep that, column by column.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    Floats = NDArray[numpy.float32]
    Bytes = NDArray[numpy.int8]

_LARGEST_BYTE = 127.0  # of a signed byte
_LARGEST_PAIR_SUM = 127.9  # for two neighbours: 128 times 255 fits 16 bits, and the division may round up a little
_BLOCK_ROWS = 64  # rows rounded at a time: all steps find them in the cache, and no step allocates large memory


def round_to_bytes(weights: Floats) -> tuple[Bytes, Floats]:
    """Weights as integers, and the step of each row. A row holds the weights of one output channel, in order.

    The number of columns must be even.
    """
    import numpy

    rounded = numpy.empty(weights.shape, numpy.int8)
    steps = numpy.empty(len(weights), numpy.float32)
    for start in range(0, len(weights), _BLOCK_ROWS):
        rows = slice(start, start + _BLOCK_ROWS)
        block = weights[rows]
        step = numpy.maximum(_largest(block) / _LARGEST_BYTE, _largest_pair(block) / _LARGEST_PAIR_SUM)
        step = step.astype(numpy.float32)
        step[step == 0] = 1
        rounded[rows] = numpy.rint(block / step[:, None])
        steps[rows] = step
    return rounded, steps


def prevent_saturation(rounded: Bytes) -> tuple[Bytes, Floats]:
    """The same for weights that are already integers: rows that cannot saturate keep step 1."""
    import numpy

    weights = rounded.astype(numpy.float32)
    step = numpy.maximum(1, _largest_pair(weights) / _LARGEST_PAIR_SUM).astype(numpy.float32)
    step[_largest_pair(weights) <= _LARGEST_BYTE + 1] = 1
    return numpy.rint(weights / step[:, None]).astype(numpy.int8), step


def _largest(weights: Floats) -> Floats:
    """The largest absolute value of each row."""
    import numpy

    largest: Floats = numpy.maximum(weights.max(axis=1), -weights.min(axis=1))
    return largest


def _largest_pair(weights: Floats) -> Floats:
    """The largest absolute sum, per row, of two neighbours with the same sign, or of a single number.

    The sum of two neighbours of opposite signs is smaller than one of them, so that it needs no exception.
    """
    import numpy

    largest: Floats = numpy.maximum(_largest(weights[:, ::2] + weights[:, 1::2]), _largest(weights))
    return largest
