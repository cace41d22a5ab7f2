"""Compare the vault's folder with the database, and find what is new, changed, moved or gone."""

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
from chyme.files import kind_detection
from chyme.model import Kind, Stamp, iso
from chyme.vault.file_registry import FileRegistry
from chyme.vault.vanished_files import MissingFiles
from chyme.vault.watch import ignore_rules
from chyme.vault.watch.file_inspection import DiskFile
from chyme.vault.watch.hashing import LARGE, Hasher
from chyme.vault.watch.ignore_rules import IgnoreRules
from chyme.vault.watch.pending_files import PendingFiles, ScanReport
from chyme.vault.watch.priority_lock import Priority, PriorityLock

log = logging.getLogger(__name__)

SCANNED_AT = "scanned-at"  # when everything was last scanned
KIND_RULES = "kind-rules"  # the version of the rules by which all files have been looked at
MAX_PENDING_NEW = 5000  # new files that may wait for the whole walk to end, so that renames are known first
YIELD_EVERY = 256  # entries of a folder after which a waiting round may go first

_TYPE, _REGULAR, _LINK = 0o170000, stat.S_IFREG, stat.S_IFLNK
_StampsByPath = dict[str, tuple[int, int, int, str, str, int]]


@dataclass
class _Round:
    """What one scan, of everything or of some paths, has found."""

    priority: Priority
    report: ScanReport = field(default_factory=ScanReport)
    new: list[DiskFile] = field(default_factory=list)
    changed: list[DiskFile] = field(default_factory=list)
    large: list[DiskFile] = field(default_factory=list)  # new or changed; processed last
    walked: set[str] = field(default_factory=set)  # folders that were scanned with all below them
    gone: list[int] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)  # folders that cannot be read
    visited: set[str] = field(default_factory=set)
    changing: dict[str, tuple[Stamp, float]] = field(default_factory=dict)
    progress: Callable[[int], None] | None = None
    count: int = 0

    def add_progress(self, count: int) -> None:
        self.count += count
        if self.progress is not None:
            self.progress(self.count)


