"""Which files no model may see: those that .chymeprivate names (gitignore syntax), in the vault's folder."""

from __future__ import annotations

import threading
from pathlib import Path

import pathspec

FILE_NAME = ".chymeprivate"


class PrivateFiles:
    """Asked before every call of a model. The patterns are read again whenever their file changes."""

    def __init__(self, root: Path) -> None:
        self._path = root / FILE_NAME
        self._guard = threading.Lock()
        self._seen: tuple[int, int, int] | None = None
        self._spec: pathspec.GitIgnoreSpec | None = None

    def __call__(self, path: str) -> bool:
        """Whether the file at this path, or a folder above it, is private. All are while nobody can tell."""
        with self._guard:
            try:
                self._look_again()
            except OSError:
                return True
            return self._spec is not None and self._spec.match_file(path)

    @property
    def patterns(self) -> int:
        """How many patterns there are, for people."""
        with self._guard:
            try:
                self._look_again()
            except OSError:
                return 0
            return sum(pattern.include is not None for pattern in self._spec.patterns) if self._spec else 0

    def _look_again(self) -> None:
        try:
            found = self._path.stat()
        except FileNotFoundError:
            self._seen = self._spec = None
            return
        seen = (found.st_ino, found.st_size, found.st_mtime_ns)
        if seen != self._seen:
            lines = self._path.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
            self._spec = pathspec.GitIgnoreSpec.from_lines(lines)
            self._seen = seen
