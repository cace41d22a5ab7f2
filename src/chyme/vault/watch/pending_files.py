"""Decide what is at a path that is new or not what it was, and tell the intake, many at a time."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from chyme.core.files.moves import TRASHED, Move, find_origin
from chyme.core.files.vault_folder import Vault, decode_path, stamp_of
from chyme.core.store import files
from chyme.core.store.sqlite.database import Database
from chyme.errors import ChymeError
from chyme.model import File, Seen, Stamp
from chyme.vault.file_registry import FileRegistry
from chyme.vault.watch.disk_file import DiskFile
from chyme.vault.watch.file_inspection import inspect_file, inspect_kind
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

    def __add__(self, more: ScanReport) -> ScanReport:
        return ScanReport(
            self.new + more.new,
            self.changed + more.changed,
            self.moved + more.moved,
            self.vanished + more.vanished,
            self.returned + more.returned,
            self.unreadable + more.unreadable,
        )

    @property
    def has_changes(self) -> bool:
        """Whether something is other than it was."""
        return bool(self.new or self.changed or self.moved or self.vanished or self.returned)


class PendingFiles:
    """Where found files wait until they are still, are recognised, and are handed to the intake in batches."""

    def __init__(self, vault: Vault, database: Database, intake: FileRegistry, wall: Callable[[], float]) -> None:
        self._vault = vault
        self._database = database
        self._intake = intake
        self._wall = wall
        self._moving: dict[str, tuple[Stamp, float]] = {}  # not still yet: raw path → its stamp, since when
        self._batch: list[Seen | Move] = []
        self._batch_since = 0.0
        self._claimed: set[int] = set()  # files with a move in the batch
        self.stop = threading.Event()
        self.hasher: Hasher | None = None  # who hashes large files; without one they are hashed where they are found
        self.on_unfinished: Callable[[], None] = lambda: None  # somebody must look again in a moment

    @property
    def unfinished(self) -> list[str]:
        """Files that are still being written, as the disk spells them."""
        return list(self._moving)

    def reset_batch(self) -> None:
        """Forget what an interrupted round decided; it will be seen again."""
        self._batch, self._claimed = [], set()

    def pop_unfinished(self, raws: Iterable[str]) -> dict[str, tuple[Stamp, float]]:
        """These are looked at again: whoever is still being written will be noted anew."""
        return {raw: known for raw in raws if (known := self._moving.pop(raw, None)) is not None}

    def detect_rename(self, found: DiskFile, report: ScanReport) -> bool:
        """Whether this is a known file under another path, told by the disk alone."""
        if not found.stamp.size:
            return False
        alike = files.same_inode(self._database.read(), found.stamp)
        left = [file for file in alike if file.path != found.path and self._has_left(file)]
        if not left:
            return False
        first = left[0]
        unread = Seen(found.path, found.escaped, first.kind, first.mime, found.stamp, first.hash)
        file = find_origin(unread, left)
        if file is None:
            return False
        self._move(file, found, found.stamp, report)
        return True

    def process(self, found: DiskFile, report: ScanReport, before: tuple[Stamp, float] | None = None) -> None:
        """New content of a known path, a file that moved and lost its inode on the way, or a new file."""
        self.raise_if_stopped()
        db = self._database.read()
        own = files.by_path(db, found.path)
        if own is not None and _same_on_disk(own.stamp, found.stamp):
            self._refresh(own, found.stamp, report)
            return
        hasher = self.hasher if found.stamp.size > LARGE else None
        seen = hasher.result(found) if hasher else None
        if seen is None:
            if not self._still(found, before or self._moving.get(found.raw)):
                return
            if hasher is not None:
                hasher.add(found)
                return
            seen = self._examine(found, report)
        if seen is None:
            return
        if own is not None and (own.hash, own.kind, own.mime) == (seen.hash, seen.kind, seen.mime):
            self._refresh(own, seen.stamp, report)
            return
        if own is None or own.vanished_at is not None:
            alike = files.same_content(db, seen.hash) if seen.stamp.size else []
            file = find_origin(seen, [each for each in alike if each.path != found.path and self._is_gone(each)])
            if file is not None:
                self._move(file, found, seen.stamp, report)
                return
        if own is None:
            report.new += 1
        else:
            report.changed += 1
        self._add(seen)

    def _examine(self, found: DiskFile, report: ScanReport) -> Seen | None:
        """What is in the file; None when that is not known yet, or cannot be."""
        try:
            seen = inspect_file(self._vault, found.path, found.escaped, self.raise_if_stopped)
        except FileNotFoundError:
            return None  # it went while we looked, which is news of its own
        except OSError:
            report.unreadable.append(found.path)
            return None
        if seen is None:
            self._wait_for(found, time.monotonic())
        return seen

    def raise_if_stopped(self) -> None:
        """Raise when it is time to end."""
        if self.stop.is_set():
            raise ScanStopped("the vault is being closed; the next scan goes on where this one ended")

    def flush(self) -> None:
        """Hand over everything decided so far."""
        if self._batch:
            self._intake.record(self._batch)
        self._batch, self._claimed = [], set()

    def _add(self, each: Seen | Move) -> None:
        now = time.monotonic()
        if not self._batch:
            self._batch_since = now
        self._batch.append(each)
        if len(self._batch) >= BATCH or now - self._batch_since > BATCH_SECONDS:
            self.flush()

    def _refresh(self, own: File, stamp: Stamp, report: ScanReport) -> None:
        """Same content under another stamp (touched, restored, mounted elsewhere), or back again."""
        if own.vanished_at is not None:
            report.returned += 1
        self._add(Seen(own.path, own.escaped, own.kind, own.mime, stamp, own.hash))

    def _move(self, file: File, found: DiskFile, stamp: Stamp, report: ScanReport) -> None:
        self._claimed.add(file.id)
        self._add(Move(file.id, Seen(found.path, found.escaped, file.kind, file.mime, stamp, file.hash)))
        report.moved += 1
        if _extension(file.path) != _extension(found.path):
            self._look_into(found, stamp, file.hash)
        if file.path.startswith(TRASHED):
            self.flush()  # it may be on its way into the trash: who puts it there looks after it only for a moment

    def _look_into(self, found: DiskFile, stamp: Stamp, content_hash: str) -> None:
        """Another extension may make it another kind of file."""
        try:
            kind, mime = inspect_kind(self._vault, found.path, found.escaped)
        except OSError:
            return
        self._add(Seen(found.path, found.escaped, kind, mime, stamp, content_hash))

    def _has_left(self, file: File) -> bool:
        """Whether something else, or nothing, is where this file was. What cannot be looked at proves nothing."""
        if file.id in self._claimed:
            return False
        try:
            status = self._vault.status(_raw(file))
        except OSError:
            return False
        return status is None or stamp_of(status) != file.stamp

    def may_have_moved(self, file: File) -> bool:
        """Whether a file that is not hashed yet may be this one; if so, this path is looked at again after that."""
        hasher = self.hasher if file.stamp.size > LARGE else None
        return hasher is not None and hasher.defer_missing(_raw(file), file.stamp.size)

    def _is_gone(self, file: File) -> bool:
        """Whether nothing is where this file was: a path that lives on keeps its file."""
        if file.id in self._claimed:
            return False
        try:
            return self._vault.status(_raw(file)) is None
        except OSError:
            return False

    def _still(self, found: DiskFile, before: tuple[Stamp, float] | None) -> bool:
        """Whether nothing has been written to the file for half a second."""
        now = time.monotonic()
        since = before[1] if before is not None and before[0] == found.stamp else now
        if self._wall() - found.ctime >= STILL_SECONDS or now - since >= STILL_SECONDS:
            self._moving.pop(found.raw, None)
            return True
        self._wait_for(found, since)
        return False

    def _wait_for(self, found: DiskFile, since: float) -> None:
        self._moving[found.raw] = (found.stamp, since)
        self.on_unfinished()


def _raw(file: File) -> str:
    return decode_path(file.path) if file.escaped else file.path


def _same_on_disk(known: Stamp, now: Stamp) -> bool:
    """The device's number is another one after every other reboot; at the same path it proves nothing."""
    return (known.inode, known.size, known.mtime_ns) == (now.inode, now.size, now.mtime_ns)


def _extension(path: str) -> str:
    return os.path.splitext(path)[1].lower()
