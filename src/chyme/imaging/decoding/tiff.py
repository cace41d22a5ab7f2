"""Reads the directories of a TIFF without trusting any number in them."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import BinaryIO

DIRECTORIES = 64  # more are not read
ENTRIES = 1000
NUMBERS = 64  # longer lists are of no use here
WIDTH, HEIGHT, COMPRESSION, STRIP, STRIP_BYTES, SUBS, JPEG, JPEG_BYTES = 256, 257, 259, 273, 279, 330, 513, 514
_NUMBER_FORMATS = {1: "B", 3: "H", 4: "I", 13: "I"}

Tags = dict[int, tuple[int, ...]]


def directories(stream: BinaryIO) -> Iterator[Tags]:
    """The integers of every directory by tag: the first page, then the directories inside and after it."""
    stream.seek(0)
    head = stream.read(8)
    if len(head) < 8 or head[:4] not in (b"II*\x00", b"MM\x00*"):
        return
    order = "<" if head[:2] == b"II" else ">"
    pending: list[int] = [struct.unpack_from(order + "I", head, 4)[0]]
    seen: set[int] = set()
    while pending and len(seen) < DIRECTORIES:
        offset = pending.pop()
        if not offset or offset in seen:
            continue
        seen.add(offset)
        tags, next_offset = _read_directory(stream, order, offset)
        pending += [next_offset, *tags.get(SUBS, ())]
        yield tags


def tiff_size(stream: BinaryIO) -> tuple[int, int] | None:
    """Width and height as stored, of the first page."""
    first = next(directories(stream), {})
    if first.get(WIDTH) and first.get(HEIGHT):
        return first[WIDTH][0], first[HEIGHT][0]
    return None


def _read_directory(stream: BinaryIO, order: str, offset: int) -> tuple[Tags, int]:
    """The integers in one directory by tag, and the offset of the next directory."""
    stream.seek(offset)
    count_bytes = stream.read(2)
    if len(count_bytes) < 2:
        return {}, 0
    count = min(struct.unpack(order + "H", count_bytes)[0], ENTRIES)
    table = stream.read(count * 12 + 4)
    tags: Tags = {}
    for entry in range(0, min(count * 12, len(table) - 11), 12):
        tag, kind, number = struct.unpack_from(order + "HHI", table, entry)
        if kind not in _NUMBER_FORMATS or not 1 <= number <= NUMBERS:
            continue
        number_format = f"{order}{number}{_NUMBER_FORMATS[kind]}"
        data = table[entry + 8 : entry + 12]
        if struct.calcsize(number_format) > 4:
            stream.seek(struct.unpack(order + "I", data)[0])
            data = stream.read(struct.calcsize(number_format))
        if len(data) >= struct.calcsize(number_format):
            tags[tag] = struct.unpack_from(number_format, data)
    next_offset = struct.unpack_from(order + "I", table, count * 12)[0] if len(table) >= count * 12 + 4 else 0
    return tags, next_offset
