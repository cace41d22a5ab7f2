"""Finds the JPEG previews that a camera put into its raw files."""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from typing import BinaryIO

from chyme.imaging.decoding.headers import COMPRESSION, JPEG, JPEG_BYTES, STRIP, STRIP_BYTES, directories

PREVIEW_BYTES = 64 << 20
CR3_HEAD = 4 << 20  # Canon's previews come before the raw data


def previews(stream: BinaryIO) -> Iterator[BinaryIO]:
    """The JPEGs inside, largest first; some may be the raw data itself, which no JPEG decoder reads."""
    stream.seek(0)
    start = stream.read(16)
    ranges = _find_in_boxes(stream) if start[4:8] == b"ftyp" else _find_in_directories(stream)
    for offset, length in sorted(set(ranges), key=lambda found: -found[1]):
        stream.seek(offset)
        data = stream.read(min(length, PREVIEW_BYTES))
        if data.startswith(b"\xff\xd8\xff"):
            yield io.BytesIO(data)


def _find_in_boxes(stream: BinaryIO) -> Iterator[tuple[int, int]]:
    stream.seek(0)
    head = stream.read(CR3_HEAD)
    for box_type in (b"PRVW", b"THMB"):
        position = head.find(box_type)
        start = head.find(b"\xff\xd8\xff", position, position + 64) if position >= 4 else -1
        if start > 0:
            end = position - 4 + int(struct.unpack_from(">I", head, position - 4)[0])
            yield start, max(0, end - start)


def _find_in_directories(stream: BinaryIO) -> Iterator[tuple[int, int]]:
    for tags in directories(stream):
        if tags.get(JPEG) and tags.get(JPEG_BYTES):
            yield tags[JPEG][0], tags[JPEG_BYTES][0]
        strips = tags.get(STRIP, ()), tags.get(STRIP_BYTES, ())
        if tags.get(COMPRESSION, (0,))[0] in (6, 7) and len(strips[0]) == len(strips[1]) == 1:
            yield strips[0][0], strips[1][0]
