"""What every reader of an archive returns: its files in order, each readable until the next one is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from chyme.text.decoding import clean, decode

PATH_CHARS = 500


class DamagedArchive(Exception):
    """The archive ends too early or contradicts itself from here on."""


class EncryptedArchive(Exception):
    """Even the names of its files need a password."""


class UnpackLimit(Exception):
    """Unpacking further would go beyond a limit; the message says which."""


@dataclass(frozen=True, slots=True)
class Member:
    """One file in an archive. Its path is only shown, never used to write anything."""

    path: str
    size: int | None  # bytes unpacked, as the archive claims
    remark: str = ""  # why it cannot be read: encrypted, a link …
    read: Callable[[int], bytes] | None = None  # the next bytes, at most so many; None if it cannot be read


class ArchiveReader(Protocol):
    """Yields the files of an archive. Raises DamagedArchive or UnpackLimit where it must end early."""

    def __iter__(self) -> Iterator[Member]: ...


def display_path(raw: bytes | str) -> str:
    """A path as the archive spells it, on one line and not too long; the encoding is detected if it is not UTF-8."""
    text = decode(raw[: 4 * PATH_CHARS], 4 * PATH_CHARS).text if isinstance(raw, bytes) else clean(raw)
    line = " ".join(text.replace("\\", "/").split())
    return line if len(line) <= PATH_CHARS else f"{line[:PATH_CHARS]}…"
