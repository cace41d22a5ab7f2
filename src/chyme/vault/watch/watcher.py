"""Follow the file system's events, wait until files stop changing, and scan again every hour.

Files, folders and the hashing of large files have a thread each, so that a note waits neither for a thousand folders
nor for a film.
"""

from __future__ import annotations

import logging
import os
import stat
import threading
import time
from collections.abc import Callable

from chyme.errors import DiskFull
from chyme.vault.watch import ignore_rules
from chyme.vault.watch.hashing import Hasher
from chyme.vault.watch.inotify import InotifyListener
from chyme.vault.watch.pending_files import STILL_SECONDS, ScanReport, ScanStopped
from chyme.vault.watch.priority_lock import Priority
from chyme.vault.watch.scanner import Scanner

log = logging.getLogger(__name__)

SETTLE_SECONDS = 0.1
RETURN_SECONDS = 1.0
FULL_SECONDS = 5.0  # between two attempts while the disk is full


class Watcher:
    """Keeps the database in step with the vault on disk, in a few threads. Must be closed.

    `expect` is called when files have come that must first stop changing, `noticed` after changes were registered,
    `between_slices` by the thread that hashes large files between two slices, and `report_full` with the reason when
    the database cannot be written because the disk is full.
    """

    def __init__(
        self,
        root: str,
        scanner: Scanner,
        noticed: Callable[[], None],
        rescan: float,
        between_slices: Callable[[], None] = lambda: None,
        report_full: Callable[[str], None] = log.warning,
        expect: Callable[[], None] = lambda: None,
    ) -> None:
        self._root = root
        self._hasher = Hasher(scanner.vault, self._add_paths, between_slices)
        self._scanner = scanner
        self._noticed = noticed
        self._report_full = report_full
        self._expect = expect
        self._rescan_seconds = rescan
        self._stop = threading.Event()
        self._wake_files = threading.Event()
        self._paths: set[str] = set()
        self._checking = 0
        self._folders: set[str] = set()  # folders, and paths that may have moved into them
        self._walking = 0
        self._wake_folders = threading.Event()
        self._scan_due = float("inf")
        self._mutex = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._listener: InotifyListener | None = None
        self._following = False
        self.problem: str | None = None  # why only the hourly scan notices changes, in words for people

    def start(self, follow: bool = True) -> None:
        """Start checking files that are changing; with `follow`, also follow the file system's events.

        Everything that happens after this returns is noticed, so that a scan from then on misses nothing.
        """
        jobs = [self._work]
        self._scanner.on_unfinished(self._wake_files.set)
        if follow:
            self._scanner.set_hasher(self._hasher)
            self._hasher.start()
            self._following = True
            jobs.append(self._walk)
            self._scan_due = time.monotonic() + self._rescan_seconds
            try:
                self._listener = InotifyListener(self._root, self._scanner.ignores)
                self._update_problem(self._listener)
                jobs += [self._listen]
            except OSError as error:
                self._set_problem(f"{error.strerror}; raise fs.inotify.max_user_instances")
        for job in jobs:
            thread = threading.Thread(target=job, name=f"chyme-watch{job.__name__}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def close(self) -> None:
        self._stop.set()
        self._wake_files.set()
        self._wake_folders.set()
        if self._listener is not None:
            self._listener.interrupt()
        with self._scanner.interrupt():
            for thread in self._threads:
                thread.join()
        if self._following:
            self._scanner.set_hasher(None)
            self._hasher.close()
        if self._listener is not None:
            self._listener.close()
            self._listener = None

    def rescan_path(self, path: str) -> None:
        """Check a path (as the disk spells it) again soon."""
        self._add_paths({path})

    @property
    def unfinished_count(self) -> int:
        """The number of files that are changing or wait to be checked."""
        with self._mutex:
            return (
                len(self._paths) + self._checking + len(self._folders) + self._walking + self._scanner.unfinished_count
            )

    def _work(self) -> None:
        """Check files that had events, and register those that have stopped changing."""
        expecting = False
        while not self._stop.is_set():
            if self._scanner.has_unfinished:
                if not expecting:
                    self._expect()
                expecting = True
                self._stop.wait(SETTLE_SECONDS)
            else:
                expecting = False
                self._wake_files.wait()
            self._wake_files.clear()
            self._scan_files()
            if self._scanner.has_unfinished:
                self._run_scan(self._scanner.recheck_unfinished)

    def _scan_files(self) -> None:
        with self._mutex:
            paths, self._paths = self._paths, set()
            self._checking = len(paths)
        files = self._files_among(paths) if self._following else paths
        with self._mutex:
            self._folders |= paths - files
            self._checking = len(files)
        if paths - files:
            self._wake_folders.set()
        if files and not self._run_scan(lambda: self._scanner.scan_paths(files, Priority.FILES)):
            self._add_paths(files)
        with self._mutex:
            self._checking = 0

    def _files_among(self, paths: set[str]) -> set[str]:
        """The paths that the thread for files checks. The other thread checks folders, and all that may be in them."""
        modes = {raw: self._mode_of(raw) for raw in paths}
        files = {raw for raw, mode in modes.items() if mode and not stat.S_ISDIR(mode)} - {ignore_rules.FILE_NAME}
        may_have_moved = self._folders or self._walking or any(stat.S_ISDIR(mode) for mode in modes.values())
        return files if may_have_moved else paths - {ignore_rules.FILE_NAME}

    def _mode_of(self, raw: str) -> int:
        """The mode of what is at a path; 0 if nothing is there or that is unknown."""
        try:
            return os.lstat(os.path.join(self._root, raw)).st_mode
        except (OSError, ValueError):
            return 0

    def _walk(self) -> None:
        """Scan folders that had events, and the whole vault when that is due."""
        while not self._stop.is_set():
            self._wake_folders.wait(self._seconds_to_scan())
            self._wake_folders.clear()
            if time.monotonic() >= self._scan_due:
                self._scan_due = time.monotonic() + self._rescan_seconds
                self._watch_all()
                self._run_scan(self._scanner.scan)
            self._scan_folders()

    def _scan_folders(self) -> None:
        with self._mutex:
            folders, self._folders = self._folders, set()
            self._walking = len(folders)
        if folders and not self._run_scan(lambda: self._scanner.scan_paths(folders)):
            self._add_paths(folders)
        elif ignore_rules.FILE_NAME in folders:
            self._add_paths(self._watch_all())  # folders that were ignored or missed until now
        with self._mutex:
            self._walking = 0

    def _add_paths(self, paths: set[str]) -> None:
        if paths:
            with self._mutex:
                self._paths |= paths
            self._wake_files.set()

    def _seconds_to_scan(self) -> float | None:
        seconds = self._scan_due - time.monotonic()
        return None if seconds == float("inf") else max(0.0, seconds)

    def _run_scan(self, scan: Callable[[], ScanReport]) -> bool:
        """Run a scan and return whether it worked. No error of one scan may end the watching."""
        if self._scanner.problem():
            self._wait_for_return()
            return False
        try:
            report = scan()
        except ScanStopped:
            return True
        except DiskFull as error:
            self._report_full(str(error))
            self._stop.wait(FULL_SECONDS)
            self._add_paths({ignore_rules.FILE_NAME})  # everything: what could not be registered was forgotten
            return False
        except Exception as error:
            if not self._scanner.problem():
                self._scanner.log_failure(error)
        else:
            if report.has_changes:
                self._noticed()
            return True
        self._stop.wait(STILL_SECONDS)
        return False

    def _wait_for_return(self) -> None:
        """Wait until the vault is back, and then scan all of it: there were no events for what happened meanwhile."""
        while self._scanner.problem():
            if self._stop.wait(RETURN_SECONDS):
                return
        self._add_paths({ignore_rules.FILE_NAME})

    def _listen(self) -> None:
        listener = self._listener
        assert listener is not None
        while not self._stop.is_set():
            events = listener.wait_for_events(None)
            if events.lost or ignore_rules.FILE_NAME in events.paths:
                events.paths = {ignore_rules.FILE_NAME}  # checking the ignore file means scanning everything
            self._add_paths(events.paths)

    def _watch_all(self) -> set[str]:
        if self._listener is None:
            return set()
        added = self._listener.watch_tree("")
        self._update_problem(self._listener)
        return added

    def _update_problem(self, listener: InotifyListener) -> None:
        self.problem = None
        if listener.unwatched_count:
            self._set_problem(f"no room for {listener.unwatched_count} folders; raise fs.inotify.max_user_watches")

    def _set_problem(self, reason: str) -> None:
        self.problem = f"changes are noticed by the hourly scan only ({reason})"
        log.warning(self.problem)
