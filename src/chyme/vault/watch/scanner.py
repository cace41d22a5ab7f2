"""Compare the folder with what we know, and find what is new, changed, moved or gone."""

from __future__ import annotations

import contextlib
import logging
import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from sqlite3 import Connection

from chyme.core.files.vault_folder import Vault, encode_path, stamp_of
from chyme.core.store import digest_queue, files, vault_properties
from chyme.core.store.sqlite.database import Database
from chyme.errors import VaultError
from chyme.model import Stamp, iso
from chyme.vault.file_registry import FileRegistry
from chyme.vault.watch import ignore_rules
from chyme.vault.watch.disk_file import DiskFile
from chyme.vault.watch.hashing import LARGE, Hasher
from chyme.vault.watch.ignore_rules import IgnoreRules
from chyme.vault.watch.missing_files import MissingFiles
from chyme.vault.watch.pending_files import PendingFiles, ScanReport
from chyme.vault.watch.priority_lock import Priority, PriorityLock

log = logging.getLogger(__name__)

SCANNED_AT = "scanned-at"  # when everything was looked at last
MAX_PENDING_NEW = 5000  # new files that may wait for the whole walk to end, so that renames are known first
YIELD_EVERY = 256  # entries of a folder after which a round that waits may go first

_TYPE, _REGULAR, _LINK = 0o170000, stat.S_IFREG, stat.S_IFLNK
_Known = dict[str, tuple[int, int, int, str, str, int]]


