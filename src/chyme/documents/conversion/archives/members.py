"""What every reader of an archive returns: its files in order, each readable until the next one is asked for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from chyme.text.decoding import clean, decode

PATH_CHARS = 500
MOST_RECORDS = 100_000  # folders, comments and other records that are no files: no archive hides behind more
_DIRECTION_MARKS = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_MARKUP = re.compile(r"[*`\[\]<>~&|\\]|(?<![^\W_])_|_(?![^\W_])")


class DamagedArchive(Exception):
    """The archive ends too early or contradicts itself from here on."""


class EncryptedArchive(Exception):
    """Even the names of its files need a password."""


class UnpackLimit(Exception):
    """Unpacking further would go beyond a limit; the message says which."""


class OutOfReach(Exception):
    """Too much must be unpacked before this file; others can still be read."""


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
    line = " ".join(_DIRECTION_MARKS.sub("", text).replace("\\", "/").split())
    return line if len(line) <= PATH_CHARS else f"{line[:PATH_CHARS]}…"


def path_in_markdown(path: str) -> str:
    """A path that reads as it is spelled: as code, where Markdown would take part of it for markup (`__init__.py`)."""
    if not _MARKUP.search(path):
        return path
    return f"`{path}`" if "`" not in path else f"`` {path} ``" if "``" not in path else path.replace("`", "'")


def check_record_count(count: int) -> None:
    """Raise UnpackLimit if an archive has this many records and still goes on."""
    if count > MOST_RECORDS:
        raise UnpackLimit(f"only its first {MOST_RECORDS:,} folders and other records are examined; unpack it")
