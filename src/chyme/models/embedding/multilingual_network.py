"""The multilingual Universal Sentence Encoder (Yang and others, 2019), the smaller one, built from its tensors.

Convolutions look at two, three and five neighbouring tokens; the results are summed over the text. The matrices are
8-bit integers, as in the file, except for the few columns that some CPUs could not add up (see `quantization`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from chyme.models.embedding.quantization import prevent_saturation
from chyme.models.weights.onnx_writer import OnnxFile

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

TEXT = "text"  # the input: a row for each token
WIDTH = 512
WINDOWS = {2: (0, 1), 3: (1, 1), 5: (2, 2)}  # tokens looked at together, and how many zero rows go before and after
OPERATORS = 20
VERSION = 2  # raise it when the same tensors make another network
_EPSILON = 1e-12  # avoids a division by zero when normalising a constant row
_FLOAT = 1  # ONNX's number for float32
_TO_THE_END = 1 << 62
_PREFIX = "StatefulPartitionedCall/EncoderDNN/"


def build_network(tensors: Mapping[str, Array]) -> tuple[bytes, str]:
    """An ONNX file and the name of its output, a vector for the text; KeyError for other tensors."""
    layers = _Layers(tensors)
    add = layers.file.add
    features = [TEXT, *(_convolve(layers, size) for size in WINDOWS)]
    flow = layers.layer_norm(add("Concat", *features, axis=1), "CNN_layers")
    flow = layers.dense(flow, "CNN_layers/dense/kernel", "CNN_layers/dense/bias")
    tokens = add("Cast", add("Shape", TEXT, start=0, end=1), to=_FLOAT)
    flow = add("ReduceSum", flow, layers.file.int_constant(0), keepdims=1)
    flow = add("Div", flow, add("Sqrt", tokens))
    for first in (0, 2):
        inner = add("Relu", layers.dense(flow, f"DNN/ResidualHidden_{first}/dense/kernel"))
        name = f"DNN/ResidualHidden_{first + 1}"
        hidden = layers.dense(inner, f"{name}/dense/kernel")
        flow = add("Add", hidden, layers.dense(flow, f"{name}/AdjustDepth/projection/kernel"))
        flow = add("Tanh" if first else "Relu", flow)
    return layers.file.data({TEXT: ("tokens", WIDTH)}, {flow: (1, WIDTH)}), flow


class _Layers:
    """Layers by the names of their tensors."""

    def __init__(self, tensors: Mapping[str, Array]) -> None:
        self._tensors = tensors
        self.file = OnnxFile(OPERATORS)

    def tensor(self, name: str) -> str:
        return self.file.constant(self._tensors[_PREFIX + name])

    def layer_norm(self, flow: str, name: str) -> str:
        scale, shift = (self.tensor(f"{name}/LayerNorm/{part}:0") for part in ("gamma", "beta"))
        return self.file.add("LayerNormalization", flow, scale, shift, axis=-1, epsilon=_EPSILON)

    def dense(self, flow: str, matrix: str, bias: str = "") -> str:
        import numpy

        quantized, step, zero = self.file.add_several("DynamicQuantizeLinear", [flow], 3)
        stored = self._tensors[f"{_PREFIX}{matrix}:0_quantized"]
        rounded, row_steps = prevent_saturation(stored.reshape(-1, stored.shape[-1]).T)
        weights = self.file.constant(numpy.ascontiguousarray(rounded.T))
        steps = self.file.constant(
            numpy.asarray(row_steps * self._tensors[f"{_PREFIX}{matrix}:0_scale"], numpy.float32)
        )
        product = self.file.add("Cast", self.file.add("MatMulInteger", quantized, weights, zero), to=_FLOAT)
        product = self.file.add("Mul", product, self.file.add("Mul", step, steps))
        return self.file.add("Add", product, self.tensor(f"{bias}:0")) if bias else product

    def neighbours(self, flow: str, size: int, width: int) -> str:
        """Each token's row and its neighbours', side by side; zeros beyond the text."""
        import numpy

        before, after = (numpy.zeros((count, width), numpy.float32) for count in WINDOWS[size])
        padding = [self.file.constant(part) if len(part) else "" for part in (before, after)]
        padded = self.file.add("Concat", *(part for part in (padding[0], flow, padding[1]) if part), axis=0)
        shifted = [
            self.file.add(
                "Slice",
                padded,
                self.file.int_constant(first),
                self.file.int_constant(first - size + 1 if first < size - 1 else _TO_THE_END),
                self.file.int_constant(0),
            )
            for first in range(size)
        ]
        return self.file.add("Concat", *shifted, axis=1)


def _convolve(layers: _Layers, size: int) -> str:
    """What tokens mean together with their neighbours: two convolutional layers with residual connections."""
    name = f"CNN_layers/ngram_order_{size}"
    projection = f"{name}/input_size_projection/dense"
    flow = layers.layer_norm(layers.dense(TEXT, f"{projection}/kernel", f"{projection}/bias"), name)
    for layer in (f"{name}/Ngram-{size}-Conv", f"{name}/Ngram-{size}-Conv_1"):
        convolved = layers.dense(layers.neighbours(flow, size, WIDTH // 2), f"{layer}/weights", f"{layer}/bias")
        flow = layers.file.add("Add", layers.file.add("Relu", convolved), flow)
    return flow
