"""What headers tell where no library tells it before decoding."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import BinaryIO

BOXES = 10_000  # a real file has a dozen at the top
TAIL = 1 << 16  # some programs write a little behind the end
_RATIOS = {1: (1, 1), 2: (12, 10), 3: (4, 3), 4: (3, 2), 5: (16, 9), 6: (5, 4), 7: (2, 1)}


def boxes(stream: BinaryIO, size: int) -> Iterator[tuple[bytes, int, int]]:
    """Type, start of the content and end of each top-level box of HEIC, AVIF, JPEG XL; an end may lie past the file."""
    at = 0
    for _ in range(BOXES):
        stream.seek(at)
        head = stream.read(16)
        if len(head) < 8:
            return
        length, kind = struct.unpack_from(">I4s", head)
        start = at + 8
        if length == 1 and len(head) == 16:
            length, start = struct.unpack_from(">Q", head, 8)[0], at + 16
        elif length == 0:
            length = size - at
        if at + length < start:
            return
        yield kind, start, at + length
        at += length


def ends_early(stream: BinaryIO, size: int) -> bool:
    """Whether a PNG, a JPEG or a file made of boxes lacks its end."""
    stream.seek(0)
    start = stream.read(8)
    if start[4:] in (b"ftyp", b"JXL "):
        return any(end > size for _, _, end in boxes(stream, size))
    mark = {b"\x89PNG": b"IEND", b"\xff\xd8\xff": b"\xff\xd9"}.get(start[:4] if start[:1] == b"\x89" else start[:3])
    stream.seek(max(0, size - TAIL))
    return mark is not None and mark not in stream.read(TAIL)


def jxl_size(stream: BinaryIO, size: int) -> tuple[int, int] | None:
    """Width and height of a JPEG XL as its header tells; None when there is no such header."""
    stream.seek(0)
    start = stream.read(32)
    if start.startswith(b"\xff\x0a"):
        return _jxl_size(start)
    for kind, at, _ in boxes(stream, size):
        if kind in (b"jxlc", b"jxlp"):
            stream.seek(at + (4 if kind == b"jxlp" else 0))  # a part begins with its number
            return _jxl_size(stream.read(32))
    return None


def _jxl_size(codestream: bytes) -> tuple[int, int] | None:
    if not codestream.startswith(b"\xff\x0a") or len(codestream) < 14:
        return None
    rest = int.from_bytes(codestream[2:14], "little")

    def bits(count: int) -> int:
        nonlocal rest
        value = rest & ((1 << count) - 1)
        rest >>= count
        return value

    small = bits(1)

    def side() -> int:
        return (bits(5) + 1) * 8 if small else bits((9, 13, 18, 30)[bits(2)]) + 1

    height = side()
    ratio = bits(3)
    if not ratio:
        return side(), height
    across, down = _RATIOS[ratio]
    return height * across // down, height
