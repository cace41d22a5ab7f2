"""MiniLM, a small BERT (Wang and others, 2020), put together from its tensors with matrices of small whole numbers.

Whole numbers of a byte are multiplied more than twice as fast as real ones. The matrices are rounded to them once, each
column by its own largest number; what flows through the network is rounded anew for each text. A few channels are much
larger than all others, and so are some tokens between two layers: brought down before they are rounded, they leave the
others their digits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from chyme.engines.onnx_file import OnnxFile

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    Floats = NDArray[numpy.float32]
    Tensors = Mapping[str, Floats]

TEXT = "text"  # what goes in: a row for each token
WIDTH, LAYERS, HEADS = 384, 6, 12
OPERATORS = 20  # the first set of operators with both LayerNormalization and Gelu
_EVEN = 1e-12  # keeps the normalisation of a row that never varies from dividing by nothing
_LARGEST = 127  # of a signed byte
_REAL = 1  # the type of real numbers, as ONNX counts them
# Channels of this model that are many times as large as the others, whatever the text, and by how much.
_LOUD = {99: 8.0, 63: 4.0, 127: 4.0, 223: 4.0, 157: 2.0, 267: 2.0}


def network(tensors: Tensors, exact: bool = False) -> tuple[bytes, str]:
    """An ONNX file and the name of what it gives, the mean over all tokens; KeyError or ValueError for other tensors.

    `exact` leaves the matrices as they are.
    """
    made = _Layers(tensors, exact)
    flow = made.normal(TEXT, "embeddings.LayerNorm")
    for number in range(LAYERS):
        name = f"encoder.layer.{number}"
        seen = _attention(made, flow, f"{name}.attention")
        flow = made.normal(made.plus(flow, seen), f"{name}.attention.output.LayerNorm")
        inner = made.file.add("Gelu", made.dense(made.quiet(flow), f"{name}.intermediate.dense", quiet=True))
        flow = made.normal(
            made.plus(flow, made.dense_by_row(inner, f"{name}.output.dense")), f"{name}.output.LayerNorm"
        )
    mean = made.file.add("ReduceMean", flow, made.whole(0), keepdims=1)
    return made.file.data({TEXT: ("tokens", WIDTH)}, {mean: (1, WIDTH)}), mean


class _Layers:
    """Layers by the names their tensors have."""

    def __init__(self, tensors: Tensors, exact: bool) -> None:
        import numpy

        self._tensors, self._exact = tensors, exact
        self.file = OnnxFile(OPERATORS)
        self._loud = numpy.ones(WIDTH, numpy.float32)
        self._loud[list(_LOUD)] = list(_LOUD.values())
        self._softer = self.real(numpy.reciprocal(self._loud))

    def real(self, values: Floats | float) -> str:
        import numpy

        return self.file.constant(numpy.ascontiguousarray(values, numpy.float32))

    def whole(self, *values: int) -> str:
        import numpy

        return self.file.constant(numpy.array(values, numpy.int64))

    def plus(self, one: str, other: str) -> str:
        return self.file.add("Add", one, other)

    def normal(self, flow: str, name: str) -> str:
        scale, shift = (self.real(self._tensors[f"{name}.{part}"]) for part in ("weight", "bias"))
        return self.file.add("LayerNormalization", flow, scale, shift, axis=-1, epsilon=_EVEN)

    def quiet(self, flow: str) -> str:
        """The flow with its loud channels brought down."""
        return flow if self._exact else self.file.add("Mul", flow, self._softer)

    def dense(self, flow: str, *names: str, quiet: bool = False) -> str:
        """Dense layers over one flow, side by side; `quiet` when its loud channels are brought down."""
        matrix, bias = self._dense(names)
        if quiet and not self._exact:
            matrix = matrix * self._loud[:, None]
        return self.plus(self._product(flow, matrix), bias)

    def dense_by_row(self, flow: str, name: str) -> str:
        """A dense layer whose flow is rounded token by token."""
        if self._exact:
            return self.dense(flow, name)
        matrix, bias = self._dense([name])
        largest = self.file.add("ReduceMax", self.file.add("Abs", flow), self.whole(-1), keepdims=1)
        even = self._product(self.file.add("Div", flow, largest), matrix)
        return self.plus(self.file.add("Mul", even, largest), bias)

    def _dense(self, names: Sequence[str]) -> tuple[Floats, str]:
        import numpy

        matrix: Floats = numpy.concatenate([self._tensors[f"{name}.weight"] for name in names]).T
        return matrix, self.real(numpy.concatenate([self._tensors[f"{name}.bias"] for name in names]))

    def _product(self, flow: str, matrix: Floats) -> str:
        import numpy

        if self._exact:
            return self.file.add("MatMul", flow, self.real(matrix))
        step = numpy.abs(matrix).max(axis=0) / _LARGEST
        rounded = numpy.ascontiguousarray(numpy.rint(matrix / step), numpy.int8)
        small, own_step, zero = self.file.add_several("DynamicQuantizeLinear", [flow], 3)
        product = self.file.add(
            "Cast", self.file.add("MatMulInteger", small, self.file.constant(rounded), zero), to=_REAL
        )
        return self.file.add("Mul", product, self.file.add("Mul", own_step, self.real(step)))


def _attention(made: _Layers, flow: str, name: str) -> str:
    """What each token takes from all tokens."""
    size = WIDTH // HEADS
    own = made.dense(made.quiet(flow), *(f"{name}.self.{part}" for part in ("query", "key", "value")), quiet=True)
    shape = made.whole(-1, HEADS, size)
    query, key, value = (
        made.file.add("Reshape", one, shape) for one in made.file.add_several("Split", [own], 3, axis=1, num_outputs=3)
    )
    query = made.file.add("Mul", query, made.real(size**-0.5))
    alike = made.file.add(
        "MatMul", made.file.add("Transpose", query, perm=[1, 0, 2]), made.file.add("Transpose", key, perm=[1, 2, 0])
    )
    taken = made.file.add(
        "MatMul", made.file.add("Softmax", alike, axis=-1), made.file.add("Transpose", value, perm=[1, 0, 2])
    )
    joined = made.file.add("Reshape", made.file.add("Transpose", taken, perm=[1, 0, 2]), made.whole(-1, WIDTH))
    return made.dense(joined, f"{name}.output.dense")
