"""Reads one line of text with the recognition network of PP-OCR.

The network describes each column of the line by 120 features; a matrix, the head, gives every letter it knows a score
for each column. Nine of ten letters are Chinese or Japanese, so the other letters and the blank are scored first. Only
where none of them scores high are all letters scored. That a right letter scores high is an observation about this
network, not a property of every network.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from chyme.imaging.ocr.integer_network import rewrite_with_bytes
from chyme.models.weights.onnx_reader import Node, OnnxNetwork, parse_onnx
from chyme.models.weights.onnx_session import open_session

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    Pixels = NDArray[numpy.uint8]  # rows, columns, blue-green-red
    Floats = NDArray[numpy.float32]
    Indexes = NDArray[numpy.intp]

HEIGHT = 48  # pixels of the network's input
NARROWEST = 160  # pixels; a narrower line is padded
LEAST_CHANNELS = 128  # a convolution of fewer channels gains little from bytes, and reads worse
FIRST_IDEOGRAPH = 0x2E80  # letters before this code point are scored first
# An ideograph won 384 of 32,000 columns (scans and test pages, network in floats); there, the best of the letters that
# are scored first had at most 19.6. Chosen on those same columns, few of them of pages in Chinese.
SURE_SCORE = 20.0


@dataclass(frozen=True, slots=True)
class RecognisedText:
    """What the model recognised in one region."""

    text: str = ""
    confidences: tuple[float, ...] = ()  # of each letter of the text, including spaces
    columns: tuple[int, ...] = ()  # of each letter except spaces
    width: float = 1.0  # in columns
    confidence: float = 0.0  # mean over all letters except spaces


class TextRecogniser:
    """The network, rewritten for integer arithmetic when it is loaded."""

    def __init__(self, model: bytes, threads: int = 1) -> None:
        import numpy

        network = parse_onnx(model)
        head = _find_head(network)
        self._weights: Floats = network.tensors[head.weights].copy()  # a copy: the rest of the file is not kept
        self._bias: Floats = network.tensors[head.bias].copy()
        self._letters = ("", *network.metadata["character"].splitlines(), " ")  # the first one is the blank
        if self._weights.shape[1] != len(self._letters):
            raise ValueError(f"the network knows {self._weights.shape[1]} letters and names {len(self._letters)}")
        first = [i for i, letter in enumerate(self._letters) if all(ord(char) < FIRST_IDEOGRAPH for char in letter)]
        self._first: Indexes = numpy.array(first)
        self._first_weights: Floats = numpy.ascontiguousarray(self._weights[:, self._first])
        self._first_bias: Floats = self._bias[self._first]
        (self._input,) = network.inputs
        inputs = {self._input: (1, 3, HEIGHT, "width")}
        outputs = {head.features: (1, "columns", len(self._weights))}
        self._session: Any = open_session(rewrite_with_bytes(network, inputs, outputs, LEAST_CHANNELS), threads)

    def read(self, strip: Pixels) -> RecognisedText:
        """The text of an upright strip with one line."""
        planes, used = _normalise(strip)
        (features,) = self._session.run(None, {self._input: planes})
        letters, confidences = self._score(features[0])
        return self._decode(letters, confidences, len(letters) * used)

    def _score(self, features: Floats) -> tuple[Indexes, Floats]:
        """The best letter of each column, and its probability. The probability of a blank is not computed."""
        import numpy

        scores = features @ self._first_weights
        scores += self._first_bias
        best: Indexes = scores.argmax(axis=1)
        highest: Floats = scores[numpy.arange(len(best)), best]
        letters: Indexes = self._first[best]
        probabilities: Floats = numpy.ones(len(best), numpy.float32)
        unsure = highest < SURE_SCORE
        is_letter = ~unsure & (letters != 0)
        probabilities[is_letter] = _probability(scores[is_letter], highest[is_letter])
        if unsure.any():
            scores = features[unsure] @ self._weights
            scores += self._bias
            letters[unsure] = scores.argmax(axis=1)
            probabilities[unsure] = _probability(scores, scores.max(axis=1))
        return letters, probabilities

    def _decode(self, letters: Indexes, probabilities: Floats, width: float) -> RecognisedText:
        """A letter that stays the same over several columns is one; a blank separates it from the next."""
        import numpy

        begins = numpy.flatnonzero((letters != 0) & (letters != numpy.concatenate(([0], letters[:-1]))))
        signs = [self._letters[letter] for letter in letters[begins]]
        confidences = [round(float(value), 5) for value in probabilities[begins]]
        visible = [number for number, sign in enumerate(signs) if not sign.isspace()]
        if not visible:
            return RecognisedText()
        return RecognisedText(
            "".join(signs),
            tuple(confidences),
            tuple(int(begins[number]) for number in visible),
            max(1.0, width),
            sum(confidences[number] for number in visible) / len(visible),
        )


@dataclass(frozen=True, slots=True)
class _Head:
    """Names in the network."""

    features: str
    weights: str
    bias: str


def _find_head(network: OnnxNetwork) -> _Head:
    """The last product of the network, whose result, plus a bias, becomes probabilities."""
    makers: dict[str, Node] = {output: node for node in network.nodes for output in node.outputs}
    path: list[Node] = []
    name = network.outputs[0]
    while len(path) < 3:
        node = makers[name]
        name = node.inputs[0]
        if node.operator != "Identity":
            path.append(node)
    softmax, addition, product = path
    if (softmax.operator, addition.operator, product.operator) != ("Softmax", "Add", "MatMul"):
        raise ValueError("the recognition network does not end as expected")
    return _Head(product.inputs[0], product.inputs[1], addition.inputs[1])


def _normalise(strip: Pixels) -> tuple[Floats, float]:
    """The strip as the network's input, at its height, and which part of the input is the strip."""
    import cv2
    import numpy

    height, width = strip.shape[:2]
    across = max(1, math.ceil(HEIGHT * width / height))
    resized = cv2.resize(strip, (across, HEIGHT))
    planes: Floats = numpy.zeros((1, 3, HEIGHT, max(across, NARROWEST)), numpy.float32)
    numpy.multiply(resized.transpose(2, 0, 1), numpy.float32(1 / 127.5), out=planes[0, :, :, :across])
    planes[0, :, :, :across] -= 1
    return planes, across / planes.shape[3]


def _probability(scores: Floats, highest: Floats) -> Floats:
    """The probability of the letter with the highest score, for each column."""
    import numpy

    probabilities: Floats = 1 / numpy.exp(scores - highest[:, None]).sum(axis=1)
    return probabilities
