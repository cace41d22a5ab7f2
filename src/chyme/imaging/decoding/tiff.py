"""The directories of a TIFF, read without trusting any number in them."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import BinaryIO

DIRECTORIES = 64  # more are not looked at
ENTRIES = 1000
NUMBERS = 64  # longer lists are of no use here
WIDTH, HEIGHT, COMPRESSION, STRIP, STRIP_BYTES, SUBS, JPEG, JPEG_BYTES = 256, 257, 259, 273, 279, 330, 513, 514
_WIDTHS = {1: "B", 3: "H", 4: "I", 13: "I"}

Tags = dict[int, tuple[int, ...]]


def directories(stream: BinaryIO) -> Iterator[Tags]:
    """The whole numbers of every directory by tag, the first page's first, then those inside and after it."""
    stream.seek(0)
    head = stream.read(8)
    if len(head) < 8 or head[:4] not in (b"II*\x00", b"MM\x00*"):
        return
    order = "<" if head[:2] == b"II" else ">"
    waiting: list[int] = [struct.unpack_from(order + "I", head, 4)[0]]
    seen: set[int] = set()
    while waiting and len(seen) < DIRECTORIES:
        at = waiting.pop()
        if not at or at in seen:
            continue
        seen.add(at)
        tags, following = _directory(stream, order, at)
        waiting += [following, *tags.get(SUBS, ())]
        yield tags


def tiff_size(stream: BinaryIO) -> tuple[int, int] | None:
    """Width and height as stored, of the first page."""
    first = next(directories(stream), {})
    if first.get(WIDTH) and first.get(HEIGHT):
        return first[WIDTH][0], first[HEIGHT][0]
    return None


def _directory(stream: BinaryIO, order: str, at: int) -> tuple[Tags, int]:
    """The whole numbers in one directory by tag, and where the next directory stands."""
    stream.seek(at)
    count_bytes = stream.read(2)
    if len(count_bytes) < 2:
        return {}, 0
    count = min(struct.unpack(order + "H", count_bytes)[0], ENTRIES)
    table = stream.read(count * 12 + 4)
    tags: Tags = {}
    for place in range(0, min(count * 12, len(table) - 11), 12):
        tag, kind, number = struct.unpack_from(order + "HHI", table, place)
        if kind not in _WIDTHS or not 1 <= number <= NUMBERS:
            continue
        shape = f"{order}{number}{_WIDTHS[kind]}"
        data = table[place + 8 : place + 12]
        if struct.calcsize(shape) > 4:
            stream.seek(struct.unpack(order + "I", data)[0])
            data = stream.read(struct.calcsize(shape))
        if len(data) >= struct.calcsize(shape):
            tags[tag] = struct.unpack_from(shape, data)
    following = struct.unpack_from(order + "I", table, count * 12)[0] if len(table) >= count * 12 + 4 else 0
    return tags, following
