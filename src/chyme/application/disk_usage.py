"""Measures a vault on disk: its folders, the size of its state, and when it was scanned."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from chyme.core.clock import now
from chyme.core.store import files, vault_properties
from chyme.core.store.sqlite.database import FILE_NAME
from chyme.model import iso
from chyme.vault.open_vault import OpenVault
from chyme.vault.watch.scanner import SCANNED_AT
from chyme.vault.watch.watcher import Watcher

DATABASE = "database"


@dataclass(frozen=True, slots=True)
class DiskUsage:
    """Where a vault is, and how much disk space its state takes."""

    folder: str
    state: str
    files: int
    vanished: int
    scanned_at: str | None
    watching: bool | None  # None: this process does not digest
    watching_problem: str | None
    parts: tuple[tuple[str, int], ...]  # name and bytes of each part of the state, the database first
    free: int

    @property
    def size(self) -> int:
        """The total bytes of the state."""
        return sum(size for _, size in self.parts)


def measure_disk_usage(open_vault: OpenVault, watcher: Watcher | None) -> DiskUsage:
    """Walk through the state folder, which takes a moment if it is large."""
    state = open_vault.state
    with open_vault.database.snapshot() as db:
        present, _ = files.counts(db)
        vanished = len(files.vanished_before(db, iso(now())))
        scanned = vault_properties.value_of(db, SCANNED_AT)
    return DiskUsage(
        *(str(open_vault.folder.root), str(state), present, vanished, scanned),
        watching=watcher.problem is None if watcher else None,
        watching_problem=watcher.problem if watcher else None,
        parts=_measure_parts(state),
        free=shutil.disk_usage(state).free,
    )


def _measure_parts(state: Path) -> tuple[tuple[str, int], ...]:
    sizes = {DATABASE: 0}
    with os.scandir(state) as entries:
        for entry in entries:
            name = DATABASE if entry.name.startswith(FILE_NAME) else entry.name
            sizes[name] = sizes.get(name, 0) + _size_of(entry)
    return tuple(sizes.items())


def _size_of(entry: os.DirEntry[str]) -> int:
    """Return the bytes of a file, or of everything in a folder; 0 if it is deleted meanwhile."""
    try:
        if not entry.is_dir(follow_symlinks=False):
            return entry.stat(follow_symlinks=False).st_size
        with os.scandir(entry) as inside:
            return sum(_size_of(child) for child in inside)
    except OSError:
        return 0
