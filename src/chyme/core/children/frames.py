"""Messages between chyme and its children: a JSON header and the bytes it describes."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass

SIZES = struct.Struct("!II")
MAX_HEADER = 4 << 20
MAX_INLINE = 64 << 10  # larger content travels as a file

_encode_json = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


class BadFrame(Exception):
    """The received data is not a frame, or is larger than a frame may be."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One message. `bulk` holds the values whose sizes the header gives, in order."""

    header: dict[str, object]
    bulk: bytes = b""


def pack(header: dict[str, object], bulk: bytes = b"") -> bytes:
    """The message as it is sent over the socket."""
    head = _encode_json(header).encode()
    if len(head) > MAX_HEADER or len(bulk) > MAX_INLINE:
        raise BadFrame(f"a frame of {len(head)} + {len(bulk)} bytes is too large")
    return SIZES.pack(len(head), len(bulk)) + head + bulk


class Inbox:
    """Assembles frames from the pieces that arrive."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> None:
        self._buffer += data

    def next(self) -> Frame | None:
        """The next complete frame, or None until more data arrives."""
        if len(self._buffer) < SIZES.size:
            return None
        head_size, bulk_size = SIZES.unpack_from(self._buffer)
        if head_size > MAX_HEADER or bulk_size > MAX_INLINE:
            raise BadFrame(f"a frame of {head_size} + {bulk_size} bytes was announced")
        middle, end = SIZES.size + head_size, SIZES.size + head_size + bulk_size
        if len(self._buffer) < end:
            return None
        frame = Frame(parse(bytes(self._buffer[SIZES.size : middle])), bytes(self._buffer[middle:end]))
        del self._buffer[:end]
        return frame


def parse(text: bytes) -> dict[str, object]:
    """Parse a JSON object from an untrusted sender."""
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise BadFrame("not JSON") from error
    if not isinstance(value, dict):
        raise BadFrame("not a JSON object")
    return value


def _refuse_constant(name: str) -> object:
    raise ValueError(name)
