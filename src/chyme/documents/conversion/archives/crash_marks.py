"""Remember which file of an archive was being read when the process died, for the next attempt."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

PREFIX = "archive-member-"


class CrashMarks:
    """Marks in the scratch folder, named by the number of the file; names from the archive are never written."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._crashed = frozenset(path.name for path in folder.glob(f"{PREFIX}*")) if folder else frozenset()

    def has_crashed(self, number: int) -> bool:
        """Whether an earlier attempt ended while it read this file."""
        return f"{PREFIX}{number}" in self._crashed

    @contextlib.contextmanager
    def mark(self, number: int) -> Iterator[None]:
        """Mark the file while it is read."""
        if self._folder is None:
            yield
            return
        path = self._folder / f"{PREFIX}{number}"
        path.touch()
        try:
            yield
        finally:
            path.unlink(missing_ok=True)
