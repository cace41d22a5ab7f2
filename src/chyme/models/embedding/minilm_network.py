"""MiniLM, a small BERT (Wang and others, 2020), built from its tensors with 8-bit integer matrices.

8-bit integers are multiplied more than twice as fast as floats. The matrices are rounded once, each column by its own
step (see `quantization`); activations are rounded anew for each token, so that a text gets the same vector whichever
others it shares a run with. A few channels are much larger than all others, and so are some tokens between two layers:
they are scaled down before rounding, so that the others keep their precision.
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

TEXTS = "texts"  # the input: texts of one length, a row for each token
WIDTH, LAYERS, HEADS = 384, 6, 12
VERSION = 3  # raise it when the same tensors make another network
OPERATORS = 20  # the first operator set with both LayerNormalization and Gelu
_EPSILON = 1e-12  # avoids a division by zero when normalising a constant row
_LARGEST = 127  # the largest distance from the zero point in an unsigned byte
_ZERO_POINT = 128  # the zero point in an unsigned byte
# Channels of this model that are many times larger than the others, whatever the text, and by what factor.
_LOUD_CHANNELS = {99: 8.0, 63: 4.0, 127: 4.0, 223: 4.0, 157: 2.0, 267: 2.0, 303: 2.0, 319: 2.0}
_RANGE = 4.0  # range of the normalised activations, loud channels scaled down; the few beyond are clipped


def build_network(tensors: Tensors, exact: bool = False) -> tuple[bytes, str]:
    """An ONNX file and the name of its output, the mean over a text's tokens; KeyError for other tensors.

    `exact` leaves the matrices as they are.
    """
    layers = _Layers(tensors, exact)
    add, norm, ints = layers.file.add, layers.layer_norm, layers.file.int_constant
    # A row for each token of all texts: only in attention are they separated, where no text may see another.
    flow = norm(add("Reshape", TEXTS, ints(-1, WIDTH)), "embeddings.LayerNorm")
    for number in range(LAYERS):
        name = f"encoder.layer.{number}"
        attended = _attention(layers, flow, f"{name}.attention")
        flow = norm(add("Add", flow, attended), f"{name}.attention.output.LayerNorm")
        inner = add("Gelu", layers.dense_after_norm(flow, f"{name}.intermediate.dense"))
        flow = norm(add("Add", flow, layers.dense(inner, f"{name}.output.dense")), f"{name}.output.LayerNorm")
    mean = add("ReduceMean", layers.reshape_by_text(flow, WIDTH), ints(1), keepdims=0)
    return layers.file.data({TEXTS: ("texts", "tokens", WIDTH)}, {mean: ("texts", WIDTH)}), mean


class _Layers:
    """Layers by the names of their tensors."""

    def __init__(self, tensors: Tensors, exact: bool) -> None:
        import numpy

        self._tensors, self._exact = tensors, exact
        self.file = OnnxFile(OPERATORS)
        self._batch_shape = self.file.add("Shape", TEXTS, start=0, end=2)
        self._loud = numpy.ones(WIDTH, numpy.float32)
        self._loud[list(_LOUD_CHANNELS)] = list(_LOUD_CHANNELS.values())
        self._loud_reciprocal = self.float_constant(numpy.reciprocal(self._loud))

    def float_constant(self, values: Floats | float) -> str:
        import numpy

        return self.file.constant(numpy.asarray(values, numpy.float32, order="C"))

    def reshape_by_text(self, flow: str, *dimensions: int) -> str:
        """The activations of all tokens, text by text, each token's row reshaped to these dimensions."""
        shape = self.file.add("Concat", self._batch_shape, self.file.int_constant(*dimensions), axis=0)
        return self.file.add("Reshape", flow, shape)

    def layer_norm(self, flow: str, name: str) -> str:
        scale, shift = (self.float_constant(self._tensors[f"{name}.{part}"]) for part in ("weight", "bias"))
        return self.file.add("LayerNormalization", flow, scale, shift, axis=-1, epsilon=_EPSILON)

    def dense_after_norm(self, flow: str, *names: str) -> str:
        """Dense layers over the same normalised activations, side by side; their range is known."""
        weights, bias = self._load_dense(names)
        if self._exact:
            return self._multiply_floats(flow, weights, bias)
        scaled = self.file.add("Mul", flow, self._loud_reciprocal)
        weights *= self._loud
        return self._multiply_bytes(scaled, weights, _RANGE, self.float_constant(bias))

    def dense(self, flow: str, name: str) -> str:
        """A dense layer over activations of any range."""
        weights, bias = self._load_dense([name])
        if self._exact:
            return self._multiply_floats(flow, weights, bias)
        largest = self.file.add("ReduceMax", self.file.add("Abs", flow), self.file.int_constant(-1), keepdims=1)
        product = self._multiply_bytes(self.file.add("Div", flow, largest), weights, 1.0)
        return self.file.add("Add", self.file.add("Mul", product, largest), self.float_constant(bias))

    def _load_dense(self, names: Sequence[str]) -> tuple[Floats, Floats]:
        """The weights, a row for each output channel, and the biases; copies that the caller may change."""
        import numpy

        weights: Floats = numpy.concatenate([self._tensors[f"{name}.weight"] for name in names])
        bias: Floats = numpy.concatenate([self._tensors[f"{name}.bias"] for name in names])
        return weights, bias

    def _multiply_floats(self, flow: str, weights: Floats, bias: Floats) -> str:
        return self.file.add(
            "Add", self.file.add("MatMul", flow, self.float_constant(weights.T)), self.float_constant(bias)
        )

    def _multiply_bytes(self, flow: str, weights: Floats, value_range: float, *bias: str) -> str:
        import numpy

        rounded, weight_steps = round_to_bytes(weights)
        input_step = self.float_constant(value_range / _LARGEST)
        zero_point = self.file.constant(numpy.array(_ZERO_POINT, numpy.uint8))
        return self.file.add(
            "com.microsoft.MatMulIntegerToFloat",
            self.file.add("QuantizeLinear", flow, input_step, zero_point),
            self.file.constant(numpy.ascontiguousarray(rounded.T)),  # transposed only now, when it is small: faster
            input_step,
            self.float_constant(weight_steps),
            zero_point,
            self.file.constant(numpy.zeros(len(weight_steps), numpy.int8)),
            *bias,
        )


def _attention(layers: _Layers, flow: str, name: str) -> str:
    """The attention layer: what each token takes from all tokens of its text."""
    add, size = layers.file.add, WIDTH // HEADS
    projected = layers.dense_after_norm(flow, *(f"{name}.self.{part}" for part in ("query", "key", "value")))
    query, key, value = (
        layers.reshape_by_text(projection, HEADS, size)
        for projection in layers.file.add_several("Split", [projected], 3, axis=1, num_outputs=3)
    )
    query = add("Mul", query, layers.float_constant(size**-0.5))
    scores = add("MatMul", add("Transpose", query, perm=[0, 2, 1, 3]), add("Transpose", key, perm=[0, 2, 3, 1]))
    mixed = add("MatMul", add("Softmax", scores, axis=-1), add("Transpose", value, perm=[0, 2, 1, 3]))
    joined = add("Reshape", add("Transpose", mixed, perm=[0, 2, 1, 3]), layers.file.int_constant(-1, WIDTH))
    return layers.dense(joined, f"{name}.output.dense")
