"""Writing an ONNX file by hand, so that a network can be run by onnxruntime without any tool to convert it.

ONNX files are protocol buffers: fields of a number, a wire type and a value; the numbers below are those of onnx.proto.
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

IR_VERSION, OPERATORS = 6, 11  # versions of the format and of the set of operators
_TYPES = {"float32": 1, "uint8": 2, "int8": 3, "int64": 7}
_FOUR_BYTES = 5  # the wire type of a float
_REAL, _WHOLE, _WHOLES = 1, 2, 7  # kinds of attributes

Attribute = float | int | Sequence[int]
Shape = Sequence[int | str]  # a side whose length is not fixed has a name


class OnnxFile:
    """A network put together operator by operator."""

    def __init__(self, operators: int = OPERATORS) -> None:
        """Takes the version of the set of operators."""
        self._operators = operators
        self._nodes: list[bytes] = []
        self._constants: list[list[bytes]] = []
        self._domains = {""}

    def add(self, operator: str, *inputs: str, **attributes: Attribute) -> str:
        """The name of what the operator makes of its inputs; one outside ONNX has its domain before it, and a dot."""
        return self.add_several(operator, inputs, 1, **attributes)[0]

    def add_several(self, operator: str, inputs: Sequence[str], outputs: int, **attributes: Attribute) -> list[str]:
        """The names of everything an operator makes."""
        domain, _, kind = operator.rpartition(".")
        self._domains.add(domain)
        made = [f"{kind}{len(self._nodes)}.{number}" for number in range(outputs)]
        self._nodes.append(
            b"".join(_text(1, name) for name in inputs)
            + b"".join(_text(2, name) for name in made)
            + _text(4, kind)
            + b"".join(_bytes(5, _attribute(name, value)) for name, value in attributes.items())
            + _text(7, domain)
        )
        return made

    def constant(self, values: Array) -> str:
        """The name of a tensor that is stored in the file."""
        name = f"constant{len(self._constants)}"
        kind = _number(2, _TYPES[str(values.dtype)])
        shape = b"".join(_number(1, length) for length in values.shape)
        self._constants.append(_framed(5, [shape + kind + _text(8, name), *_framed(9, [values.tobytes()])]))
        return name

    def data(self, inputs: Mapping[str, Shape], outputs: Mapping[str, Shape]) -> bytes:
        """The file's bytes, for a network that takes and gives these."""
        graph = [
            *(_bytes(1, node) for node in self._nodes),
            _text(2, "network"),
            *itertools.chain.from_iterable(self._constants),
            *(_bytes(11, _value(name, shape)) for name, shape in inputs.items()),
            *(_bytes(12, _value(name, shape)) for name, shape in outputs.items()),
        ]
        sets = (_text(1, domain) + _number(2, 1 if domain else self._operators) for domain in sorted(self._domains))
        return b"".join([_number(1, IR_VERSION), *_framed(7, graph), *(_bytes(8, one) for one in sets)])


def _attribute(name: str, value: Attribute) -> bytes:
    if isinstance(value, float):
        return _text(1, name) + _varint(2 << 3 | _FOUR_BYTES) + struct.pack("<f", value) + _number(20, _REAL)
    if isinstance(value, int):
        return _text(1, name) + _number(3, value) + _number(20, _WHOLE)
    return _text(1, name) + b"".join(_number(8, one) for one in value) + _number(20, _WHOLES)


def _value(name: str, shape: Shape) -> bytes:
    sides = (_number(1, side) if isinstance(side, int) else _text(2, side) for side in shape)
    tensor = _number(1, _TYPES["float32"]) + _bytes(2, b"".join(_bytes(1, side) for side in sides))
    return _text(1, name) + _bytes(2, _bytes(1, tensor))


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _text(field: int, value: str) -> bytes:
    return _bytes(field, value.encode())


def _bytes(field: int, value: bytes) -> bytes:
    return b"".join(_framed(field, [value]))


def _framed(field: int, parts: list[bytes]) -> list[bytes]:
    """A value in parts, with what stands before it; joined by the caller, so that large ones are copied once."""
    return [_varint(field << 3 | 2) + _varint(sum(map(len, parts))), *parts]


def _varint(value: int) -> bytes:
    if value < 0:
        value += 1 << 64
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*out, value))
