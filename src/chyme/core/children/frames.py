"""Messages between chyme and its children: a JSON header and the bytes it speaks of."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass

SIZES = struct.Struct("!II")
MAX_HEADER = 4 << 20
MAX_INLINE = 64 << 10  # more than this travels as a file

_write = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


class BadFrame(Exception):
    """What came is not a frame, or is larger than a frame may be."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One message. `bulk` holds the values whose sizes the header gives, one after the other."""

    header: dict[str, object]
    bulk: bytes = b""


def pack(header: dict[str, object], bulk: bytes = b"") -> bytes:
    """The message as it goes over the socket."""
    head = _write(header).encode()
    if len(head) > MAX_HEADER or len(bulk) > MAX_INLINE:
        raise BadFrame(f"a frame of {len(head)} + {len(bulk)} bytes is too large")
    return SIZES.pack(len(head), len(bulk)) + head + bulk


class Inbox:
    """Puts frames together from whatever pieces arrive."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> None:
        self._buffer += data

    def next(self) -> Frame | None:
        """The next whole frame, or None until more has arrived."""
        if len(self._buffer) < SIZES.size:
            return None
        head, bulk = SIZES.unpack_from(self._buffer)
        if head > MAX_HEADER or bulk > MAX_INLINE:
            raise BadFrame(f"a frame of {head} + {bulk} bytes was announced")
        middle, end = SIZES.size + head, SIZES.size + head + bulk
        if len(self._buffer) < end:
            return None
        frame = Frame(parse(bytes(self._buffer[SIZES.size : middle])), bytes(self._buffer[middle:end]))
        del self._buffer[:end]
        return frame


def parse(text: bytes) -> dict[str, object]:
    """A JSON object from somebody we do not trust."""
    try:
        value = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise BadFrame("not JSON") from error
    if not isinstance(value, dict):
        raise BadFrame("not a JSON object")
    return value


def _refuse(name: str) -> object:
    raise ValueError(name)
