"""Runs the text detection network of PP-OCR part by part, and the parts with the most pixels strip by strip.

Run as a whole, the network needs 400 MB for a page: at a quarter of the page's size, a value has up to 96 planes of
floats. The values of a strip fit into the processor's cache, too, which is faster. Strips overlap by as many rows as
the convolutions of their part look beyond a row, so the result is the same. In some places the network weights planes
by their averages over the whole picture; it is cut there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from chyme.core.process_memory import release_memory
from chyme.imaging.ocr.integer_network import rewrite_with_bytes
from chyme.models.weights.onnx_reader import Node, OnnxNetwork, parse_onnx
from chyme.models.weights.onnx_session import open_session
from chyme.models.weights.onnx_writer import Shape

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    Pixels = NDArray[numpy.uint8]  # rows, columns, blue-green-red
    Floats = NDArray[numpy.float32]

GRID = 32  # the network needs sides that are multiples of it
LEAST_CHANNELS = 96  # a convolution of fewer channels gains nothing from bytes
NEVER = 1 << 30  # strips stay in floats: bytes would be rounded by another range in each, and receipts are read worse
REDUCED = 4  # the largest feature maps have a pixel for so many of the picture, in each direction
STRIP = 16  # rows of a feature map that are computed at once
# How many rows a part looks beyond those it computes: counted from its convolutions, and even where a map of half the
# height is added.
BEYOND_EDGES, BEYOND_FEATURES, BEYOND_MIXED, BEYOND_TEXT = 2, 1, 4, 1


class DetectionNetwork:
    """The network, cut into parts and rewritten for integer arithmetic when it is loaded."""

    def __init__(self, model: bytes, threads: int = 1, least_channels: int = LEAST_CHANNELS) -> None:
        network = parse_onnx(model)
        cuts = _find_cuts(network)

        def load(inputs: Sequence[str], *outputs: str, least: int = NEVER) -> _Part:
            data = rewrite_with_bytes(network, _name_shapes(inputs), _name_shapes(outputs), least)
            return _Part(open_session(data, threads), tuple(inputs))

        self._find_edges = load([cuts.picture], cuts.edges)
        self._weigh_edges = load([cuts.edges], cuts.edge_weights)
        self._find_features = load([cuts.edges, cuts.edge_weights], cuts.features)
        self._find_coarse = load([cuts.features], cuts.half, *cuts.coarse, least=least_channels)
        self._weigh_features = load([cuts.features], cuts.feature_weights)
        self._mix = load([cuts.features, cuts.feature_weights, cuts.half], cuts.mixed)
        self._weigh_mixed = load([cuts.mixed], cuts.mixed_weights)
        self._find_text = load([cuts.mixed, cuts.mixed_weights, *cuts.enlarged], cuts.probabilities)

    def map_text(self, pixels: Pixels) -> Floats:
        """The probability of each pixel to be text. Both sides of the picture must be multiples of GRID."""
        mixed, coarse = self._compute_mixed(self._compute_features(pixels))
        height = mixed.shape[2]
        weights = self._weigh_mixed(_average(mixed))[0]
        probabilities = _run_in_strips(
            height,
            BEYOND_TEXT,
            lambda rows: self._find_text(
                _cut(mixed, rows), weights, *(_enlarge(values, rows, height) for values in coarse)
            ),
        )
        result: Floats = probabilities[0, 0]
        return result

    def _compute_features(self, pixels: Pixels) -> Floats:
        height = pixels.shape[0] // REDUCED
        edges = _run_in_strips(
            height, BEYOND_EDGES, lambda rows: self._find_edges(_normalise(pixels[_times(rows, REDUCED)]))
        )
        weights = self._weigh_edges(_average(edges))[0]
        return _run_in_strips(height, BEYOND_FEATURES, lambda rows: self._find_features(_cut(edges, rows), weights))

    def _compute_mixed(self, features: Floats) -> tuple[Floats, list[Floats]]:
        """The features of pixels mixed with those of their surroundings, and the smaller maps."""
        half, *coarse = self._find_coarse(features)
        release_memory()
        weights = self._weigh_features(_average(features))[0]
        mixed = _run_in_strips(
            features.shape[2],
            BEYOND_MIXED,
            lambda rows: self._mix(_cut(features, rows), weights, _cut(half, _times(rows, 1, 2))),
        )
        return mixed, coarse


def _name_shapes(values: Sequence[str]) -> dict[str, Shape]:
    """Any number of planes, rows and columns."""
    return {name: (1, f"{name} planes", f"{name} rows", f"{name} columns") for name in values}


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of the network. It takes values in the order of its inputs."""

    session: Any
    inputs: tuple[str, ...]

    def __call__(self, *values: Floats) -> list[Floats]:
        results: list[Floats] = self.session.run(None, dict(zip(self.inputs, values, strict=True)))
        return results


