"""Compare the folder with what we know, and tell the intake what is new, changed, moved or gone."""

from __future__ import annotations

import logging
import os
import stat
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from sqlite3 import Connection

from chyme.coordinator import Intake
from chyme.coordinator.purging import PURGE_WAITS
from chyme.decide.moves import Move, origin
from chyme.engines.vault import Vault, spell, stamp_of, unescape
from chyme.errors import VaultError
from chyme.model import File, Seen, Stamp
from chyme.store import digests, files, marks
from chyme.store.database import Database
from chyme.watcher.examine import examine
from chyme.watcher.ignore import Ignore

log = logging.getLogger(__name__)

STILL_SECONDS = 0.5
BATCH = 100
BATCH_SECONDS = 0.25

SUSPICIOUS_SHARE = 0.2
SUSPICIOUS_COUNT = 10


@dataclass
class Report:
    """What a scan found."""

    new: int = 0
    changed: int = 0
    moved: int = 0
    vanished: int = 0
    unreadable: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Found:
    raw: str  # the path as the disk spells it
    path: str
    escaped: bool
    status: os.stat_result


class Scanner:
    """Walks the vault. Files that are still being written wait until they have been still for half a second."""

    def __init__(self, vault: Vault, database: Database, intake: Intake, wall: Callable[[], float] = time.time) -> None:
        self._vault = vault
        self._database = database
        self._intake = intake
        self._wall = wall
        self._ignore = Ignore(vault.root)
        self._moving: dict[str, tuple[Stamp, float]] = {}  # not still yet: raw path → last stamp, seen since
        self._one_at_a_time = threading.RLock()
        self._arriving: list[Seen] = []
        self._arriving_since = 0.0

    @property
    def moving(self) -> int:
        """How many files are still being written."""
        return len(self._moving)

    def scan(self, below: str = "", progress: Callable[[int], None] | None = None) -> Report:
        """Look at everything at or below a folder."""
        with self._one_at_a_time:
            if not below:
                self._ignore = Ignore(self._vault.root)
            report, changed, gone = Report(), list[_Found](), list[int]()
            visited = self._walk(below, report, changed, gone, progress)
            self._lost_folders(below, visited, report, gone)
            self._take_changed(changed, report)
            self._flush()
            self._vanish(gone, report, whole=not below)
            self._database.write(digests.wake_waiting)
            return report

    def look(self, paths: Iterable[str]) -> Report:
        """Look at these paths again, as read from disk: files, folders, or nothing any more."""
        with self._one_at_a_time:
            report, changed, gone = Report(), list[_Found](), list[int]()
            for raw in paths:
                self._look_at(raw, report, changed, gone)
            self._take_changed(changed, report)
            self._flush()
            self._vanish(gone, report, whole=False)
            return report

    def settle(self) -> Report:
        """Take the files that have become still since."""
        return self.look(list(self._moving))

    def _walk(
        self,
        below: str,
        report: Report,
        changed: list[_Found],
        gone: list[int],
        progress: Callable[[int], None] | None,
    ) -> set[str]:
        db = self._database.read()
        visited: set[str] = set()
        stack = [below]
        count = 0
        while stack:
            folder = stack.pop()
            try:
                entries = os.scandir(self._vault.disk_path(folder) if folder else self._vault.root)
            except OSError as error:
                if not folder:
                    raise VaultError(f"{self._vault.root}: cannot be read ({error.strerror})") from error
                if not isinstance(error, FileNotFoundError | NotADirectoryError):
                    report.unreadable.append(folder)
                continue
            spelled = spell(folder)[0]
            visited.add(spelled)
            known = files.stamps_in_folder(db, spelled)
            with entries:
                for entry in entries:
                    found = self._entry(entry, folder, stack)
                    if found is None:
                        continue
                    count += 1
                    self._compare(found, known.pop(found.path, None), report, changed)
            gone.extend(row[0] for row in known.values() if not row[5])
            if progress is not None:
                progress(count)
            self._flush_if_due()
        return visited

    def _entry(self, entry: os.DirEntry[str], folder: str, stack: list[str]) -> _Found | None:
        """A file worth comparing; folders go on the stack, everything else is passed over."""
        if self._ignore.name(entry.name):
            return None
        raw = f"{folder}/{entry.name}" if folder else entry.name
        try:
            if entry.is_dir(follow_symlinks=False):
                if not self._ignore.path(raw, True):
                    stack.append(raw)
                return None
            status: os.stat_result | None = entry.stat(follow_symlinks=False)
        except OSError:
            return None
        assert status is not None
        if stat.S_ISLNK(status.st_mode):
            status = self._vault.link_target(self._vault.disk_path(raw))
        if status is None or not stat.S_ISREG(status.st_mode) or self._ignore.path(raw, False):
            return None
        return _Found(raw, *spell(raw), status)

    def _compare(
        self,
        found: _Found,
        row: tuple[int, int, int, str, str, int] | None,
        report: Report,
        changed: list[_Found],
    ) -> None:
        """Nothing to do for a file that is what it was. New paths are taken at once, changed ones after all new."""
        status = found.status
        if row is None:
            self._take(found, report)
            return
        same = row[1] == status.st_size and row[2] == status.st_mtime_ns and row[3] == str(status.st_ino)
        if same and row[4] == str(status.st_dev) and not row[5]:
            return
        changed.append(found)

    def _look_at(self, raw: str, report: Report, changed: list[_Found], gone: list[int]) -> None:
        if any(self._ignore.name(part) for part in raw.split("/")):
            return
        path, escaped = spell(raw)
        disk = self._vault.disk_path(raw)
        try:
            status: os.stat_result | None = os.lstat(disk)
        except (FileNotFoundError, NotADirectoryError):
            self._moving.pop(raw, None)
            gone.extend(file.id for file in files.below(self._database.read(), path))
            return
        except OSError:
            return
        assert status is not None
        if stat.S_ISDIR(status.st_mode):
            if not self._ignore.path(raw, True):
                walked = Report()
                visited = self._walk(raw, walked, changed, gone, None)
                self._lost_folders(raw, visited, walked, gone)
                _add(report, walked)
            return
        if stat.S_ISLNK(status.st_mode):
            status = self._vault.link_target(disk)
        if status is None or not stat.S_ISREG(status.st_mode) or self._ignore.path(raw, False):
            return
        file = files.by_path(self._database.read(), path)
        found = _Found(raw, path, escaped, status)
        if file is None:
            self._take(found, report)
        elif file.stamp != stamp_of(status) or file.vanished_at is not None:
            changed.append(found)

    def _take_changed(self, changed: list[_Found], report: Report) -> None:
        """After all new paths: a file whose old content moved elsewhere has left its row there."""
        self._flush()
        for found in changed:
            self._take(found, report)

    def _take(self, found: _Found, report: Report) -> None:
        """Decide what is at this path: a known file that moved here, new content of its own, or a new file."""
        db = self._database.read()
        own = files.by_path(db, found.path)
        stamp = stamp_of(found.status)
        if own is not None and own.stamp == stamp:
            self._intake.touch(own.id, stamp)  # it was hidden and is back as it was
            return
        renamed = self._gone(db, found.path, files.same_inode(db, stamp)) if stamp.size else []
        moved = origin(_unread(found, stamp, renamed), renamed) if renamed else None
        if moved is not None:
            self._move(moved, found, stamp, report)
            return
        if not self._still(found, stamp):
            return
        seen = examine(self._vault, found.path, found.escaped)
        if seen is None:
            self._moving.setdefault(found.raw, (stamp, time.monotonic()))
            return
        self._moving.pop(found.raw, None)
        if own is not None and own.hash == seen.hash and own.kind is seen.kind:
            self._intake.touch(own.id, seen.stamp)
            return
        moved = origin(seen, self._gone(db, found.path, files.same_content(db, seen.hash)))
        if moved is not None:
            self._move(moved, found, seen.stamp, report)
            return
        if own is None:
            report.new += 1
        else:
            report.changed += 1
        self._arriving.append(seen)
        self._flush_if_due()

    def _gone(self, db: Connection, path: str, candidates: list[File]) -> list[File]:
        """Those that are not at their path any more. What cannot be looked at proves nothing."""
        return [file for file in candidates if file.path != path and not self._at_home(file)]

    def _at_home(self, file: File) -> bool:
        disk = self._vault.disk_path(file.path, file.escaped)
        try:
            status: os.stat_result | None = os.lstat(disk)
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError:
            return True
        assert status is not None
        if stat.S_ISLNK(status.st_mode):
            status = self._vault.link_target(disk)
        return status is not None and stamp_of(status) == file.stamp

    def _move(self, file: File, found: _Found, stamp: Stamp, report: Report) -> None:
        self._flush()
        self._moving.pop(found.raw, None)
        seen = Seen(found.path, found.escaped, file.kind, file.mime, stamp, file.hash)
        self._intake.move([Move(file.id, seen)])
        report.moved += 1
        if _extension(file.path) != _extension(found.path):
            looked = examine(self._vault, found.path, found.escaped)
            if looked is not None:
                self._intake.arrive([looked])

    def _still(self, found: _Found, stamp: Stamp) -> bool:
        """Whether nothing has been written to the file for half a second."""
        age = self._wall() - found.status.st_ctime
        if age >= STILL_SECONDS:
            return True
        before = self._moving.get(found.raw)
        now = time.monotonic()
        if before is not None and before[0] == stamp:
            return now - before[1] >= STILL_SECONDS
        self._moving[found.raw] = (stamp, now)
        return False

    def _flush_if_due(self) -> None:
        if not self._arriving:
            self._arriving_since = time.monotonic()
        elif len(self._arriving) >= BATCH or time.monotonic() - self._arriving_since > BATCH_SECONDS:
            self._flush()

    def _flush(self) -> None:
        if self._arriving:
            self._intake.arrive(self._arriving)
            self._arriving = []
        self._arriving_since = time.monotonic()

    def _lost_folders(self, below: str, visited: set[str], report: Report, gone: list[int]) -> None:
        """Files of folders that are no longer there. A folder that cannot be read proves nothing."""
        db = self._database.read()
        dark = [spell(folder)[0] for folder in report.unreadable]
        for folder in list(files.folders(db, spell(below)[0])):
            if folder in visited or any(folder == d or folder.startswith(d + "/") for d in dark):
                continue
            gone.extend(row[0] for row in files.stamps_in_folder(db, folder).values() if not row[5])

    def _vanish(self, gone: list[int], report: Report, whole: bool) -> None:
        """Hide what is still gone after all moves are known."""
        db = self._database.read()
        lost = []
        for file_id in dict.fromkeys(gone):
            file = files.by_id(db, file_id)
            if file is not None and file.vanished_at is None and not self._visible(file):
                lost.append(file_id)
        if not lost:
            return
        present, _ = files.counts(db)
        report.vanished = self._intake.vanish(lost)
        if len(lost) >= SUSPICIOUS_COUNT and len(lost) > SUSPICIOUS_SHARE * present:
            reason = f"{len(lost)} of {present} files vanished at once; nothing is purged before 'chyme purge --yes'"
            log.warning(reason)
            self._database.write(lambda db: marks.put(db, PURGE_WAITS, reason))

    def _visible(self, file: File) -> bool:
        """Whether the file is there and not ignored."""
        raw = unescape(file.path) if file.escaped else file.path
        parts = raw.split("/")
        if any(self._ignore.name(part) for part in parts) or self._ignore.path(raw, False):
            return False
        return self._at_home(file)


def _unread(found: _Found, stamp: Stamp, candidates: list[File]) -> Seen:
    """What a rename looks like before reading: the content is the candidates' own."""
    first = candidates[0]
    return Seen(found.path, found.escaped, first.kind, first.mime, stamp, first.hash)


def _extension(path: str) -> str:
    return os.path.splitext(path)[1].lower()


def _add(report: Report, more: Report) -> None:
    report.new += more.new
    report.changed += more.changed
    report.moved += more.moved
    report.unreadable += more.unreadable
