"""Reads from headers what no library reports before decoding; trusts no number in them."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import BinaryIO

BOXES = 10_000  # a real file has a dozen at the top level
TAIL = 1 << 16  # some programs write a little after the end
TIFF_DIRECTORIES = 64  # more are not read
TIFF_ENTRIES = 1000
TIFF_NUMBERS = 64  # longer lists are of no use here
WIDTH, HEIGHT, COMPRESSION, STRIP, STRIP_BYTES, SUBS, JPEG, JPEG_BYTES = 256, 257, 259, 273, 279, 330, 513, 514
_NUMBER_FORMATS = {1: "B", 3: "H", 4: "I", 13: "I"}
_RATIOS = {1: (1, 1), 2: (12, 10), 3: (4, 3), 4: (3, 2), 5: (16, 9), 6: (5, 4), 7: (2, 1)}

Tags = dict[int, tuple[int, ...]]


def boxes(stream: BinaryIO, size: int) -> Iterator[tuple[bytes, int, int]]:
    """Type, content start and end of each top-level box of HEIC, AVIF, JPEG XL; an end may lie beyond the file."""
    offset = 0
    for _ in range(BOXES):
        stream.seek(offset)
        head = stream.read(16)
        if len(head) < 8:
            return
        length, kind = struct.unpack_from(">I4s", head)
        start = offset + 8
        if length == 1 and len(head) == 16:
            length, start = struct.unpack_from(">Q", head, 8)[0], offset + 16
        elif length == 0:
            length = size - offset
        if offset + length < start:
            return
        yield kind, start, offset + length
        offset += length


def ends_early(stream: BinaryIO, size: int) -> bool:
    """Whether a PNG, a JPEG or a file made of boxes lacks its end."""
    stream.seek(0)
    start = stream.read(8)
    if start[4:] in (b"ftyp", b"JXL "):
        return any(end > size for _, _, end in boxes(stream, size))
    end_marker = {b"\x89PNG": b"IEND", b"\xff\xd8\xff": b"\xff\xd9"}.get(
        start[:4] if start[:1] == b"\x89" else start[:3]
    )
    stream.seek(max(0, size - TAIL))
    return end_marker is not None and end_marker not in stream.read(TAIL)


def jxl_size(stream: BinaryIO, size: int) -> tuple[int, int] | None:
    """Width and height of a JPEG XL from its header; None when there is no such header."""
    stream.seek(0)
    start = stream.read(32)
    if start.startswith(b"\xff\x0a"):
        return _parse_jxl_size(start)
    for kind, offset, _ in boxes(stream, size):
        if kind in (b"jxlc", b"jxlp"):
            stream.seek(offset + (4 if kind == b"jxlp" else 0))  # a part begins with its number
            return _parse_jxl_size(stream.read(32))
    return None


def _parse_jxl_size(codestream: bytes) -> tuple[int, int] | None:
    if not codestream.startswith(b"\xff\x0a") or len(codestream) < 14:
        return None
    remaining = int.from_bytes(codestream[2:14], "little")

    def read_bits(count: int) -> int:
        nonlocal remaining
        value = remaining & ((1 << count) - 1)
        remaining >>= count
        return value

    small = read_bits(1)

    def read_side() -> int:
        return (read_bits(5) + 1) * 8 if small else read_bits((9, 13, 18, 30)[read_bits(2)]) + 1

    height = read_side()
    ratio = read_bits(3)
    if not ratio:
        return read_side(), height
    across, down = _RATIOS[ratio]
    return height * across // down, height


def directories(stream: BinaryIO) -> Iterator[Tags]:
    """The integers of every directory by tag: the first page, then the directories inside and after it."""
    stream.seek(0)
    head = stream.read(8)
    if len(head) < 8 or head[:4] not in (b"II*\x00", b"MM\x00*"):
        return
    order = "<" if head[:2] == b"II" else ">"
    pending: list[int] = [struct.unpack_from(order + "I", head, 4)[0]]
    seen: set[int] = set()
    while pending and len(seen) < TIFF_DIRECTORIES:
        offset = pending.pop()
        if not offset or offset in seen:
            continue
        seen.add(offset)
        tags, next_offset = _read_tiff_directory(stream, order, offset)
        pending += [next_offset, *tags.get(SUBS, ())]
        yield tags


def tiff_size(stream: BinaryIO) -> tuple[int, int] | None:
    """Width and height as stored, of the first page."""
    first = next(directories(stream), {})
    if first.get(WIDTH) and first.get(HEIGHT):
        return first[WIDTH][0], first[HEIGHT][0]
    return None


def _read_tiff_directory(stream: BinaryIO, order: str, offset: int) -> tuple[Tags, int]:
    """The integers in one directory by tag, and the offset of the next directory."""
    stream.seek(offset)
    count_bytes = stream.read(2)
    if len(count_bytes) < 2:
        return {}, 0
    count = min(struct.unpack(order + "H", count_bytes)[0], TIFF_ENTRIES)
    table = stream.read(count * 12 + 4)
    tags: Tags = {}
    for entry in range(0, min(count * 12, len(table) - 11), 12):
        tag, kind, number = struct.unpack_from(order + "HHI", table, entry)
        if kind not in _NUMBER_FORMATS or not 1 <= number <= TIFF_NUMBERS:
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
