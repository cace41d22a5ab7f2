"""Rules for the files and folders of a vault that chyme ignores."""

from __future__ import annotations

from pathlib import Path

import pathspec

FILE_NAME = ".chymeignore"
HIDDEN = (".", "~$")
PARTIAL = (".part", ".crdownload", ".partial")  # unfinished downloads; they get their final name when they are complete


class IgnoreRules:
    """Hidden names, office lock files, unfinished downloads, and the patterns of .chymeignore (gitignore syntax)."""

    def __init__(self, root: Path) -> None:
        try:
            lines = (root / FILE_NAME).read_text(encoding="utf-8", errors="surrogateescape").splitlines()
        except OSError:
            lines = []
        self._spec = pathspec.GitIgnoreSpec.from_lines(lines) if any(line.strip() for line in lines) else None

    @property
    def has_patterns(self) -> bool:
        return self._spec is not None

    def ignores_name(self, name: str) -> bool:
        """Whether every file and folder with this name is ignored."""
        return name.startswith(HIDDEN) or name.endswith(PARTIAL)

    def ignores_path(self, path: str, folder: bool) -> bool:
        """Whether a pattern of the user matches this path. Does not look at the folders above it."""
        return self._spec is not None and self._spec.match_file(path + "/" if folder else path)

    def ignores(self, path: str, folder: bool) -> bool:
        """Whether this path is ignored, either itself or because of a folder above it."""
        names = path.split("/")
        if any(map(self.ignores_name, names)):
            return True
        if self._spec is None:
            return False
        parents = ("/".join(names[:depth]) for depth in range(1, len(names)))
        return any(self.ignores_path(parent, True) for parent in parents) or self.ignores_path(path, folder)
