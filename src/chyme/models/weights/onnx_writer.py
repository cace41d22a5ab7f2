"""Write ONNX files by hand, so that onnxruntime can run a network without any conversion tool.

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

IR_VERSION, OPERATORS = 6, 11  # versions of the format and of the operator set
_TYPES = {"float32": 1, "uint8": 2, "int8": 3, "int64": 7}
_FOUR_BYTES = 5  # the wire type of a float
_FLOAT, _INT, _STRING, _INTS = 1, 2, 3, 7  # types of attributes

Attribute = float | int | str | Sequence[int]
Shape = Sequence[int | str]  # a dimension of variable length has a name


class OnnxFile:
    """A network assembled operator by operator."""

    def __init__(self, operators: int = OPERATORS) -> None:
        """Takes the version of the operator set."""
        self._operators = operators
        self._nodes: list[bytes] = []
        self._constants: list[list[bytes]] = []
        self._domains = {""}

    def add(self, operator: str, *inputs: str, **attributes: Attribute) -> str:
        """Add an operator and return its output's name; one outside ONNX is prefixed by its domain and a dot."""
        return self.add_several(operator, inputs, 1, **attributes)[0]

    def add_several(self, operator: str, inputs: Sequence[str], outputs: int, **attributes: Attribute) -> list[str]:
        """Add an operator and return the names of all its outputs."""
        domain, _, kind = operator.rpartition(".")
        self._domains.add(domain)
        output_names = [f"{kind}{len(self._nodes)}.{number}" for number in range(outputs)]
        self._nodes.append(
            b"".join(_text(1, name) for name in inputs)
            + b"".join(_text(2, name) for name in output_names)
            + _text(4, kind)
            + b"".join(_bytes(5, _attribute(name, value)) for name, value in attributes.items())
            + _text(7, domain)
        )
        return output_names

    def constant(self, values: Array) -> str:
        """Store a tensor in the file and return its name."""
        name = f"constant{len(self._constants)}"
        kind = _number(2, _TYPES[str(values.dtype)])
        shape = b"".join(_number(1, length) for length in values.shape)
        self._constants.append(_framed(5, [shape + kind + _text(8, name), *_framed(9, [values.tobytes()])]))
        return name

    def int_constant(self, *values: int) -> str:
        """Store whole numbers in the file, as many operators expect them, and return their name."""
        import numpy

        return self.constant(numpy.array(values, numpy.int64))

    def data(self, inputs: Mapping[str, Shape], outputs: Mapping[str, Shape]) -> bytes:
        """The file's bytes, for a network with these inputs and outputs."""
        graph = [
            *(_bytes(1, node) for node in self._nodes),
            _text(2, "network"),
            *itertools.chain.from_iterable(self._constants),
            *(_bytes(11, _value(name, shape)) for name, shape in inputs.items()),
            *(_bytes(12, _value(name, shape)) for name, shape in outputs.items()),
        ]
        operator_sets = (
            _text(1, domain) + _number(2, 1 if domain else self._operators) for domain in sorted(self._domains)
        )
        return b"".join(
            [_number(1, IR_VERSION), *_framed(7, graph), *(_bytes(8, operator_set) for operator_set in operator_sets)]
        )


def _attribute(name: str, value: Attribute) -> bytes:
    if isinstance(value, float):
        return _text(1, name) + _varint(2 << 3 | _FOUR_BYTES) + struct.pack("<f", value) + _number(20, _FLOAT)
    if isinstance(value, int):
        return _text(1, name) + _number(3, value) + _number(20, _INT)
    if isinstance(value, str):
        return _text(1, name) + _text(4, value) + _number(20, _STRING)
    return _text(1, name) + b"".join(_number(8, number) for number in value) + _number(20, _INTS)


def _value(name: str, shape: Shape) -> bytes:
    dimensions = (_number(1, dimension) if isinstance(dimension, int) else _text(2, dimension) for dimension in shape)
    tensor = _number(1, _TYPES["float32"]) + _bytes(2, b"".join(_bytes(1, dimension) for dimension in dimensions))
    return _text(1, name) + _bytes(2, _bytes(1, tensor))


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _text(field: int, value: str) -> bytes:
    return _bytes(field, value.encode())


def _bytes(field: int, value: bytes) -> bytes:
    return b"".join(_framed(field, [value]))


def _framed(field: int, parts: list[bytes]) -> list[bytes]:
    """A length-delimited field in parts; the caller joins them, so that large ones are copied only once."""
    return [_varint(field << 3 | 2) + _varint(sum(map(len, parts))), *parts]


def _varint(value: int) -> bytes:
    if value < 0:
        value += 1 << 64
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*out, value))
