"""The file of the multilingual encoder: an ONNX graph, of which only the tensors and the pieces of words are taken.

The graph itself needs operators that onnxruntime does not have, so another is put together from its tensors. The file
is mapped, not read: numbers nobody looks at take no memory.
"""

from __future__ import annotations

import mmap
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from chyme.models.weights.protobuf import fields, messages, numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

_GRAPH = 7  # of the file
_NODE, _TENSOR = 1, 5  # of the graph
_OPERATOR, _ATTRIBUTE = 4, 5  # of a node
_SIDE, _TYPE, _REALS, _WHOLES, _NAME, _RAW = 1, 2, 4, 5, 8, 9  # of a tensor
_TYPES = {1: "<f4", 2: "u1", 3: "i1"}  # as ONNX counts them
_NORMAL, _PRECOMPILED = 3, 2  # of the pieces: how texts are made even before they are cut


class Pieces(NamedTuple):
    """The pieces of words, as SentencePiece keeps them: by number, with how usual each is."""

    pieces: list[tuple[str, float]]
    even: bytes  # which characters are written as which others


class Encoder(NamedTuple):
    """What the file holds."""

    tensors: dict[str, Array]
    pieces: Pieces


def read(path: Path) -> Encoder:
    """The tensors by name, read-only, and the pieces; ValueError when the file is anything else."""
    with path.open("rb") as stream:
        data = memoryview(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ))
    graph = _first(data, _GRAPH)
    tensors = dict(_tensor(message) for message in messages(graph, _TENSOR))
    for node in messages(graph, _NODE):
        if bytes(_first(node, _OPERATOR)) == b"SentencepieceTokenizer":
            for attribute in messages(node, _ATTRIBUTE):
                if bytes(_first(attribute, 1)) == b"model":
                    return Encoder(tensors, _pieces(_first(attribute, 4)))
    raise ValueError("it has no pieces of words")


def _first(message: memoryview, number: int) -> memoryview:
    for value in messages(message, number):
        return value
    raise ValueError(f"it has no field {number}")


def _tensor(message: memoryview) -> tuple[str, Array]:
    """A tensor's name and numbers; none of a kind nobody asks for."""
    import numpy

    name, kind = "", 0
    shape: list[int] = []
    values: Array = numpy.empty(0)
    for number, value in fields(message):
        if isinstance(value, int):
            if number == _SIDE:
                shape.append(value)
            elif number == _TYPE:
                kind = value
        elif number == _NAME:
            name = bytes(value).decode()
        elif kind in _TYPES and number in (_REALS, _RAW):
            values = numpy.frombuffer(value, _TYPES[kind])
        elif kind in _TYPES and number == _WHOLES:
            values = numpy.array(numbers(value), _TYPES[kind])
    return name, values.reshape(shape) if len(values) else values


def _pieces(model: memoryview) -> Pieces:
    pieces = []
    for message in messages(model, 1):
        piece, score = "", 0.0
        for number, value in fields(message):
            if number == 1 and isinstance(value, memoryview):
                piece = bytes(value).decode()
            elif number == 2 and isinstance(value, memoryview):
                score = struct.unpack("<f", value)[0]
        pieces.append((piece, score))
    return Pieces(pieces, bytes(_first(_first(model, _NORMAL), _PRECOMPILED)))