@dataclass
class _Round:
    """What one scan or look has come upon."""

    priority: Priority
    report: ScanReport = field(default_factory=ScanReport)
    new: list[DiskFile] = field(default_factory=list)
    changed: list[DiskFile] = field(default_factory=list)
    large: list[DiskFile] = field(default_factory=list)  # new or changed; taken last
    walked: set[str] = field(default_factory=set)  # folders that were looked at with all below
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

    def __init__(
        self, vault: Vault, database: Database, intake: FileRegistry, wall: Callable[[], float] = time.time
    ) -> None:
        self.vault = vault
        self._database = database
        self._wall = wall
        self._landing = PendingFiles(vault, database, intake, wall)
        self._ignore = IgnoreRules(vault.root)
        self._vanishing = MissingFiles(vault, database, intake, self._landing)
        self._turns = PriorityLock()

    @property
    def unfinished_count(self) -> int:
        """How many files are still being written, or not hashed yet."""
        hasher = self._landing.hasher
        return len(self._landing.unfinished) + (hasher.waiting if hasher else 0)

    @property
    def has_unfinished(self) -> bool:
        """Whether `settle` has something to look at."""
        return bool(self._landing.unfinished)

    def set_hasher(self, hasher: Hasher | None) -> None:
        """From now on, large files are hashed beside; without a hasher, at the end of each round."""
        self._landing.hasher = hasher

    def problem(self) -> str | None:
        """Why nothing that is seen now proves anything: the vault or its database is not at its path."""
        return self._database.presence.find_problem()

    def log_failure(self, error: Exception) -> None:
        """Log why a look at the folder came to nothing."""
        self._database.log_failure(log, "could not look at what changed", error)

    def ignores(self, raw: str) -> bool:
        """Whether a folder (as the disk spells it) is none of our business."""
        return self._ignore.ignores(raw, True)

    @contextlib.contextmanager
    def interrupt(self) -> Iterator[None]:
        """Whatever round is under way in another thread ends early, with `Stopped`; nothing it has taken is lost."""
        self._landing.stop.set()
        try:
            yield
        finally:
            self._landing.stop.clear()

    def scan(self, progress: Callable[[int], None] | None = None) -> ScanReport:
        """Look at everything."""
        with self._turns.hold(Priority.ALL):
            self._ignore = IgnoreRules(self.vault.root)
            self._landing.reset_batch()
            turn = _Round(Priority.ALL, progress=progress)
            self._walk("", turn)
            self._finish(turn)
            self._database.write(self._done)
            self._vanishing.release_purge_hold(turn.report)
            return turn.report

    def _done(self, db: Connection) -> None:
        digest_queue.wake_waiting(db)
        vault_properties.put(db, SCANNED_AT, iso(datetime.fromtimestamp(self._wall(), UTC)))

    def scan_paths(self, paths: Iterable[str], priority: Priority = Priority.FOLDERS) -> ScanReport:
        """Look at these paths again, as read from disk: files, folders, or nothing any more."""
        wanted = list(paths)
        if ignore_rules.FILE_NAME in wanted:
            return self.scan()
        with self._turns.hold(priority):
            return self._look(wanted, priority)

    def scan_paths_within(self, paths: Iterable[str], seconds: float) -> ScanReport | None:
        """The same for files, unless a round is under way that does not end so soon: it may take hours."""
        if not self._turns.acquire(Priority.FILES, seconds):
            return None
        try:
            return self._look(list(paths), Priority.FILES)
        finally:
            self._turns.release()

    def _look(self, wanted: list[str], priority: Priority) -> ScanReport:
        self._landing.reset_batch()
        turn = _Round(priority, moving=self._landing.pop_unfinished(wanted))
        for raw in sorted(wanted):  # a folder before what is in it
            if not _is_below(raw, turn.walked):
                self._look_at(raw, turn)
                self._give_way(turn)
        self._finish(turn)
        return turn.report

    def on_unfinished(self, look_again: Callable[[], None]) -> None:
        """Whoever keeps calling `settle` wants to know when there is something to settle."""
        self._landing.on_unfinished = look_again

    def recheck_unfinished(self) -> ScanReport:
        """Take the files that have become still since."""
        return self.scan_paths(self._landing.unfinished, Priority.FILES)

    def _give_way(self, turn: _Round) -> None:
        """Let a round go first that waits for less than this one does."""
        if self._turns.is_wanted(turn.priority):
            self._landing.flush()  # the next round begins with an empty batch, and so do we after it
            self._turns.yield_turn(turn.priority)
            self._landing.raise_if_stopped()

    def _finish(self, turn: _Round) -> None:
        """Renames are known by now: what is left is new, changed or gone."""
        self._landing.flush()
        self._take_new(turn)
        self._take(turn, turn.changed)
        self._landing.flush()
        self._take_large(turn)
        turn.report.vanished = self._vanishing.hide(turn.gone, self._ignore)

    def _take_new(self, turn: _Round) -> None:
        self._take(turn, turn.new)
        turn.new = []
        self._landing.flush()

    def _take_large(self, turn: _Round) -> None:
        """Each takes long to hash, unless that is done beside: what is smaller is not kept waiting for it."""
        for found in sorted(turn.large, key=lambda one: one.stamp.size):
            self._landing.process(found, turn.report, turn.moving.get(found.raw))
            self._landing.flush()
            self._give_way(turn)
        turn.tell(len(turn.large))
        turn.large = []

    def _take(self, turn: _Round, some: list[DiskFile]) -> None:
        for number, found in enumerate(some, 1):
            self._landing.process(found, turn.report, turn.moving.get(found.raw))
            self._give_way(turn)
            if number % 100 == 0:
                turn.tell(100)
        turn.tell(len(some) % 100)

    def _walk(self, below: str, turn: _Round) -> None:
        """Compare every folder at or below this one with what is known of it."""
        stack = [below]
        while stack:
            self._landing.raise_if_stopped()
            self._give_way(turn)
            self._folder(stack.pop(), stack, turn)
            if len(turn.new) + len(turn.large) > MAX_PENDING_NEW:
                self._landing.flush()
                self._take_new(turn)
                if self._landing.hasher is not None:
                    self._take_large(turn)
        self._lost_folders(below, turn)

    def _folder(self, folder: str, stack: list[str], turn: _Round) -> None:
        spelled, odd = encode_path(folder)
        try:
            handle = os.open(self.vault.disk_path(folder), os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError as error:
            if not folder:
                raise VaultError(f"{self.vault.root}: cannot be read ({error.strerror})") from error
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
        passes_over, patterns = self._ignore.ignores_name, self._ignore.has_patterns
        same = 0
        with os.scandir(handle) as entries:
            for number, entry in enumerate(entries, 1):
                if number % YIELD_EVERY == 0:
                    self._give_way(turn)
                name = entry.name
                if passes_over(name):
                    continue
                path, escaped = spelled_prefix + name, odd
                if not name.isascii() or "%" in name:
                    text, strange = encode_path(name)
                    path, escaped = spelled_prefix + text, odd or strange
                try:
                    if entry.is_dir(follow_symlinks=False):
                        if not (patterns and self._ignore.ignores_path(prefix + name, True)):
                            stack.append(prefix + name)
                        continue
                    status: os.stat_result | None = entry.stat(follow_symlinks=False)
                    assert status is not None
                    if status.st_mode & _TYPE == _LINK:
                        status = self.vault.link_target(self.vault.disk_path(prefix + name))
                except FileNotFoundError:
                    continue
                except OSError:
                    known.pop(path, None)  # what cannot be looked at proves nothing
                    turn.report.unreadable.append(path)
                    continue
                if status is None or status.st_mode & _TYPE != _REGULAR:
                    continue
                if patterns and self._ignore.ignores_path(prefix + name, False):
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
                    DiskFile(prefix + name, path, escaped, stamp_of(status), status.st_ctime), row is None, turn
                )
        turn.gone.extend(row[0] for row in known.values() if not row[5])
        turn.tell(same)

    def _come_upon(self, found: DiskFile, new: bool, turn: _Round) -> None:
        """Renames at once; everything else when all of them are known, lest it take what has moved for changed."""
        if self._landing.detect_rename(found, turn.report):
            turn.tell(1)
        else:
            few = turn.large if found.stamp.size > LARGE else turn.new if new else turn.changed
            few.append(found)

    def _look_at(self, raw: str, turn: _Round) -> None:
        path, escaped = encode_path(raw)
        try:
            status = self.vault.status(raw)
        except OSError:
            turn.report.unreadable.append(path)
            return
        known = files.by_path(self._database.read(), path)
        if status is not None and stat.S_ISREG(status.st_mode) and not self._ignore.ignores(raw, False):
            stamp = stamp_of(status)
            if known is None or known.stamp != stamp or known.vanished_at is not None:
                self._come_upon(DiskFile(raw, path, escaped, stamp, status.st_ctime), known is None, turn)
            return
        if status is not None and stat.S_ISDIR(status.st_mode) and not self._ignore.ignores(raw, True):
            turn.gone.extend([known.id] if known else ())
            turn.walked.add(raw)
            self._walk(raw, turn)
            return
        turn.gone.extend(file.id for file in files.below(self._database.read(), path))

    def _lost_folders(self, below: str, turn: _Round) -> None:
        """Files of folders that are no longer there. A folder that cannot be read proves nothing."""
        db = self._database.read()
        for folder in list(files.folders(db, encode_path(below)[0])):
            if folder in turn.visited or any(folder == d or folder.startswith(d + "/") for d in turn.dark):
                continue
            turn.gone.extend(row[0] for row in files.stamps_in_folder(db, folder).values() if not row[5])


def _is_below(raw: str, folders: set[str]) -> bool:
    """Whether a path lies in one of these folders."""
    if not folders:
        return False
    position = raw.find("/")
    while position >= 0:
        if raw[:position] in folders:
            return True
        position = raw.find("/", position + 1)
    return False
