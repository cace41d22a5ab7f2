"""One piece of work for a child, and the file's bytes that go with it."""

from __future__ import annotations

import io
import os
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from chyme.digester import Calls, Outside
from chyme.errors import UnreadableFile, UsageError
from chyme.model import File, Upstream

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

MAX_BATCH_TASKS = 32  # tasks that one child is given at once: each comes with two descriptors, and 253 can be passed on


@dataclass(frozen=True)
class Task:
    """A digester to run on a file. The descriptor belongs to the caller and is never closed here."""

    digester: str
    file: File
    fd: int | None
    inputs: tuple[Upstream, ...]
    scratch: Path  # exists, and is this task's alone

    def open(self) -> BinaryIO:
        """The file's bytes, from the beginning."""
        if self.fd is None:
            raise UnreadableFile(f"{self.file.path}: there are no bytes to read; is the file still there?")
        return io.BufferedReader(_FromStart(os.dup(self.fd)))

    def output(self, name: str) -> Upstream | None:
        """A completed output the digester declared in `reads`."""
        return next((upstream for upstream in self.inputs if upstream.name == name), None)

    def progress(self, fraction: float) -> None:
        """Nobody watches here."""

    def connect(self, host: str, port: int, polite: bool = False) -> socket.socket:
        """A connection from the guard, for digesters that go out where there is a door."""
        return self._outside().connect(host, port, polite)

    def hold(self, host: str, seconds: float) -> None:
        """A pause that the host asked for, told to the guard."""
        self._outside().hold(host, seconds)

    @property
    def calls(self) -> Calls:
        """Through whom models are asked."""
        raise UsageError(f"{self.digester} asks a model where there is no network")

    def _outside(self) -> Outside:
        raise UsageError(f"{self.digester} does not go out; only digesters that say so, in a family with a door, do")


@dataclass(frozen=True)
class WatchedTask(Task):
    """A task whose progress somebody hears of."""

    report: Callable[[float], None]
    outside: Outside | None = None
    asking: Calls | None = None

    def progress(self, fraction: float) -> None:
        self.report(fraction)

    @property
    def calls(self) -> Calls:
        return self.asking or super().calls

    def _outside(self) -> Outside:
        return self.outside or super()._outside()


class _FromStart(io.RawIOBase):
    """A file with a position of its own: a duplicated descriptor shares one with everybody else."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._fd

    def readinto(self, buffer: WriteableBuffer) -> int:
        count = os.preadv(self._fd, [buffer], self._at)
        self._at += count
        return count

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        origin = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: os.fstat(self._fd).st_size}[whence]
        if origin + offset < 0:
            raise OSError(22, "a position before the beginning")
        self._at = origin + offset
        return self._at

    def tell(self) -> int:
        return self._at

    def close(self) -> None:
        if not self.closed:
            os.close(self._fd)
        super().close()
