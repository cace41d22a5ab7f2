"""MiniLM, a small BERT (Wang and others, 2020), put together from its tensors with matrices of small whole numbers.

Whole numbers of a byte are multiplied more than twice as fast as real ones. The matrices are rounded to them once, each
column by its own step (see `rounding`); what flows through the network is rounded anew for each token, so that a text
comes out the same whichever others it shares a run with. A few channels are much larger than all others, and so are
some tokens between two layers: brought down before they are rounded, they leave the others their digits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from chyme.models.embedding.quantization import round_to_bytes
from chyme.models.weights.onnx_writer import OnnxFile

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    Floats = NDArray[numpy.float32]
    Tensors = Mapping[str, Floats]

TEXTS = "texts"  # what goes in: texts of one length, a row for each token
WIDTH, LAYERS, HEADS = 384, 6, 12
VERSION = 3  # raise it when the same tensors make another network
OPERATORS = 20  # the first set of operators with both LayerNormalization and Gelu
_EVEN = 1e-12  # keeps the normalisation of a row that never varies from dividing by nothing
_LARGEST = 127  # of what an unsigned byte holds on either side of its middle
_MIDDLE = 128  # stands for nothing in an unsigned byte
# Channels of this model that are many times as large as the others, whatever the text, and by how much.
_LOUD = {99: 8.0, 63: 4.0, 127: 4.0, 223: 4.0, 157: 2.0, 267: 2.0, 303: 2.0, 319: 2.0}
_REACH = 4.0  # how far the normalised flow reaches, loud channels brought down; the little beyond is cut to it


def build_network(tensors: Tensors, exact: bool = False) -> tuple[bytes, str]:
    """An ONNX file and the name of what it gives, the mean over a text's tokens; KeyError for other tensors.

    `exact` leaves the matrices as they are.
    """
    made = _Layers(tensors, exact)
    # A row for each token of all texts: side by side only in attention, where no text may look at another.
    flow = made.normal(made.file.add("Reshape", TEXTS, made.whole(-1, WIDTH)), "embeddings.LayerNorm")
    for number in range(LAYERS):
        name = f"encoder.layer.{number}"
        seen = _attention(made, flow, f"{name}.attention")
        flow = made.normal(made.plus(flow, seen), f"{name}.attention.output.LayerNorm")
        inner = made.file.add("Gelu", made.dense_of_normal(flow, f"{name}.intermediate.dense"))
        flow = made.normal(made.plus(flow, made.dense(inner, f"{name}.output.dense")), f"{name}.output.LayerNorm")
    mean = made.file.add("ReduceMean", made.apart(flow, WIDTH), made.whole(1), keepdims=0)
    return made.file.data({TEXTS: ("texts", "tokens", WIDTH)}, {mean: ("texts", WIDTH)}), mean


class _Layers:
    """Layers by the names their tensors have."""

    def __init__(self, tensors: Tensors, exact: bool) -> None:
        import numpy

        self._tensors, self._exact = tensors, exact
        self.file = OnnxFile(OPERATORS)
        self._sides = self.file.add("Shape", TEXTS, start=0, end=2)
        self._loud = numpy.ones(WIDTH, numpy.float32)
        self._loud[list(_LOUD)] = list(_LOUD.values())
        self._softer = self.real(numpy.reciprocal(self._loud))

    def real(self, values: Floats | float) -> str:
        import numpy

        return self.file.constant(numpy.asarray(values, numpy.float32, order="C"))

    def whole(self, *values: int) -> str:
        import numpy

        return self.file.constant(numpy.array(values, numpy.int64))

    def plus(self, one: str, other: str) -> str:
        return self.file.add("Add", one, other)

    def apart(self, flow: str, *sides: int) -> str:
        """The flow of all tokens, text by text, each token's row laid out in these sides."""
        shape = self.file.add("Concat", self._sides, self.whole(*sides), axis=0)
        return self.file.add("Reshape", flow, shape)

    def normal(self, flow: str, name: str) -> str:
        scale, shift = (self.real(self._tensors[f"{name}.{part}"]) for part in ("weight", "bias"))
        return self.file.add("LayerNormalization", flow, scale, shift, axis=-1, epsilon=_EVEN)

    def dense_of_normal(self, flow: str, *names: str) -> str:
        """Dense layers over one normalised flow, side by side; its reach is known."""
        weights, bias = self._dense(names)
        if self._exact:
            return self._exact_product(flow, weights, bias)
        quiet = self.file.add("Mul", flow, self._softer)
        weights *= self._loud
        return self._product(quiet, weights, _REACH, self.real(bias))

    def dense(self, flow: str, name: str) -> str:
        """A dense layer over a flow whose tokens reach as far as they like."""
        weights, bias = self._dense([name])
        if self._exact:
            return self._exact_product(flow, weights, bias)
        largest = self.file.add("ReduceMax", self.file.add("Abs", flow), self.whole(-1), keepdims=1)
        even = self._product(self.file.add("Div", flow, largest), weights, 1.0)
        return self.plus(self.file.add("Mul", even, largest), self.real(bias))

    def _dense(self, names: Sequence[str]) -> tuple[Floats, Floats]:
        """The weights, a row for each channel that comes out, and what is added to each; the caller's own."""
        import numpy

        weights: Floats = numpy.concatenate([self._tensors[f"{name}.weight"] for name in names])
        bias: Floats = numpy.concatenate([self._tensors[f"{name}.bias"] for name in names])
        return weights, bias

    def _exact_product(self, flow: str, weights: Floats, bias: Floats) -> str:
        return self.plus(self.file.add("MatMul", flow, self.real(weights.T)), self.real(bias))

    def _product(self, flow: str, weights: Floats, reach: float, *bias: str) -> str:
        import numpy

        rounded, step = round_to_bytes(weights)
        own_step, middle = self.real(reach / _LARGEST), self.file.constant(numpy.array(_MIDDLE, numpy.uint8))
        return self.file.add(
            "com.microsoft.MatMulIntegerToFloat",
            self.file.add("QuantizeLinear", flow, own_step, middle),
            self.file.constant(numpy.ascontiguousarray(rounded.T)),  # turned only now that it is small: much faster
            own_step,
            self.real(step),
            middle,
            self.file.constant(numpy.zeros(len(step), numpy.int8)),
            *bias,
        )


def _attention(made: _Layers, flow: str, name: str) -> str:
    """What each token takes from all tokens of its text."""
    size = WIDTH // HEADS
    own = made.dense_of_normal(flow, *(f"{name}.self.{part}" for part in ("query", "key", "value")))
    query, key, value = (
        made.apart(one, HEADS, size) for one in made.file.add_several("Split", [own], 3, axis=1, num_outputs=3)
    )
    query = made.file.add("Mul", query, made.real(size**-0.5))
    alike = made.file.add(
        "MatMul",
        made.file.add("Transpose", query, perm=[0, 2, 1, 3]),
        made.file.add("Transpose", key, perm=[0, 2, 3, 1]),
    )
    taken = made.file.add(
        "MatMul", made.file.add("Softmax", alike, axis=-1), made.file.add("Transpose", value, perm=[0, 2, 1, 3])
    )
    joined = made.file.add("Reshape", made.file.add("Transpose", taken, perm=[0, 2, 1, 3]), made.whole(-1, WIDTH))
    return made.dense(joined, f"{name}.output.dense")
