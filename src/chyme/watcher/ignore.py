"""Which names are none of our business."""

from __future__ import annotations

from pathlib import Path

import pathspec

FILE_NAME = ".chymeignore"
PARTIAL = (".part", ".crdownload", ".partial")  # downloads under way; they get their name when they are whole


class Ignore:
    """Hidden names, office lock files, unfinished downloads, and the patterns of .chymeignore (gitignore syntax)."""

    def __init__(self, root: Path) -> None:
        try:
            lines = (root / FILE_NAME).read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            lines = []
        self._spec = pathspec.GitIgnoreSpec.from_lines(lines) if any(line.strip() for line in lines) else None

    def name(self, name: str) -> bool:
        """Whether to pass over everything called this."""
        return name.startswith((".", "~$")) or name.endswith(PARTIAL)

    def path(self, path: str, folder: bool) -> bool:
        """Whether a pattern of the user's says so."""
        return self._spec is not None and self._spec.match_file(path + "/" if folder else path)
