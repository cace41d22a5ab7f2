"""The file of the multilingual encoder: an ONNX graph, of which only the tensors and the word pieces are used.

The graph itself needs operators that onnxruntime does not have, so another one is built from its tensors. The file is
mapped, not read: unused numbers take no memory. It is a protocol buffer; the package `protobuf` would copy what it
reads, and needs the descriptions of ONNX and SentencePiece, which come with `onnx` and `sentencepiece`.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

_VARINT, _EIGHT, _BYTES, _FOUR = 0, 1, 2, 5  # wire types
_MAX_VARINT_BYTES = 10  # bytes of a varint
_GRAPH = 7  # field of the file
_NODE, _TENSOR = 1, 5  # fields of the graph
_OPERATOR, _ATTRIBUTE = 4, 5  # fields of a node
_DIMENSION, _TYPE, _FLOATS, _INTS, _NAME, _RAW = 1, 2, 4, 5, 8, 9  # fields of a tensor
_TYPES = {1: "<f4", 2: "u1", 3: "i1"}  # by ONNX's numbers
_NORMALIZER, _PRECOMPILED = 3, 2  # fields of the word pieces: how texts are normalised before they are split


class Pieces(NamedTuple):
    """SentencePiece's word pieces: by number, each with its score for how common it is."""

    pieces: list[tuple[str, float]]
    normalizer: bytes  # maps characters to the ones they are normalised to


class Encoder(NamedTuple):
    """What the file contains."""

    tensors: dict[str, Array]
    pieces: Pieces


def read(path: Path) -> Encoder:
    """The tensors by name, read-only, and the pieces; ValueError if the file is anything else."""
    with path.open("rb") as stream:
        data = memoryview(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ))
    graph = _first(data, _GRAPH)
    tensors = dict(_parse_tensor(message) for message in messages(graph, _TENSOR))
    for node in messages(graph, _NODE):
        if bytes(_first(node, _OPERATOR)) == b"SentencepieceTokenizer":
            for attribute in messages(node, _ATTRIBUTE):
                if bytes(_first(attribute, 1)) == b"model":
                    return Encoder(tensors, _parse_pieces(_first(attribute, 4)))
    raise ValueError("it has no pieces of words")


def _first(message: memoryview, number: int) -> memoryview:
    for value in messages(message, number):
        return value
    raise ValueError(f"it has no field {number}")


def _parse_tensor(message: memoryview) -> tuple[str, Array]:
    """A tensor's name and numbers; empty if its type is not used."""
    import numpy

    name, kind = "", 0
    shape: list[int] = []
    values: Array = numpy.empty(0)
    for number, value in fields(message):
        if isinstance(value, int):
            if number == _DIMENSION:
                shape.append(value)
            elif number == _TYPE:
                kind = value
        elif number == _NAME:
            name = bytes(value).decode()
        elif kind in _TYPES and number in (_FLOATS, _RAW):
            values = numpy.frombuffer(value, _TYPES[kind])
        elif kind in _TYPES and number == _INTS:
            values = numpy.array(numbers(value), _TYPES[kind])
    return name, values.reshape(shape) if len(values) else values


def _parse_pieces(model: memoryview) -> Pieces:
    pieces = []
    for message in messages(model, 1):
        piece, score = "", 0.0
        for number, value in fields(message):
            if number == 1 and isinstance(value, memoryview):
                piece = bytes(value).decode()
            elif number == 2 and isinstance(value, memoryview):
                score = struct.unpack("<f", value)[0]
        pieces.append((piece, score))
    return Pieces(pieces, bytes(_first(_first(model, _NORMALIZER), _PRECOMPILED)))


def fields(message: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Each field's number and value; ValueError if this is not a protocol buffer.

    Fixed-size numbers are returned as bytes, and so are strings and nested messages.
    """
    position = 0
    while position < len(message):
        key, position = _read_varint(message, position)
        kind = key & 7
        if kind == _VARINT:
            value, position = _read_varint(message, position)
            yield key >> 3, value
            continue
        if kind == _BYTES:
            size, position = _read_varint(message, position)
        elif kind in (_EIGHT, _FOUR):
            size = 8 if kind == _EIGHT else 4
        else:
            raise ValueError(f"no field of a protocol buffer is of kind {kind}")
        if position + size > len(message):
            raise ValueError("a field reaches beyond the end")
        yield key >> 3, message[position : position + size]
        position += size


def messages(message: memoryview, number: int) -> Iterator[memoryview]:
    """The values of every field of that number that are strings, bytes or messages."""
    return (
        value for field_number, value in fields(message) if field_number == number and isinstance(value, memoryview)
    )


def numbers(packed: memoryview) -> list[int]:
    """The whole numbers of a packed field."""
    values, position = [], 0
    while position < len(packed):
        value, position = _read_varint(packed, position)
        values.append(value)
    return values


def _read_varint(message: memoryview, position: int) -> tuple[int, int]:
    if position < len(message) and message[position] < 0x80:  # most are this small
        return message[position], position + 1
    value = 0
    for count, byte in enumerate(message[position : position + _MAX_VARINT_BYTES]):
        value |= (byte & 0x7F) << 7 * count
        if byte < 0x80:
            return value, position + count + 1
    raise ValueError("a number has no end")
