"""Messages between chyme and its children: a JSON header and the bytes it describes.

Small content is part of the message ("inline"); larger content is a file in the scratch folder ("spilled").
"""

from __future__ import annotations

import json
import os
import stat
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Protocol

SIZES = struct.Struct("!II")
MAX_HEADER = 4 << 20
MAX_INLINE = 64 << 10  # larger content travels as a file
ANSWER, INPUT = ".answer", ".input"  # the names of such files

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
    head = encode_header(header)
    if len(head) > MAX_HEADER or len(bulk) > MAX_INLINE:
        raise BadFrame(f"a frame of {len(head)} + {len(bulk)} bytes is too large")
    return SIZES.pack(len(head), len(bulk)) + head + bulk


def encode_header(header: dict[str, object]) -> bytes:
    return _encode_json(header).encode()


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


class Bulk(Protocol):
    """The bytes that belong to a header. They are read once and in order, so nothing can be requested twice."""

    def take(self, size: int) -> bytes: ...


class InlineBulk:
    """Bulk inside the frame."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._position = 0

    def take(self, size: int) -> bytes:
        start, self._position = self._position, self._position + size
        if self._position > len(self._data):
            raise BadFrame("the frame holds less than its header says")
        return self._data[start : self._position]


class FileBulk:
    """Bulk in an open file."""

    def __init__(self, fd: int, size: int) -> None:
        self._fd = fd
        self._size = size
        self._position = 0

    def take(self, size: int) -> bytes:
        if size > self._size - self._position:
            raise BadFrame("the file holds less than its header says")
        pieces = []
        while size:
            piece = os.pread(self._fd, size, self._position)
            if not piece:
                raise BadFrame("the file ended early")
            pieces.append(piece)
            size -= len(piece)
            self._position += len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def write_spill_file(bulk: list[bytes], scratch: int, name: str) -> int:
    """Write these bytes to a new file, which stays open. The folder may hold traps; an existing name is not
    followed."""
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(name, flags, 0o600, dir_fd=scratch)
    try:
        for data in bulk:
            view = memoryview(data)
            while view:
                view = view[os.write(fd, view) :]
    except BaseException:
        os.close(fd)
        remove_spill_file(scratch, name)
        raise
    return fd


def remove_spill_file(scratch: int, name: str) -> None:
    """Remove a file that an earlier attempt left behind."""
    with suppress(FileNotFoundError, IsADirectoryError):
        os.unlink(name, dir_fd=scratch)


@contextmanager
def open_answer(scratch: int, size: int) -> Iterator[FileBulk]:
    """Open a child's large answer without trusting the child, and remove it afterwards."""
    fd = os.open(ANSWER, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=scratch)
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1 or status.st_size != size:
            raise BadFrame("its answer is not the file it announced")
        yield FileBulk(fd, size)
    finally:
        os.close(fd)
        remove_spill_file(scratch, ANSWER)
