"""Which names are none of our business."""

from __future__ import annotations

from pathlib import Path

import pathspec

FILE_NAME = ".chymeignore"
HIDDEN = (".", "~$")
PARTIAL = (".part", ".crdownload", ".partial")  # downloads under way; they get their name when they are whole


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
        """Whether to pass over everything called this."""
        return name.startswith(HIDDEN) or name.endswith(PARTIAL)

    def ignores_path(self, path: str, folder: bool) -> bool:
        """Whether a pattern of the user's names this, its folders being wanted."""
        return self._spec is not None and self._spec.match_file(path + "/" if folder else path)

    def ignores(self, path: str, folder: bool) -> bool:
        """Whether to pass over this path, for its own sake or for that of a folder above it."""
        names = path.split("/")
        if any(map(self.ignores_name, names)):
            return True
        if self._spec is None:
            return False
        above = ("/".join(names[:depth]) for depth in range(1, len(names)))
        return any(self.ignores_path(each, True) for each in above) or self.ignores_path(path, folder)