class Scanner:
    """Walks the vault. Files that are still being written wait until they are unchanged for half a second."""

    def __init__(
        self, vault: Vault, database: Database, registry: FileRegistry, wall: Callable[[], float] = time.time
    ) -> None:
        self.vault = vault
        self._database = database
        self._wall_clock = wall
        self._pending = PendingFiles(vault, database, registry, wall)
        self._ignore = IgnoreRules(vault.root)
        self._missing = MissingFiles(vault, database, registry, self._pending)
        self._lock = PriorityLock()

    @property
    def unfinished_count(self) -> int:
        """The number of files that are still being written, or not hashed yet."""
        hasher = self._pending.hasher
        return len(self._pending.unfinished) + (hasher.waiting if hasher else 0)

    @property
    def has_unfinished(self) -> bool:
        """Whether `recheck_unfinished` has something to do."""
        return bool(self._pending.unfinished)

    def set_hasher(self, hasher: Hasher | None) -> None:
        """Let this hasher hash large files in its own thread; with None, each round hashes them at its end."""
        self._pending.hasher = hasher

    def problem(self) -> str | None:
        """Why scans prove nothing now: the vault or its database is not at its path. None if all is well."""
        return self._database.presence.find_problem()

    def log_failure(self, error: Exception) -> None:
        """Log why a scan failed."""
        self._database.log_failure(log, "could not look at what changed", error)

    def ignores(self, raw: str) -> bool:
        """Whether a folder (as the disk spells it) is ignored."""
        return self._ignore.ignores(raw, True)

    @contextlib.contextmanager
    def interrupt(self) -> Iterator[None]:
        """Make a round in another thread end early, with `ScanStopped`; nothing it has registered is lost."""
        self._pending.stop.set()
        try:
            yield
        finally:
            self._pending.stop.clear()

    def scan(self, progress: Callable[[int], None] | None = None) -> ScanReport:
        """Scan the whole vault."""
        with self._lock.hold(Priority.ALL):
            self._ignore = IgnoreRules(self.vault.root)
            self._pending.reset_batch()
            round_ = _Round(Priority.ALL, progress=progress)
            self._detect_kinds_again(round_)
            self._walk("", round_)
            self._finish(round_)
            self._database.write(self._record_scan)
            self._missing.release_purge_hold(round_.report)
            return round_.report

    def _record_scan(self, db: Connection) -> None:
        digest_queue.wake_waiting(db)
        vault_properties.put(db, SCANNED_AT, iso(datetime.fromtimestamp(self._wall_clock(), UTC)))

    def scan_paths(self, paths: Iterable[str], priority: Priority = Priority.FOLDERS) -> ScanReport:
        """Scan these paths (as the disk spells them) again: files, folders, or paths that no longer exist."""
        wanted = list(paths)
        if ignore_rules.FILE_NAME in wanted:
            return self.scan()
        with self._lock.hold(priority):
            return self._scan_paths(wanted, priority)

    def scan_paths_within(self, paths: Iterable[str], seconds: float) -> ScanReport | None:
        """Scan these files again; None if another round (it may take hours) does not end within these seconds."""
        if not self._lock.acquire(Priority.FILES, seconds):
            return None
        try:
            return self._scan_paths(list(paths), Priority.FILES)
        finally:
            self._lock.release()

    def _scan_paths(self, wanted: list[str], priority: Priority) -> ScanReport:
        self._pending.reset_batch()
        round_ = _Round(priority, changing=self._pending.pop_unfinished(wanted))
        for raw in sorted(wanted):  # a folder before its content
            if not _is_below(raw, round_.walked):
                self._scan_path(raw, round_)
                self._give_way(round_)
        self._finish(round_)
        return round_.report

    def on_unfinished(self, look_again: Callable[[], None]) -> None:
        """Set what is called when `recheck_unfinished` has something to do."""
        self._pending.on_unfinished = look_again

    def recheck_unfinished(self) -> ScanReport:
        """Register the files that have stopped changing since."""
        return self.scan_paths(self._pending.unfinished, Priority.FILES)

    def _give_way(self, round_: _Round) -> None:
        """Let a waiting round of a higher priority go first."""
        if self._lock.is_wanted(round_.priority):
            self._pending.flush()  # the other round begins with an empty batch, and so does this one afterwards
            self._lock.yield_turn(round_.priority)
            self._pending.raise_if_stopped()

    def _finish(self, round_: _Round) -> None:
        """Process what is left once all renames are known: new, changed and gone files."""
        self._pending.flush()
        self._process_new(round_)
        self._process(round_, round_.changed)
        self._pending.flush()
        self._process_large(round_)
        round_.report.vanished = self._missing.hide(round_.gone, self._ignore)

    def _detect_kinds_again(self, round_: _Round) -> None:
        """After an upgrade that recognises more: look once at the files that were plain text or of no known kind."""
        db, version, last = self._database.read(), str(kind_detection.RULES_VERSION), 0
        if vault_properties.value_of(db, KIND_RULES) == version:
            return
        while batch := files.of_kinds(db, (Kind.TEXT, Kind.OTHER), last, YIELD_EVERY):
            for file in batch:
                self._pending.detect_kind_again(file, round_.report)
            self._pending.flush()
            self._pending.raise_if_stopped()
            self._give_way(round_)
            db, last = self._database.read(), batch[-1].id
        self._database.write(lambda writer: vault_properties.put(writer, KIND_RULES, version))

    def _process_new(self, round_: _Round) -> None:
        self._process(round_, round_.new)
        round_.new = []
        self._pending.flush()

    def _process_large(self, round_: _Round) -> None:
        """Process large files, smallest first: without a hasher each takes long, and smaller ones should not wait."""
        for found in sorted(round_.large, key=lambda file: file.stamp.size):
            self._pending.process(found, round_.report, round_.changing.get(found.raw))
            self._pending.flush()
            self._give_way(round_)
        round_.add_progress(len(round_.large))
        round_.large = []

    def _process(self, round_: _Round, found_files: list[DiskFile]) -> None:
        for number, found in enumerate(found_files, 1):
            self._pending.process(found, round_.report, round_.changing.get(found.raw))
            self._give_way(round_)
            if number % 100 == 0:
                round_.add_progress(100)
        round_.add_progress(len(found_files) % 100)

    def _walk(self, below: str, round_: _Round) -> None:
        """Compare this folder and every one below it with the database."""
        stack = [below]
        while stack:
            self._pending.raise_if_stopped()
            self._give_way(round_)
            self._scan_folder(stack.pop(), stack, round_)
            if len(round_.new) + len(round_.large) > MAX_PENDING_NEW:
                self._pending.flush()
                self._process_new(round_)
                if self._pending.hasher is not None:
                    self._process_large(round_)
        self._find_lost_folders(below, round_)

    def _scan_folder(self, folder: str, stack: list[str], round_: _Round) -> None:
        path, escaped = encode_path(folder)
        try:
            handle = os.open(self.vault.disk_path(folder), os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError as error:
            if not folder:
                raise VaultError(f"{self.vault.root}: cannot be read ({error.strerror})") from error
            if not isinstance(error, FileNotFoundError | NotADirectoryError):
                round_.unreadable.append(path)
                round_.report.unreadable.append(path)
            return
        try:
            self._compare(handle, folder, path, escaped, stack, round_)
        finally:
            os.close(handle)

    def _compare(
        self, handle: int, folder: str, folder_path: str, folder_escaped: bool, stack: list[str], round_: _Round
    ) -> None:
        """Compare one folder's entries. Every scan passes every file here, so unchanged files create no objects."""
        known: _StampsByPath = files.stamps_in_folder(self._database.read(), folder_path)
        round_.visited.add(folder_path)
        prefix, path_prefix = (folder + "/", folder_path + "/") if folder else ("", "")
        ignores_name, has_patterns = self._ignore.ignores_name, self._ignore.has_patterns
        unchanged = 0
        with os.scandir(handle) as entries:
            for count, entry in enumerate(entries, 1):
                if count % YIELD_EVERY == 0:
                    self._give_way(round_)
                name = entry.name
                if ignores_name(name):
                    continue
                path, escaped = path_prefix + name, folder_escaped
                if not name.isascii() or "%" in name:
                    encoded, name_escaped = encode_path(name)
                    path, escaped = path_prefix + encoded, folder_escaped or name_escaped
                try:
                    if entry.is_dir(follow_symlinks=False):
                        if not (has_patterns and self._ignore.ignores_path(prefix + name, True)):
                            stack.append(prefix + name)
                        continue
                    status: os.stat_result | None = entry.stat(follow_symlinks=False)
                    assert status is not None
                    if status.st_mode & _TYPE == _LINK:
                        status = self.vault.link_target(self.vault.disk_path(prefix + name))
                except FileNotFoundError:
                    continue
                except OSError:
                    known.pop(path, None)  # an error does not prove that the file is gone
                    round_.report.unreadable.append(path)
                    continue
                if status is None or status.st_mode & _TYPE != _REGULAR:
                    continue
                if has_patterns and self._ignore.ignores_path(prefix + name, False):
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
                    unchanged += 1
                    continue
                self._handle_found(
                    DiskFile(prefix + name, path, escaped, stamp_of(status), status.st_ctime), row is None, round_
                )
        round_.gone.extend(row[0] for row in known.values() if not row[5])
        round_.add_progress(unchanged)

    def _handle_found(self, found: DiskFile, new: bool, round_: _Round) -> None:
        """Record a rename at once; all else waits until all renames are known, so that no move looks like a change."""
        if self._pending.detect_rename(found, round_.report):
            round_.add_progress(1)
        else:
            waiting = round_.large if found.stamp.size > LARGE else round_.new if new else round_.changed
            waiting.append(found)

    def _scan_path(self, raw: str, round_: _Round) -> None:
        path, escaped = encode_path(raw)
        try:
            status = self.vault.status(raw)
        except OSError:
            round_.report.unreadable.append(path)
            return
        known = files.by_path(self._database.read(), path)
        if status is not None and stat.S_ISREG(status.st_mode) and not self._ignore.ignores(raw, False):
            stamp = stamp_of(status)
            if known is None or known.stamp != stamp or known.vanished_at is not None:
                self._handle_found(DiskFile(raw, path, escaped, stamp, status.st_ctime), known is None, round_)
            return
        if status is not None and stat.S_ISDIR(status.st_mode) and not self._ignore.ignores(raw, True):
            round_.gone.extend([known.id] if known else ())
            round_.walked.add(raw)
            self._walk(raw, round_)
            return
        round_.gone.extend(file.id for file in files.below(self._database.read(), path))

    def _find_lost_folders(self, below: str, round_: _Round) -> None:
        """Add the files of folders that no longer exist. A folder that cannot be read proves nothing."""
        db = self._database.read()
        for folder in list(files.folders(db, encode_path(below)[0])):
            if folder in round_.visited or any(
                folder == top or folder.startswith(top + "/") for top in round_.unreadable
            ):
                continue
            round_.gone.extend(row[0] for row in files.stamps_in_folder(db, folder).values() if not row[5])


def _is_below(raw: str, folders: set[str]) -> bool:
    """Whether a path is in one of these folders."""
    if not folders:
        return False
    position = raw.find("/")
    while position >= 0:
        if raw[:position] in folders:
            return True
        position = raw.find("/", position + 1)
    return False
