"""Camera raw files: the finished JPEG that the camera put inside, the largest there is."""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from typing import BinaryIO

from chyme.imaging.decoding.tiff import COMPRESSION, JPEG, JPEG_BYTES, STRIP, STRIP_BYTES, directories

PREVIEW_BYTES = 64 << 20
CR3_HEAD = 4 << 20  # Canon's previews stand before the raw data


def previews(stream: BinaryIO) -> Iterator[BinaryIO]:
    """The JPEGs inside, largest first; some may be the raw data itself, which no JPEG decoder reads."""
    stream.seek(0)
    start = stream.read(16)
    places = _in_boxes(stream) if start[4:8] == b"ftyp" else _in_directories(stream)
    for at, length in sorted(set(places), key=lambda place: -place[1]):
        stream.seek(at)
        data = stream.read(min(length, PREVIEW_BYTES))
        if data.startswith(b"\xff\xd8\xff"):
            yield io.BytesIO(data)


def _in_boxes(stream: BinaryIO) -> Iterator[tuple[int, int]]:
    stream.seek(0)
    head = stream.read(CR3_HEAD)
    for mark in (b"PRVW", b"THMB"):
        at = head.find(mark)
        start = head.find(b"\xff\xd8\xff", at, at + 64) if at >= 4 else -1
        if start > 0:
            end = at - 4 + int(struct.unpack_from(">I", head, at - 4)[0])
            yield start, max(0, end - start)


def _in_directories(stream: BinaryIO) -> Iterator[tuple[int, int]]:
    for tags in directories(stream):
        if tags.get(JPEG) and tags.get(JPEG_BYTES):
            yield tags[JPEG][0], tags[JPEG_BYTES][0]
        strips = tags.get(STRIP, ()), tags.get(STRIP_BYTES, ())
        if tags.get(COMPRESSION, (0,))[0] in (6, 7) and len(strips[0]) == len(strips[1]) == 1:
            yield strips[0][0], strips[1][0]
