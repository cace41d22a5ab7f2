"""Parse protocol buffers: fields of a number and a value, in the order they were written.

Nothing is copied: a view into a mapped file stays one. The package `protobuf` copies what it reads, and would need the
descriptions of ONNX and SentencePiece, which come with `onnx` and `sentencepiece`.
"""

from __future__ import annotations

from collections.abc import Iterator

_VARINT, _EIGHT, _BYTES, _FOUR = 0, 1, 2, 5  # wire types
_MAX_VARINT_BYTES = 10  # bytes of a varint


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
