"""Walking through protocol buffers: fields of a number and a value, in the order they were written.

Nothing is copied: a view into a mapped file stays one.
"""

from __future__ import annotations

from collections.abc import Iterator

_VARINT, _EIGHT, _BYTES, _FOUR = 0, 1, 2, 5  # wire types
_LONGEST = 10  # bytes of a number


def fields(message: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Each field's number and its value, ValueError when these are no such fields.

    Numbers written in full come as their bytes, as do texts and messages within.
    """
    place = 0
    while place < len(message):
        key, place = _number(message, place)
        kind = key & 7
        if kind == _VARINT:
            value, place = _number(message, place)
            yield key >> 3, value
            continue
        if kind == _BYTES:
            size, place = _number(message, place)
        elif kind in (_EIGHT, _FOUR):
            size = 8 if kind == _EIGHT else 4
        else:
            raise ValueError(f"no field of a protocol buffer is of kind {kind}")
        if place + size > len(message):
            raise ValueError("a field reaches beyond the end")
        yield key >> 3, message[place : place + size]
        place += size


def messages(message: memoryview, number: int) -> Iterator[memoryview]:
    """The values of every field of that number that are texts, bytes or messages."""
    return (value for found, value in fields(message) if found == number and isinstance(value, memoryview))


def numbers(packed: memoryview) -> list[int]:
    """Whole numbers that were written one after the other in one field."""
    found, place = [], 0
    while place < len(packed):
        value, place = _number(packed, place)
        found.append(value)
    return found


def _number(message: memoryview, place: int) -> tuple[int, int]:
    if place < len(message) and message[place] < 0x80:  # most are so small
        return message[place], place + 1
    value = 0
    for count, byte in enumerate(message[place : place + _LONGEST]):
        value |= (byte & 0x7F) << 7 * count
        if byte < 0x80:
            return value, place + count + 1
    raise ValueError("a number has no end")
