"""Remember which file of an archive was being read when the process died, for the next attempt."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

PREFIX = "archive-member-"
_MAX_MARK = 64  # bytes read of a mark: the scratch folder is written by children
_ENOUGH = 2


class CrashMarks:
    """Marks in the scratch folder, named by the number of the file; names from the archive are never written.

    A mark says which process started the one that died. If that one is still there, the file is to blame. If it died,
    too, as when chyme is killed, that proves nothing, unless it happens twice.
    """

    def __init__(self, folder: Path | None, starter: int | None = None) -> None:
        self._folder = folder
        self._starter = str(os.getppid() if starter is None else starter)

    def has_crashed(self, number: int) -> bool:
        """Whether earlier attempts ended because they read this file."""
        starters = self._read(number)
        return self._starter in starters or len(starters) >= _ENOUGH

    @contextlib.contextmanager
    def mark(self, number: int) -> Iterator[None]:
        """Mark the file while it is read."""
        if self._folder is None:
            yield
            return
        before = self._read(number)
        path = self._folder / f"{PREFIX}{number}"
        path.write_text(" ".join([*before, self._starter]), "ascii")
        try:
            yield
        finally:
            path.unlink(missing_ok=True)

    def _read(self, number: int) -> list[str]:
        """The processes that started those which died while they read this file."""
        if self._folder is None:
            return []
        try:
            with (self._folder / f"{PREFIX}{number}").open("rb") as stream:
                return stream.read(_MAX_MARK).decode("ascii", "replace").split()
        except OSError:
            return []
