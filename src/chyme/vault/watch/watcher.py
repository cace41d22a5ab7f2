"""Follow the file system's own events, let files become still, and scan again every hour.

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
FULL_SECONDS = 5.0  # between two looks while the disk is full


class Watcher:
    """A few threads that keep the database's idea of the vault in step with the disk. Must be closed.

    `between_slices` is called by the thread that hashes large files, between two slices; `report_full` with the reason
    when what was seen cannot be written because the disk is full.
    """

    def __init__(
        self,
        root: str,
        scanner: Scanner,
        noticed: Callable[[], None],
        rescan: float,
        between_slices: Callable[[], None] = lambda: None,
        report_full: Callable[[str], None] = log.warning,
    ) -> None:
        self._root = root
        self._hasher = Hasher(scanner.vault, self._look_later, between_slices)
        self._scanner = scanner
        self._noticed = noticed
        self._report_full = report_full
        self._rescan = rescan
        self._stop = threading.Event()
        self._nudged = threading.Event()
        self._looks: set[str] = set()
        self._looking = 0
        self._walks: set[str] = set()  # folders, and what may have moved into them
        self._walking = 0
        self._walk_nudged = threading.Event()
        self._scan_due = float("inf")
        self._guard = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._ears: InotifyListener | None = None
        self._following = False
        self.problem: str | None = None  # why changes are only noticed by the hourly scan, for people

    def start(self, follow: bool = True) -> None:
        """Begin to settle moving files; with `follow`, to listen to the file system as well.

        What happens after this returns is heard, so that a scan from here on misses nothing.
        """
        jobs = [self._work]
        self._scanner.on_unfinished(self._nudged.set)
        if follow:
            self._scanner.set_hasher(self._hasher)
            self._hasher.start()
            self._following = True
            jobs.append(self._walk)
            self._scan_due = time.monotonic() + self._rescan
            try:
                self._ears = InotifyListener(self._root, self._scanner.ignores)
                self._complain(self._ears)
                jobs += [self._listen]
            except OSError as error:
                self._cannot_follow(f"{error.strerror}; raise fs.inotify.max_user_instances")
        for job in jobs:
            thread = threading.Thread(target=job, name=f"chyme-watch{job.__name__}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def close(self) -> None:
        self._stop.set()
        self._nudged.set()
        self._walk_nudged.set()
        if self._ears is not None:
            self._ears.interrupt()
        with self._scanner.interrupt():
            for thread in self._threads:
                thread.join()
        if self._following:
            self._scanner.set_hasher(None)
            self._hasher.close()
        if self._ears is not None:
            self._ears.close()
            self._ears = None

    def rescan_path(self, path: str) -> None:
        """A path (as the disk spells it) is worth another look."""
        self._look_later({path})

    @property
    def unfinished_count(self) -> int:
        """How many files are known to be changing."""
        with self._guard:
            return len(self._looks) + self._looking + len(self._walks) + self._walking + self._scanner.unfinished_count

    def _work(self) -> None:
        """Look at files where something happened, and take what has become still."""
        while not self._stop.is_set():
            if self._scanner.has_unfinished:
                self._stop.wait(SETTLE_SECONDS)
            else:
                self._nudged.wait()
            self._nudged.clear()
            self._look()
            if self._scanner.has_unfinished:
                self._act(self._scanner.recheck_unfinished)

    def _look(self) -> None:
        with self._guard:
            looks, self._looks = self._looks, set()
            self._looking = len(looks)
        files = self._files_among(looks) if self._following else looks
        with self._guard:
            self._walks |= looks - files
            self._looking = len(files)
        if looks - files:
            self._walk_nudged.set()
        if files and not self._act(lambda: self._scanner.scan_paths(files, Priority.FILES)):
            self._look_later(files)
        with self._guard:
            self._looking = 0

    def _files_among(self, looks: set[str]) -> set[str]:
        """Those that the thread for files looks at. Folders are for the other one, with all that may be in them."""
        modes = {raw: self._mode_of(raw) for raw in looks}
        files = {raw for raw, mode in modes.items() if mode and not stat.S_ISDIR(mode)} - {ignore_rules.FILE_NAME}
        may_have_moved = self._walks or self._walking or any(stat.S_ISDIR(mode) for mode in modes.values())
        return files if may_have_moved else looks - {ignore_rules.FILE_NAME}

    def _mode_of(self, raw: str) -> int:
        """The mode of what is at a path; 0 when nothing is, or it cannot be told."""
        try:
            return os.lstat(os.path.join(self._root, raw)).st_mode
        except (OSError, ValueError):
            return 0

    def _walk(self) -> None:
        """Look at folders where something happened, and at all of them when it is time."""
        while not self._stop.is_set():
            self._walk_nudged.wait(self._patience())
            self._walk_nudged.clear()
            if time.monotonic() >= self._scan_due:
                self._scan_due = time.monotonic() + self._rescan
                self._listen_to_all()
                self._act(self._scanner.scan)
            self._look_into_folders()

    def _look_into_folders(self) -> None:
        with self._guard:
            walks, self._walks = self._walks, set()
            self._walking = len(walks)
        if walks and not self._act(lambda: self._scanner.scan_paths(walks)):
            self._look_later(walks)
        elif ignore_rules.FILE_NAME in walks:
            self._look_later(self._listen_to_all())  # folders that were ignored, or missed, until now
        with self._guard:
            self._walking = 0

    def _look_later(self, looks: set[str]) -> None:
        if looks:
            with self._guard:
                self._looks |= looks
            self._nudged.set()

    def _patience(self) -> float | None:
        left = self._scan_due - time.monotonic()
        return None if left == float("inf") else max(0.0, left)

    def _act(self, look: Callable[[], ScanReport]) -> bool:
        """Whether it worked. Nothing that one look comes upon may end the watch."""
        if self._scanner.problem():
            self._wait_for_return()
            return False
        try:
            report = look()
        except ScanStopped:
            return True
        except DiskFull as error:
            self._report_full(str(error))
            self._stop.wait(FULL_SECONDS)
            self._look_later(
                {ignore_rules.FILE_NAME}
            )  # at everything: what could not be registered is not kept in mind
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
        """Wait until the vault is back, and then look at all of it: nobody has told what happened meanwhile."""
        while self._scanner.problem():
            if self._stop.wait(RETURN_SECONDS):
                return
        self._look_later({ignore_rules.FILE_NAME})

    def _listen(self) -> None:
        ears = self._ears
        assert ears is not None
        while not self._stop.is_set():
            heard = ears.wait_for_events(None)
            if heard.lost or ignore_rules.FILE_NAME in heard.paths:
                heard.paths = {ignore_rules.FILE_NAME}  # a look at the patterns is a look at everything
            self._look_later(heard.paths)

    def _listen_to_all(self) -> set[str]:
        if self._ears is None:
            return set()
        added = self._ears.watch_tree("")
        self._complain(self._ears)
        return added

    def _complain(self, ears: InotifyListener) -> None:
        self.problem = None
        if ears.unwatched_count:
            self._cannot_follow(f"no room for {ears.unwatched_count} folders; raise fs.inotify.max_user_watches")

    def _cannot_follow(self, reason: str) -> None:
        self.problem = f"changes are noticed by the hourly scan only ({reason})"
        log.warning(self.problem)
