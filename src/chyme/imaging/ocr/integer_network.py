"""Rewrites a convolutional network so that its large matrices are multiplied as 8-bit integers, which is faster.

Only 1×1 convolutions change, and they are most of the work: each becomes a product of bytes. Its weights are rounded
once, each output channel by its own step; its inputs are rounded anew in every run, by the range they have there. All
else stays in floats. The product wants the channels of a pixel side by side, the other operators want a plane for each
channel; elementwise operators take either, so there are two transpositions between two depthwise convolutions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from chyme.models.embedding.quantization import round_to_bytes
from chyme.models.weights.onnx_reader import Node, OnnxNetwork
from chyme.models.weights.onnx_writer import OnnxFile, Shape

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

_ELEMENTWISE = frozenset(("Add", "Sub", "Mul", "Div", "Erf", "Relu", "Sigmoid", "HardSigmoid"))
_POOLING = frozenset(("ReduceMean", "GlobalAveragePool"))
_CHANNELS_LAST, _CHANNELS_FIRST = [0, 2, 3, 1], [0, 3, 1, 2]  # how to transpose one to the other


def rewrite_with_bytes(
    network: OnnxNetwork, inputs: Mapping[str, Shape], outputs: Mapping[str, Shape], least: int
) -> bytes:
    """An ONNX file that computes some of the network's values from others; both are given by name, with their shape.

    `least` are the channels a convolution must have, at its input, to be worth rounding.
    """
    return _Rewriter(network, inputs, outputs, least).write()


class _Rewriter:
    """Copies the network operator by operator. A value may exist with channels first, with channels last, or both."""

    def __init__(
        self, network: OnnxNetwork, inputs: Mapping[str, Shape], outputs: Mapping[str, Shape], least: int
    ) -> None:
        self._network = network
        self._least = least
        self._file = OnnxFile(network.operators)
        self._first = {name: name for name in inputs}  # new names by old ones
        self._last: dict[str, str] = {}
        self._same: dict[str, str] = {}  # outputs of Identity
        self._pooled: set[str] = set()  # values with one number for each channel
        self._nodes = _needed_nodes(network.nodes, inputs, outputs)
        self._inputs, self._outputs = inputs, outputs

    def write(self) -> bytes:
        uses = Counter(name for node in self._nodes for name in node.inputs)
        biases: dict[str, Node] = {}  # the addition of a bias after a convolution, by the convolution's output
        for node in self._nodes:
            if node.operator == "Add" and uses[node.inputs[0]] == 1 and self._is_per_channel(node.inputs[1]):
                biases[node.inputs[0]] = node
        done: set[int] = set()
        for node in self._nodes:
            if id(node) in done:
                continue
            if node.operator == "Identity":
                self._same[node.outputs[0]] = self._resolve(node.inputs[0])
            elif self._is_worth_rounding(node):
                bias = biases.get(node.outputs[0])
                self._multiply_bytes(node, bias)
                if bias:
                    done.add(id(bias))
            else:
                self._copy(node)
        outputs = {self._channels_first(name): shape for name, shape in self._outputs.items()}
        return self._file.data(self._inputs, outputs)

    def _copy(self, node: Node) -> None:
        names = [self._resolve(name) for name in node.inputs]
        values = [name for name in names if name and name not in self._network.tensors]
        if node.operator in _POOLING or (values and all(name in self._pooled for name in values)):
            self._pooled.update(node.outputs)
        if node.operator in _ELEMENTWISE and any(name in self._last and name not in self._first for name in values):
            inputs = [self._channels_last(name) for name in names]
            self._last[node.outputs[0]] = self._file.add(node.operator, *inputs, **node.attributes)
            return
        inputs = [self._channels_first(name) if name else "" for name in names]
        outputs = self._file.add_several(node.operator, inputs, len(node.outputs), **node.attributes)
        self._first.update(zip(node.outputs, outputs, strict=True))

    def _multiply_bytes(self, node: Node, bias: Node | None) -> None:
        import numpy

        weights = self._network.tensors[node.inputs[1]]
        rounded, steps = round_to_bytes(weights.reshape(weights.shape[:2]).copy())
        product = self._file.add(
            "com.microsoft.DynamicQuantizeMatMul",
            self._channels_last(self._resolve(node.inputs[0])),
            self._file.constant(numpy.ascontiguousarray(rounded.T)),
            self._file.constant(steps),
            self._file.constant(numpy.zeros(len(steps), numpy.int8)),
            *([self._file.constant(self._network.tensors[bias.inputs[1]].reshape(-1))] if bias else ()),
        )
        self._last[(bias or node).outputs[0]] = product

    def _is_worth_rounding(self, node: Node) -> bool:
        """Whether it is a convolution of single pixels, large enough, and over a whole picture."""
        if node.operator != "Conv" or len(node.inputs) != 2 or self._resolve(node.inputs[0]) in self._pooled:
            return False
        weights = self._network.tensors[node.inputs[1]]
        is_plain = node.attributes.get("group", 1) == 1 and node.attributes.get("strides", [1, 1]) == [1, 1]
        return is_plain and weights.shape[2:] == (1, 1) and weights.shape[1] >= self._least

    def _is_per_channel(self, name: str) -> bool:
        tensor = self._network.tensors.get(name)
        return tensor is not None and tensor.ndim == 4 and tensor.size == tensor.shape[1]

    def _resolve(self, name: str) -> str:
        return self._same.get(name, name)

    def _channels_first(self, name: str) -> str:
        """The new name of a value, as it was in the network."""
        name = self._resolve(name)
        if name not in self._first:
            if name in self._network.tensors:
                self._first[name] = self._file.constant(self._network.tensors[name])
            else:
                self._first[name] = self._file.add("Transpose", self._last[name], perm=_CHANNELS_FIRST)
        return self._first[name]

    def _channels_last(self, name: str) -> str:
        if name not in self._last:
            if name in self._network.tensors:
                tensor = self._network.tensors[name]
                self._last[name] = self._file.constant(tensor.reshape(-1) if self._is_per_channel(name) else tensor)
            else:
                self._last[name] = self._file.add("Transpose", self._first[name], perm=_CHANNELS_LAST)
        return self._last[name]


def _needed_nodes(nodes: Sequence[Node], inputs: Iterable[str], outputs: Iterable[str]) -> list[Node]:
    wanted, known = set(outputs), set(inputs)
    needed: list[Node] = []
    for node in reversed(nodes):
        if wanted.intersection(node.outputs) and not known.intersection(node.outputs):
            needed.append(node)
            wanted.update(node.inputs)
    return needed[::-1]
