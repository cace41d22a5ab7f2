"""What a vault is on disk: where it lies, how much room its state takes, and when it was looked through."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from chyme.core.store import files, vault_properties
from chyme.core.store.sqlite.database import FILE_NAME
from chyme.vault.watch.scanner import SCANNED_AT

if TYPE_CHECKING:
    from chyme.application.app import App

DATABASE = "database"


@dataclass(frozen=True, slots=True)
class DiskUsage:
    """For people who wonder where the room on their disk went."""

    folder: str
    state: str
    files: int
    vanished: int
    scanned_at: str | None
    watching: bool | None  # None: this process does not digest
    watching_problem: str | None
    parts: tuple[tuple[str, int], ...]  # what the state is made of → bytes, the database first
    free: int

    @property
    def size(self) -> int:
        """Bytes of all of it."""
        return sum(size for _, size in self.parts)


def measure_disk_usage(app: App) -> DiskUsage:
    """Walks through the state's folder; a large one takes a moment."""
    with app.database.snapshot() as db:
        present, _ = files.counts(db)
        scanned = vault_properties.value_of(db, SCANNED_AT)
    watcher = app.digestion.watcher if app.is_digesting else None
    return DiskUsage(
        *(str(app.vault.root), str(app.state), present, len(app.list_vanished()), scanned),
        watching=watcher.problem is None if watcher else None,
        watching_problem=watcher.problem if watcher else None,
        parts=_parts(app.state),
        free=shutil.disk_usage(app.state).free,
    )


def _parts(state: Path) -> tuple[tuple[str, int], ...]:
    sizes = {DATABASE: 0}
    with os.scandir(state) as entries:
        for entry in entries:
            name = DATABASE if entry.name.startswith(FILE_NAME) else entry.name
            sizes[name] = sizes.get(name, 0) + _size(entry)
    return tuple(sizes.items())


def _size(entry: os.DirEntry[str]) -> int:
    """Bytes of a file, or of everything in a folder. What goes away meanwhile has none."""
    try:
        if not entry.is_dir(follow_symlinks=False):
            return entry.stat(follow_symlinks=False).st_size
        with os.scandir(entry) as inside:
            return sum(_size(one) for one in inside)
    except OSError:
        return 0
