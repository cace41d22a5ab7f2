"""Decide what is at a new or changed path, and pass that to the file registry in batches."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from chyme.core.files.vault_folder import Vault, raw_path
from chyme.core.store import files
from chyme.core.store.files import TRASHED
from chyme.core.store.sqlite.database import Database
from chyme.errors import ChymeError
from chyme.model import File, Seen, Stamp
from chyme.vault.file_registry import FileRegistry
from chyme.vault.moved_files import Move, find_moved, find_renamed
from chyme.vault.watch.file_inspection import DiskFile, inspect_file, inspect_kind
from chyme.vault.watch.hashing import LARGE, Hasher

STILL_SECONDS = 0.5
BATCH = 250
BATCH_SECONDS = 0.5


class ScanStopped(ChymeError):
    """The vault is being closed."""


@dataclass
class ScanReport:
    """What a scan found."""

    new: int = 0
    changed: int = 0
    moved: int = 0
    vanished: int = 0
    returned: int = 0
    unreadable: list[str] = field(default_factory=list)

    def __add__(self, other: ScanReport) -> ScanReport:
        return ScanReport(
            self.new + other.new,
            self.changed + other.changed,
            self.moved + other.moved,
            self.vanished + other.vanished,
            self.returned + other.returned,
            self.unreadable + other.unreadable,
        )

    @property
    def has_changes(self) -> bool:
        """Whether the scan found any change."""
        return bool(self.new or self.changed or self.moved or self.vanished or self.returned)


class PendingFiles:
    """Holds found files until they stop changing, recognises them, and passes them to the registry in batches."""

    def __init__(self, vault: Vault, database: Database, registry: FileRegistry, wall: Callable[[], float]) -> None:
        self._vault = vault
        self._database = database
        self._registry = registry
        self._wall_clock = wall
        self._changing: dict[str, tuple[Stamp, float]] = {}  # still changing: raw path → its stamp, since when
        self._batch: list[Seen | Move] = []
        self._batch_since = 0.0
        self._moved_ids: set[int] = set()  # files with a move in the batch
        self.stop = threading.Event()
        self.hasher: Hasher | None = None  # hashes large files; without one they are hashed where they are found
        self.on_unfinished: Callable[[], None] = lambda: None  # called when files have to be checked again in a moment

    @property
    def unfinished(self) -> list[str]:
        """The paths of files that are still being written, as the disk spells them."""
        return list(self._changing)

    def reset_batch(self) -> None:
        """Forget what an interrupted round decided; the next round finds it again."""
        self._batch, self._moved_ids = [], set()

    def pop_unfinished(self, raws: Iterable[str]) -> dict[str, tuple[Stamp, float]]:
        """Remove and return the entries of files that are checked again; those still being written come back."""
        return {raw: entry for raw in raws if (entry := self._changing.pop(raw, None)) is not None}

    def detect_rename(self, found: DiskFile, report: ScanReport) -> bool:
        """Whether this is a known file under another path, by its inode and stamp alone; if so, record the move."""
        file = find_renamed(self._database.read(), self._vault, found, self._moved_ids)
        if file is None:
            return False
        self._move(file, found, found.stamp, report)
        return True

    def process(self, found: DiskFile, report: ScanReport, previous: tuple[Stamp, float] | None = None) -> None:
        """Record new content of a known path, a file that moved and got another inode, or a new file."""
        self.raise_if_stopped()
        db = self._database.read()
        known = files.by_path(db, found.path)
        if known is not None and _same_on_disk(known.stamp, found.stamp):
            self._refresh(known, found.stamp, report)
            return
        hasher = self.hasher if found.stamp.size > LARGE else None
        seen = hasher.result(found) if hasher else None
        if seen is None:
            if not self._is_still(found, previous or self._changing.get(found.raw)):
                return
            if hasher is not None:
                hasher.add(found)
                return
            seen = self._inspect(found, report)
        if seen is None:
            return
        if known is not None and (known.hash, known.kind, known.mime) == (seen.hash, seen.kind, seen.mime):
            self._refresh(known, seen.stamp, report)
            return
        if known is None or known.vanished_at is not None:
            file = find_moved(db, self._vault, seen, self._moved_ids)
            if file is not None:
                self._move(file, found, seen.stamp, report)
                return
        if known is None:
            report.new += 1
        else:
            report.changed += 1
        self._add(seen)

    def _inspect(self, found: DiskFile, report: ScanReport) -> Seen | None:
        """The content's hash and kind; None if the file is still changing or cannot be read."""
        try:
            seen = inspect_file(self._vault, found.path, found.escaped, self.raise_if_stopped)
        except FileNotFoundError:
            return None  # it disappeared meanwhile, which is noticed separately
        except OSError:
            report.unreadable.append(found.path)
            return None
        if seen is None:
            self._wait_for(found, time.monotonic())
        return seen

    def raise_if_stopped(self) -> None:
        """Raise ScanStopped when the vault is being closed."""
        if self.stop.is_set():
            raise ScanStopped("the vault is being closed; the next scan goes on where this one ended")

    def flush(self) -> None:
        """Pass everything decided so far to the registry."""
        if self._batch:
            self._registry.record(self._batch)
        self._batch, self._moved_ids = [], set()

    def _add(self, change: Seen | Move) -> None:
        now = time.monotonic()
        if not self._batch:
            self._batch_since = now
        self._batch.append(change)
        if len(self._batch) >= BATCH or now - self._batch_since > BATCH_SECONDS:
            self.flush()

    def _refresh(self, known: File, stamp: Stamp, report: ScanReport) -> None:
        """Record the same content under another stamp (touched, restored, mounted elsewhere), or a returned file."""
        if known.vanished_at is not None:
            report.returned += 1
        self._add(Seen(known.path, known.escaped, known.kind, known.mime, stamp, known.hash))

    def _move(self, file: File, found: DiskFile, stamp: Stamp, report: ScanReport) -> None:
        self._moved_ids.add(file.id)
        self._add(Move(file.id, Seen(found.path, found.escaped, file.kind, file.mime, stamp, file.hash)))
        report.moved += 1
        if _extension(file.path) != _extension(found.path):
            self._update_kind(found, stamp, file.hash)
        if file.path.startswith(TRASHED):
            self.flush()  # it may be on its way into the trash, and the code that puts it there waits only for a moment

    def _update_kind(self, found: DiskFile, stamp: Stamp, content_hash: str) -> None:
        """Record the kind again: another extension may make it another kind of file."""
        try:
            kind, mime = inspect_kind(self._vault, found.path, found.escaped)
        except OSError:
            return
        self._add(Seen(found.path, found.escaped, kind, mime, stamp, content_hash))

    def detect_kind_again(self, file: File, report: ScanReport) -> None:
        """Record a known file anew if it is of another kind than it was taken for; its content is the same."""
        try:
            kind, mime = inspect_kind(self._vault, file.path, file.escaped)
        except OSError:
            return
        if kind is not file.kind:
            report.changed += 1
            self._add(Seen(file.path, file.escaped, kind, mime, file.stamp, file.hash))

    def may_have_moved(self, file: File) -> bool:
        """Whether a file that is not hashed yet may be this one; if so, this path is checked again after that."""
        hasher = self.hasher if file.stamp.size > LARGE else None
        return hasher is not None and hasher.defer_missing(raw_path(file), file.stamp.size)

    def _is_still(self, found: DiskFile, previous: tuple[Stamp, float] | None) -> bool:
        """Whether nothing has been written to the file for half a second."""
        now = time.monotonic()
        since = previous[1] if previous is not None and previous[0] == found.stamp else now
        if self._wall_clock() - found.ctime >= STILL_SECONDS or now - since >= STILL_SECONDS:
            self._changing.pop(found.raw, None)
            return True
        self._wait_for(found, since)
        return False

    def _wait_for(self, found: DiskFile, since: float) -> None:
        self._changing[found.raw] = (found.stamp, since)
        self.on_unfinished()


def _same_on_disk(known: Stamp, now: Stamp) -> bool:
    """Compares without the device number: it often differs after a reboot, so at the same path it proves nothing."""
    return (known.inode, known.size, known.mtime_ns) == (now.inode, now.size, now.mtime_ns)


def _extension(path: str) -> str:
    return os.path.splitext(path)[1].lower()
