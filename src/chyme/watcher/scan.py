"""Compare the folder with what we know, and find what is new, changed, moved or gone."""

from __future__ import annotations

import contextlib
import logging
import os
import stat
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from sqlite3 import Connection

from chyme.coordinator import Intake
from chyme.coordinator.purging import PURGE_WAITS
from chyme.engines.vault import Vault, spell, stamp_of, unspell
from chyme.errors import VaultError
from chyme.model import File, Stamp, iso
from chyme.store import files, marks, queue
from chyme.store.database import Database
from chyme.watcher import ignore
from chyme.watcher.ignore import Ignore
from chyme.watcher.landing import Found, Landing, Report

log = logging.getLogger(__name__)

SCANNED = "scanned-at"  # when everything was looked at last
SUSPICIOUS_SHARE = 0.2
SUSPICIOUS_COUNT = 10  # fewer are a person tidying up, unless nothing is left
FEW = 5000  # new files that may wait for the whole walk to end, so that renames are known first

_TYPE, _REGULAR, _LINK = 0o170000, stat.S_IFREG, stat.S_IFLNK
_Known = dict[str, tuple[int, int, int, str, str, int]]


@dataclass
class _Round:
    """What one scan or look has come upon."""

    report: Report = field(default_factory=Report)
    new: list[Found] = field(default_factory=list)
    changed: list[Found] = field(default_factory=list)
    gone: list[int] = field(default_factory=list)
    dark: list[str] = field(default_factory=list)  # folders that cannot be read
    visited: set[str] = field(default_factory=set)
    moving: dict[str, tuple[Stamp, float]] = field(default_factory=dict)
    progress: Callable[[int], None] | None = None
    count: int = 0

    def tell(self, more: int) -> None:
        self.count += more
        if self.progress is not None:
            self.progress(self.count)


