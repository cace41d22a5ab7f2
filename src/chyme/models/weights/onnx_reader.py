"""Read ONNX files by hand: the operators and tensors of a network, so that it can be written anew with others.

ONNX files are protocol buffers; the field numbers below are those of onnx.proto. Files come from installed packages.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

Attribute = float | int | str | list[int]
_VARINT, _EIGHT_BYTES, _LENGTH, _FOUR_BYTES = 0, 1, 2, 5  # wire types
_NUMPY_TYPES = {1: "float32", 2: "uint8", 3: "int8", 6: "int32", 7: "int64"}
_FLOAT, _INT, _STRING, _INTS = 1, 2, 3, 7  # types of attributes
_Field = tuple[int, int, int | memoryview]  # number, wire type, value


@dataclass(frozen=True, slots=True)
class Node:
    """One operator."""

    operator: str
    inputs: tuple[str, ...]  # an optional input that is left out is an empty name
    outputs: tuple[str, ...]
    attributes: Mapping[str, Attribute]


@dataclass(frozen=True, slots=True)
class OnnxNetwork:
    """The operators in the order in which they run, the tensors they need, and what the file says about itself."""

    nodes: tuple[Node, ...]
    tensors: Mapping[str, Array]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    operators: int  # version of the operator set
    metadata: Mapping[str, str]


def parse_onnx(data: bytes) -> OnnxNetwork:
    """The network in a file; ValueError if it is none, or if it has operators or tensors of an unknown kind."""
    try:
        return _parse_model(memoryview(data))
    except (IndexError, KeyError, TypeError, struct.error, UnicodeDecodeError) as error:
        raise ValueError(f"not a readable ONNX file ({type(error).__name__}: {error})") from error


def _parse_model(data: memoryview) -> OnnxNetwork:
    graph, operators, metadata = memoryview(b""), 0, {}
    for number, _, value in _fields(data):
        if number == 7:
            graph = _view(value)
        elif number == 8:
            parts = {field: content for field, _, content in _fields(_view(value))}
            if not bytes(_view(parts.get(1, memoryview(b"")))):  # the domain of ONNX itself
                operators = _integer(parts[2])
        elif number == 14:
            parts = {field: content for field, _, content in _fields(_view(value))}
            metadata[_text(parts[1])] = _text(parts.get(2, memoryview(b"")))
    nodes: list[Node] = []
    tensors: dict[str, Array] = {}
    names: dict[int, list[str]] = {11: [], 12: []}
    for number, _, value in _fields(graph):
        if number == 1:
            nodes.append(_parse_node(_view(value)))
        elif number == 5:
            name, tensor = _parse_tensor(_view(value))
            tensors[name] = tensor
        elif number in names:
            names[number].append(next(_text(content) for field, _, content in _fields(_view(value)) if field == 1))
    inputs = tuple(name for name in names[11] if name not in tensors)
    if not nodes or not inputs or not names[12]:
        raise ValueError("not an ONNX file: it has no network")
    return OnnxNetwork(tuple(nodes), tensors, inputs, tuple(names[12]), operators, metadata)


def _parse_node(data: memoryview) -> Node:
    inputs: list[str] = []
    outputs: list[str] = []
    operator, attributes = "", {}
    for number, _, value in _fields(data):
        if number == 1:
            inputs.append(_text(value))
        elif number == 2:
            outputs.append(_text(value))
        elif number == 4:
            operator = _text(value)
        elif number == 5:
            name, attribute = _parse_attribute(_view(value))
            attributes[name] = attribute
        elif number == 7 and _text(value):
            raise ValueError(f"operators of {_text(value)} are not known")
    return Node(operator, tuple(inputs), tuple(outputs), attributes)


def _parse_attribute(data: memoryview) -> tuple[str, Attribute]:
    name, kind = "", 0
    values: dict[int, Attribute] = {_FLOAT: 0.0, _INT: 0, _STRING: "", _INTS: []}
    integers: list[int] = []
    for number, wire, value in _fields(data):
        if number == 1:
            name = _text(value)
        elif number == 2:
            values[_FLOAT] = struct.unpack("<f", _view(value))[0]
        elif number == 3:
            values[_INT] = _integer(value)
        elif number == 4:
            values[_STRING] = _text(value)
        elif number == 8:
            integers += list(_packed(_view(value))) if wire == _LENGTH else [_integer(value)]
        elif number == 20:
            kind = _integer(value)
    return name, integers if kind == _INTS else values[kind]


def _parse_tensor(data: memoryview) -> tuple[str, Array]:
    import numpy

    name, kind, raw = "", 0, memoryview(b"")
    shape: list[int] = []
    floats = bytearray()
    integers: list[int] = []
    for number, wire, value in _fields(data):
        if number == 1:
            shape += list(_packed(_view(value))) if wire == _LENGTH else [_integer(value)]
        elif number == 2:
            kind = _integer(value)
        elif number == 4:
            floats += _view(value)
        elif number in (5, 7):
            integers += list(_packed(_view(value))) if wire == _LENGTH else [_integer(value)]
        elif number == 8:
            name = _text(value)
        elif number == 9:
            raw = _view(value)
    dtype = numpy.dtype(_NUMPY_TYPES[kind])
    values = numpy.array(integers, dtype) if integers else numpy.frombuffer(raw or bytes(floats), dtype)
    return name, values.reshape(shape)


def _fields(data: memoryview) -> Iterator[_Field]:
    position = 0
    while position < len(data):
        key, position = _varint(data, position)
        number, wire = key >> 3, key & 7
        if wire == _VARINT:
            value, position = _varint(data, position)
            yield number, wire, value
            continue
        if wire == _LENGTH:
            length, position = _varint(data, position)
        elif wire in (_FOUR_BYTES, _EIGHT_BYTES):
            length = 4 if wire == _FOUR_BYTES else 8
        else:
            raise ValueError("not an ONNX file")
        if position + length > len(data):
            raise ValueError("the ONNX file is incomplete")
        yield number, wire, data[position : position + length]
        position += length


def _packed(data: memoryview) -> Iterator[int]:
    position = 0
    while position < len(data):
        value, position = _varint(data, position)
        yield _signed(value)


def _varint(data: memoryview, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[position]
        value |= (byte & 0x7F) << shift
        position, shift = position + 1, shift + 7
        if byte < 0x80:
            return value, position


def _signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value


def _integer(value: int | memoryview) -> int:
    if not isinstance(value, int):
        raise ValueError("not an ONNX file: a number was expected")
    return _signed(value)


def _view(value: int | memoryview) -> memoryview:
    if isinstance(value, int):
        raise ValueError("not an ONNX file: a message was expected")
    return value


def _text(value: int | memoryview) -> str:
    return bytes(_view(value)).decode()
