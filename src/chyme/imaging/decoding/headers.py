"""Reads from headers what no library reports before decoding."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import BinaryIO

BOXES = 10_000  # a real file has a dozen at the top level
TAIL = 1 << 16  # some programs write a little after the end
_RATIOS = {1: (1, 1), 2: (12, 10), 3: (4, 3), 4: (3, 2), 5: (16, 9), 6: (5, 4), 7: (2, 1)}


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