class Scanner:
    """Walks the vault. Files that are still being written wait until they have been still for half a second."""

    def __init__(self, vault: Vault, database: Database, intake: Intake, wall: Callable[[], float] = time.time) -> None:
        self._vault = vault
        self._database = database
        self._wall = wall
        self._intake = intake
        self._landing = Landing(vault, database, intake, wall)
        self._ignore = Ignore(vault.root)
        self._one_at_a_time = threading.RLock()

    @property
    def moving(self) -> int:
        """How many files are still being written."""
        return len(self._landing.moving)

    def log_failure(self, error: Exception) -> None:
        """Log why a look at the folder came to nothing."""
        self._database.log_failure(log, "could not look at what changed", error)

    def passes_over(self, raw: str) -> bool:
        """Whether a folder (as the disk spells it) is none of our business."""
        return self._ignore.hides(raw, True)

    @contextlib.contextmanager
    def interrupted(self) -> Iterator[None]:
        """Whatever round is under way in another thread ends early, with `Stopped`; nothing it has taken is lost."""
        self._landing.stop.set()
        try:
            yield
        finally:
            self._landing.stop.clear()

    def scan(self, progress: Callable[[int], None] | None = None) -> Report:
        """Look at everything."""
        with self._one_at_a_time:
            self._ignore = Ignore(self._vault.root)
            self._landing.begin()
            turn = _Round(progress=progress, moving=self._landing.forget_moving(self._landing.moving))
            self._walk("", turn)
            self._finish(turn)
            self._database.write(self._done)
            self._calm_down(turn.report)
            return turn.report

    def _done(self, db: Connection) -> None:
        queue.wake_waiting(db)
        marks.put(db, SCANNED, iso(datetime.fromtimestamp(self._wall(), UTC)))

    def _calm_down(self, report: Report) -> None:
        """When the files are back that had vanished at once, purging need not wait for a person any more."""
        db = self._database.read()
        present, vanished = files.counts(db)
        if report.returned and vanished <= SUSPICIOUS_SHARE * present and marks.value_of(db, PURGE_WAITS):
            self._database.write(lambda db: marks.remove(db, PURGE_WAITS))

    def look(self, paths: Iterable[str]) -> Report:
        """Look at these paths again, as read from disk: files, folders, or nothing any more."""
        wanted = list(paths)
        if ignore.FILE_NAME in wanted:
            return self.scan()
        with self._one_at_a_time:
            return self._look(wanted)

    def look_within(self, paths: Iterable[str], seconds: float) -> Report | None:
        """The same for files, unless a round is under way that does not end so soon: it may take hours."""
        if not self._one_at_a_time.acquire(timeout=seconds):
            return None
        try:
            return self._look(list(paths))
        finally:
            self._one_at_a_time.release()

    def _look(self, wanted: list[str]) -> Report:
        self._landing.begin()
        turn = _Round(moving=self._landing.forget_moving(wanted))
        for raw in wanted:
            self._look_at(raw, turn)
        self._finish(turn)
        return turn.report

    def call_when_moving(self, look_again: Callable[[], None]) -> None:
        """Whoever keeps calling `settle` wants to know when there is something to settle."""
        self._landing.on_moving = look_again

    def settle(self) -> Report:
        """Take the files that have become still since."""
        return self.look(self._landing.moving)

    def _finish(self, turn: _Round) -> None:
        """Renames are known by now: what is left is new, changed or gone."""
        self._landing.flush()
        self._take_new(turn)
        for found in turn.changed:
            self._landing.take(found, turn.report, turn.moving.get(found.raw))
            turn.tell(1)
        self._landing.flush()
        self._vanish(turn)

    def _take_new(self, turn: _Round) -> None:
        for number, found in enumerate(turn.new, 1):
            self._landing.take(found, turn.report, turn.moving.get(found.raw))
            if number % 100 == 0:
                turn.tell(100)
        turn.tell(len(turn.new) % 100)
        turn.new = []
        self._landing.flush()

    def _walk(self, below: str, turn: _Round) -> None:
        """Compare every folder at or below this one with what is known of it."""
        stack = [below]
        while stack:
            self._landing.pulse()
            self._folder(stack.pop(), stack, turn)
            if len(turn.new) > FEW:
                self._landing.flush()
                self._take_new(turn)
        self._lost_folders(below, turn)

    def _folder(self, folder: str, stack: list[str], turn: _Round) -> None:
        spelled, odd = spell(folder)
        try:
            handle = os.open(self._vault.disk_path(folder), os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError as error:
            if not folder:
                raise VaultError(f"{self._vault.root}: cannot be read ({error.strerror})") from error
            if not isinstance(error, FileNotFoundError | NotADirectoryError):
                turn.dark.append(spelled)
                turn.report.unreadable.append(spelled)
            return
        try:
            self._compare(handle, folder, spelled, odd, stack, turn)
        finally:
            os.close(handle)

    def _compare(self, handle: int, folder: str, spelled: str, odd: bool, stack: list[str], turn: _Round) -> None:
        """The one loop that every file goes through at every scan: it makes nothing for those unchanged."""
        known: _Known = files.stamps_in_folder(self._database.read(), spelled)
        turn.visited.add(spelled)
        prefix, spelled_prefix = (folder + "/", spelled + "/") if folder else ("", "")
        passes_over, patterns = self._ignore.name, self._ignore.has_patterns
        same = 0
        with os.scandir(handle) as entries:
            for entry in entries:
                name = entry.name
                if passes_over(name):
                    continue
                path, escaped = spelled_prefix + name, odd
                if not name.isascii() or "%" in name:
                    text, strange = spell(name)
                    path, escaped = spelled_prefix + text, odd or strange
                try:
                    if entry.is_dir(follow_symlinks=False):
                        if not (patterns and self._ignore.path(prefix + name, True)):
                            stack.append(prefix + name)
                        continue
                    status: os.stat_result | None = entry.stat(follow_symlinks=False)
                    assert status is not None
                    if status.st_mode & _TYPE == _LINK:
                        status = self._vault.link_target(self._vault.disk_path(prefix + name))
                except FileNotFoundError:
                    continue
                except OSError:
                    known.pop(path, None)  # what cannot be looked at proves nothing
                    turn.report.unreadable.append(path)
                    continue
                if status is None or status.st_mode & _TYPE != _REGULAR:
                    continue
                if patterns and self._ignore.path(prefix + name, False):
                    continue
                row = known.pop(path, None)
                if (
                    row is not None
                    and row[1] == status.st_size
                    and row[2] == status.st_mtime_ns
                    and row[3] == str(status.st_ino)
                    and row[4] == str(status.st_dev)
                    and not row[5]
                ):
                    same += 1
                    continue
                self._come_upon(
                    Found(prefix + name, path, escaped, stamp_of(status), status.st_ctime), row is None, turn
                )
        turn.gone.extend(row[0] for row in known.values() if not row[5])
        turn.tell(same)

    def _come_upon(self, found: Found, new: bool, turn: _Round) -> None:
        """Renames at once; everything else when all of them are known, lest it take what has moved for changed."""
        if self._landing.renamed(found, turn.report):
            turn.tell(1)
        else:
            (turn.new if new else turn.changed).append(found)

    def _look_at(self, raw: str, turn: _Round) -> None:
        path, escaped = spell(raw)
        try:
            status = self._vault.status(raw)
        except OSError:
            turn.report.unreadable.append(path)
            return
        known = files.by_path(self._database.read(), path)
        if status is not None and stat.S_ISREG(status.st_mode) and not self._ignore.hides(raw, False):
            stamp = stamp_of(status)
            if known is None or known.stamp != stamp or known.vanished_at is not None:
                self._come_upon(Found(raw, path, escaped, stamp, status.st_ctime), known is None, turn)
            return
        if status is not None and stat.S_ISDIR(status.st_mode) and not self._ignore.hides(raw, True):
            turn.gone.extend([known.id] if known else ())
            self._walk(raw, turn)
            return
        turn.gone.extend(file.id for file in files.below(self._database.read(), path))

    def _lost_folders(self, below: str, turn: _Round) -> None:
        """Files of folders that are no longer there. A folder that cannot be read proves nothing."""
        db = self._database.read()
        for folder in list(files.folders(db, spell(below)[0])):
            if folder in turn.visited or any(folder == d or folder.startswith(d + "/") for d in turn.dark):
                continue
            turn.gone.extend(row[0] for row in files.stamps_in_folder(db, folder).values() if not row[5])

    def _vanish(self, turn: _Round) -> None:
        """Hide what is still gone after all moves are known."""
        db = self._database.read()
        candidates = (files.by_id(db, file_id) for file_id in dict.fromkeys(turn.gone))
        lost = [file for file in candidates if file and file.vanished_at is None and not self._visible(file)]
        if not lost:
            return
        self._vault.refuse_unreadable()
        present, _ = files.counts(db)
        turn.report.vanished = self._intake.vanish(lost)
        if len(lost) > SUSPICIOUS_SHARE * present and (len(lost) >= SUSPICIOUS_COUNT or len(lost) == present):
            reason = f"{len(lost)} of {present} files vanished at once; nothing is purged before 'chyme purge --yes'"
            log.warning(reason)
            self._database.write(lambda db: marks.put(db, PURGE_WAITS, reason))

    def _visible(self, file: File) -> bool:
        """Whether there is a file at the path and it is not ignored. What cannot be looked at proves nothing."""
        raw = unspell(file.path) if file.escaped else file.path
        if self._ignore.hides(raw, False):
            return False
        try:
            status = self._vault.status(raw)
        except OSError:
            return True
        return status is not None and stat.S_ISREG(status.st_mode)
