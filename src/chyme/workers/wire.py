"""Messages between a coordinator and its workers: a JSON header and the bytes it describes.

Both sides check everything they read: a worker may be hostile, and so may a process that pretends to be a coordinator.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from chyme.core.children.frames import BadFrame, encode_header, parse

WIRE = 1  # increase it when messages change: workers that speak another version get no work
PIECE = 256 << 10  # bytes of a file, of inputs or of an answer in one message
MAX_HEADER = 512 << 10
MAX_MESSAGE = 1 << 20  # what NATS carries unless it is configured otherwise

_SIZE = struct.Struct("!I")
_TOKEN = re.compile(r"[A-Za-z0-9_-]{1,128}")


@dataclass(frozen=True, slots=True)
class Message:
    """What was received. Its values are checked where they are read."""

    header: Mapping[str, object]
    bulk: bytes = b""

    @property
    def kind(self) -> str:
        return self.text("kind")

    def text(self, name: str, longest: int = 1000) -> str:
        value = self.header.get(name)
        if not isinstance(value, str) or len(value) > longest:
            raise BadFrame(f"{name} is not a text")
        return value

    def token(self, name: str) -> str:
        """A text that may be part of a subject."""
        value = self.text(name)
        if not is_token(value):
            raise BadFrame(f"{name} is not a name")
        return value

    def integer(self, name: str, most: int = 1 << 50) -> int:
        value = self.header.get(name)
        if type(value) is not int or not 0 <= value <= most:
            raise BadFrame(f"{name} is not a number, or out of range")
        return value

    def number(self, name: str) -> float:
        value = self.header.get(name)
        if type(value) not in (int, float) or not math.isfinite(value):  # type: ignore[arg-type]
            raise BadFrame(f"{name} is not a number")
        return float(value)  # type: ignore[arg-type]

    def flag(self, name: str) -> bool:
        return self.header.get(name) is True

    def rows(self, name: str, most: int = 10_000) -> list[Any]:
        value = self.header.get(name)
        if not isinstance(value, list) or len(value) > most:
            raise BadFrame(f"{name} is not a list, or too long")
        return value

    def texts(self, name: str) -> dict[str, str]:
        """A mapping of texts to texts."""
        value = self.header.get(name)
        if not isinstance(value, dict) or len(value) > 1000:
            raise BadFrame(f"{name} is not a mapping")
        if not all(isinstance(text, str) and len(text) <= 1000 for text in value.values()):
            raise BadFrame(f"{name} holds something that is not a text")
        return dict(value)


def pack_message(header: dict[str, object], bulk: bytes = b"") -> bytes:
    head = encode_header(header)
    if len(head) > MAX_HEADER or _SIZE.size + len(head) + len(bulk) > MAX_MESSAGE:
        raise BadFrame(f"a message of {len(head)} + {len(bulk)} bytes is too large")
    return _SIZE.pack(len(head)) + head + bulk


def read_message(data: bytes) -> Message:
    """Raises BadFrame for anything else than a message."""
    if len(data) < _SIZE.size:
        raise BadFrame("a message without a header")
    (size,) = _SIZE.unpack_from(data)
    if size > MAX_HEADER or size > len(data) - _SIZE.size:
        raise BadFrame("a header that is longer than the message")
    middle = _SIZE.size + size
    return Message(parse(data[_SIZE.size : middle]), data[middle:])


def is_token(text: str) -> bool:
    """Whether this may be a part of a subject: the name of a vault, of a coordinator or of a worker."""
    return _TOKEN.fullmatch(text) is not None


def want_subject(vault: str) -> str:
    """Where the coordinator of a vault says what it has to do."""
    return f"chyme.{vault}.want"


def ask_subject(vault: str, coordinator: str, worker: str) -> str:
    """Where a worker asks one coordinator. Only this worker may publish there, so its name need not be proved again."""
    return f"chyme.{vault}.ask.{coordinator}.{worker}"


def give_subject(vault: str, worker: str, instance: str) -> str:
    """Where a coordinator asks one process of a worker."""
    return f"chyme.{vault}.give.{worker}.{instance}"
