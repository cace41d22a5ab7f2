"""One piece of work for a child, with access to the file's bytes."""

from __future__ import annotations

import io
import os
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from chyme.digester import Calls, Outside
from chyme.errors import DigestError, UnreadableFile, UsageError
from chyme.model import File, Output, Upstream

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

MAX_BATCH_TASKS = 32  # tasks for one child at once: each needs two descriptors, and at most 253 can be passed

Answer = list[Output] | DigestError


@dataclass(frozen=True)
class Travel:
    """What is needed to run a task on another machine."""

    run_id: str
    losses: int  # how often a worker vanished while it ran this
    begin: Callable[[str, float], None]  # called with the worker's name and how many times the usual seconds it has
    is_wanted: Callable[[], bool]  # False once the result would be dropped


@dataclass(frozen=True)
class Task:
    """A digester to run on a file. The caller owns the descriptor; it is never closed here."""

    digester: str
    file: File
    fd: int | None
    inputs: tuple[Upstream, ...]
    scratch: Path  # exists, and belongs to this task alone
    report: Callable[[float], None] | None = None  # called with the progress
    outside: Outside | None = None
    model_calls: Calls | None = None
    travel: Travel | None = None  # None: it stays on this machine

    def open(self) -> BinaryIO:
        """The file's bytes, from the beginning."""
        if self.fd is None:
            raise UnreadableFile(f"{self.file.path}: there are no bytes to read; is the file still there?")
        return io.BufferedReader(_IndependentReader(os.dup(self.fd)))

    def output(self, name: str) -> Upstream | None:
        """A completed output that the digester declared in `reads`."""
        return next((upstream for upstream in self.inputs if upstream.name == name), None)

    def progress(self, fraction: float) -> None:
        if self.report is not None:
            self.report(fraction)

    def connect(self, host: str, port: int, polite: bool = False) -> socket.socket:
        """A connection from the guard, for digesters that go out, in families that allow it."""
        return self._require_outside().connect(host, port, polite)

    def hold(self, host: str, seconds: float) -> None:
        """Tell the guard about a pause that the host asked for."""
        self._require_outside().hold(host, seconds)

    @property
    def calls(self) -> Calls:
        """Access to models."""
        if self.model_calls is None:
            raise UsageError(f"{self.digester} asks a model where there is no network")
        return self.model_calls

    def _require_outside(self) -> Outside:
        if self.outside is None:
            raise UsageError(
                f"{self.digester} has no network access; only digesters with goes_out have it, "
                "in a family that allows it"
            )
        return self.outside


class _IndependentReader(io.RawIOBase):
    """A file with its own position: a duplicated descriptor shares its position with the original."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._fd

    def readinto(self, buffer: WriteableBuffer) -> int:
        count = os.preadv(self._fd, [buffer], self._position)
        self._position += count
        return count

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        origin = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: os.fstat(self._fd).st_size}[whence]
        if origin + offset < 0:
            raise OSError(22, "a position before the beginning")
        self._position = origin + offset
        return self._position

    def tell(self) -> int:
        return self._position

    def close(self) -> None:
        if not self.closed:
            os.close(self._fd)
        super().close()
