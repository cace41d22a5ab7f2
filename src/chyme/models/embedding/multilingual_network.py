"""The multilingual Universal Sentence Encoder (Yang and others, 2019), the smaller one, put together from its tensors.

Every token looks at its neighbours, two, three and five together; what is found is summed over the text. Matrices are
of small whole numbers, as the file has them, but for the few columns that some CPUs could not add up (see `rounding`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from chyme.models.embedding.quantization import prevent_saturation
from chyme.models.weights.onnx_writer import OnnxFile

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

TEXT = "text"  # what goes in: a row for each token
WIDTH = 512
WINDOWS = {2: (0, 1), 3: (1, 1), 5: (2, 2)}  # tokens looked at together, and how many of them before and after
OPERATORS = 20
VERSION = 2  # raise it when the same tensors make another network
_EVEN = 1e-12  # keeps the normalisation of a row that never varies from dividing by nothing
_REAL = 1  # the type of real numbers, as ONNX counts them
_TO_THE_END = 1 << 62
_ALL = "StatefulPartitionedCall/EncoderDNN/"


def build_network(tensors: Mapping[str, Array]) -> tuple[bytes, str]:
    """An ONNX file and the name of what it gives, a vector for the text; KeyError for other tensors."""
    made = _Layers(tensors)
    found = [TEXT, *(_windows(made, size) for size in WINDOWS)]
    flow = made.normal(made.file.add("Concat", *found, axis=1), "CNN_layers")
    flow = made.dense(flow, "CNN_layers/dense/kernel", "CNN_layers/dense/bias")
    tokens = made.file.add("Cast", made.file.add("Shape", TEXT, start=0, end=1), to=_REAL)
    flow = made.file.add("ReduceSum", flow, made.whole(0), keepdims=1)
    flow = made.file.add("Div", flow, made.file.add("Sqrt", tokens))
    for first in (0, 2):
        inner = made.file.add("Relu", made.dense(flow, f"DNN/ResidualHidden_{first}/dense/kernel"))
        name = f"DNN/ResidualHidden_{first + 1}"
        flow = made.file.add(
            "Add",
            made.dense(inner, f"{name}/dense/kernel"),
            made.dense(flow, f"{name}/AdjustDepth/projection/kernel"),
        )
        flow = made.file.add("Tanh" if first else "Relu", flow)
    return made.file.data({TEXT: ("tokens", WIDTH)}, {flow: (1, WIDTH)}), flow


class _Layers:
    """Layers by the names their tensors have."""

    def __init__(self, tensors: Mapping[str, Array]) -> None:
        self._tensors = tensors
        self.file = OnnxFile(OPERATORS)

    def whole(self, *values: int) -> str:
        import numpy

        return self.file.constant(numpy.array(values, numpy.int64))

    def kept(self, name: str) -> str:
        return self.file.constant(self._tensors[_ALL + name])

    def normal(self, flow: str, name: str) -> str:
        scale, shift = (self.kept(f"{name}/LayerNorm/{part}:0") for part in ("gamma", "beta"))
        return self.file.add("LayerNormalization", flow, scale, shift, axis=-1, epsilon=_EVEN)

    def dense(self, flow: str, matrix: str, bias: str = "") -> str:
        import numpy

        small, step, zero = self.file.add_several("DynamicQuantizeLinear", [flow], 3)
        stored = self._tensors[f"{_ALL}{matrix}:0_quantized"]
        rounded, own_steps = prevent_saturation(stored.reshape(-1, stored.shape[-1]).T)
        weights = self.file.constant(numpy.ascontiguousarray(rounded.T))
        steps = self.file.constant(numpy.asarray(own_steps * self._tensors[f"{_ALL}{matrix}:0_scale"], numpy.float32))
        product = self.file.add("Cast", self.file.add("MatMulInteger", small, weights, zero), to=_REAL)
        product = self.file.add("Mul", product, self.file.add("Mul", step, steps))
        return self.file.add("Add", product, self.kept(f"{bias}:0")) if bias else product

    def neighbours(self, flow: str, size: int, width: int) -> str:
        """Each token's row and its neighbours', side by side; beyond the text there is nothing."""
        import numpy

        before, after = (numpy.zeros((count, width), numpy.float32) for count in WINDOWS[size])
        parts = [self.file.constant(one) if len(one) else "" for one in (before, after)]
        longer = self.file.add("Concat", *(one for one in (parts[0], flow, parts[1]) if one), axis=0)
        shifted = [
            self.file.add(
                "Slice",
                longer,
                self.whole(first),
                self.whole(first - size + 1 if first < size - 1 else _TO_THE_END),
                self.whole(0),
            )
            for first in range(size)
        ]
        return self.file.add("Concat", *shifted, axis=1)


def _windows(made: _Layers, size: int) -> str:
    """What tokens say together with their neighbours: two layers, each added to what it was made of."""
    name = f"CNN_layers/ngram_order_{size}"
    projection = f"{name}/input_size_projection/dense"
    flow = made.normal(made.dense(TEXT, f"{projection}/kernel", f"{projection}/bias"), name)
    for layer in (f"{name}/Ngram-{size}-Conv", f"{name}/Ngram-{size}-Conv_1"):
        seen = made.dense(made.neighbours(flow, size, WIDTH // 2), f"{layer}/weights", f"{layer}/bias")
        flow = made.file.add("Add", made.file.add("Relu", seen), flow)
    return flow