def _run_in_strips(height: int, beyond: int, compute: Callable[[slice], Sequence[Floats]]) -> Floats:
    """The first result of `compute` for all rows of a map, computed strip by strip.

    It gets the rows of a strip with `beyond` more on each side, whose results are dropped. Results may have several
    rows for each row.
    """
    import numpy

    whole: Floats | None = None
    for first in range(0, height, STRIP):
        last = min(height, first + STRIP)
        seen = slice(max(0, first - beyond), min(height, last + beyond))
        found = compute(seen)[0]
        times = found.shape[2] // (seen.stop - seen.start)
        if whole is None:
            whole = numpy.empty((*found.shape[:2], height * times, found.shape[3]), numpy.float32)
        kept = slice((first - seen.start) * times, (last - seen.start) * times)
        whole[:, :, first * times : last * times] = found[:, :, kept]
    assert whole is not None
    release_memory()  # the many buffers of strips would otherwise stay beside those of the next part
    return whole


def _times(rows: slice, factor: int, divisor: int = 1) -> slice:
    return slice(rows.start * factor // divisor, rows.stop * factor // divisor)


def _cut(values: Floats, rows: slice) -> Floats:
    import numpy

    return numpy.ascontiguousarray(values[:, :, rows])


def _enlarge(values: Floats, rows: slice, height: int) -> Floats:
    """These rows of a smaller map, as if it had been enlarged to this height, by repetition."""
    import numpy

    times = height // values.shape[2]
    needed = values[:, :, rows.start // times : -(-rows.stop // times)]
    skipped = rows.start % times
    wide = needed.repeat(times, axis=3).repeat(times, axis=2)
    return numpy.ascontiguousarray(wide[:, :, skipped : skipped + rows.stop - rows.start])


def _normalise(pixels: Pixels) -> Floats:
    import numpy

    planes: Floats = numpy.multiply(pixels.transpose(2, 0, 1)[None], numpy.float32(1 / 127.5), dtype=numpy.float32)
    planes -= 1
    return planes


def _average(values: Floats) -> Floats:
    """A map of one pixel, the average."""
    average: Floats = values.mean(axis=(2, 3), keepdims=True)
    return average


@dataclass(frozen=True, slots=True)
class _Cuts:
    """Names of values in the network, in the order in which they are computed."""

    picture: str
    edges: str  # of a quarter of the picture's height and width, like features and mixed
    edge_weights: str
    features: str
    half: str  # of half the height and width of features
    coarse: tuple[str, ...]  # smaller maps
    feature_weights: str
    mixed: str  # features of pixels together with those of their surroundings
    mixed_weights: str
    enlarged: tuple[str, ...]  # the smaller maps as large as `mixed`
    probabilities: str


def _find_cuts(network: OnnxNetwork) -> _Cuts:
    """Where to cut; ValueError if the network is not built as expected."""
    (picture,), (probabilities,) = network.inputs, network.outputs
    graph = _Graph(network)
    edges = next((graph.resolve(node.inputs[0]) for node in network.nodes if node.operator == "ReduceMean"), "")
    *enlarged, weighted = (graph.resolve(name) for name in graph.find_maker(probabilities, "Concat").inputs)
    mixed, mixed_weights = graph.undo_weighting(weighted)
    blurred = graph.find_maker(graph.maker(mixed, "Conv").inputs[0], "Conv")
    weighted, half_enlarged = graph.maker(blurred.inputs[0], "Add").inputs
    projected, feature_weights = graph.undo_weighting(weighted)
    return _Cuts(
        picture=picture,
        edges=edges,
        edge_weights=graph.find_weights(edges),
        features=graph.source(projected, "Conv"),
        half=graph.source(half_enlarged, "Resize"),
        coarse=tuple(graph.source(name, "Resize") for name in enlarged),
        feature_weights=feature_weights,
        mixed=mixed,
        mixed_weights=mixed_weights,
        enlarged=tuple(enlarged),
        probabilities=probabilities,
    )


class _Graph:
    """Finds values by the operators that compute them. Names are those of values before any Identity."""

    def __init__(self, network: OnnxNetwork) -> None:
        self._nodes = network.nodes
        self._makers = {output: node for node in network.nodes for output in node.outputs}

    def resolve(self, name: str) -> str:
        while name in self._makers and self._makers[name].operator == "Identity":
            name = self._makers[name].inputs[0]
        return name

    def maker(self, name: str, operator: str) -> Node:
        """The operator that computes a value, which must be this one."""
        node = self._makers.get(self.resolve(name))
        if node is None or node.operator != operator:
            raise ValueError(f"the detection network is not built as expected: {name} is no {operator}")
        return node

    def find_maker(self, name: str, operator: str) -> Node:
        """The nearest such operator on the way back from a value, by the first input of each."""
        while node := self._makers.get(name):
            if node.operator == operator:
                return node
            name = node.inputs[0]
        raise ValueError(f"the detection network is not built as expected: it has no {operator}")

    def source(self, name: str, operator: str) -> str:
        return self.resolve(self.maker(name, operator).inputs[0])

    def undo_weighting(self, name: str) -> tuple[str, str]:
        """The value and the weights of a sum of a value and its product with weights."""
        value, product = self.maker(name, "Add").inputs
        return self.resolve(value), self.resolve(self.maker(product, "Mul").inputs[1])

    def find_weights(self, name: str) -> str:
        """What a value is multiplied by."""
        for node in self._nodes:
            if node.operator == "Mul" and self.resolve(node.inputs[0]) == name:
                return self.resolve(node.inputs[1])
        raise ValueError("the detection network is not built as expected: it has no weights")
