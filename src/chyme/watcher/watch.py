"""Follow the file system's own events, let files become still, and scan again every hour."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable

from watchfiles._rust_notify import RustNotify

from chyme.errors import ChymeError
from chyme.watcher.scan import STILL_SECONDS, Report, Scanner

log = logging.getLogger(__name__)

SETTLE_SECONDS = 0.1
DEBOUNCE_MS = 200
STEP_MS = 50
IDLE_MS = 1000


class Watcher:
    """Threads that keep the database's idea of the vault in step with the disk. Must be closed."""

    def __init__(self, root: str, scanner: Scanner, noticed: Callable[[], None], rescan: float) -> None:
        self._root = root
        self._scanner = scanner
        self._noticed = noticed
        self._rescan = rescan
        self._stop = threading.Event()
        self._nudged = threading.Event()
        self._looks: set[str] = set()
        self._guard = threading.Lock()
        self._threads: list[threading.Thread] = []
        self.problem: str | None = None  # why changes are only noticed by the hourly scan, for people

    def start(self, follow: bool = True) -> None:
        """Begin to settle moving files; with `follow`, to listen to the file system as well."""
        jobs = [self._settle]
        if follow:
            jobs += [self._follow_top, self._follow_below, self._scan_again]
        for job in jobs:
            thread = threading.Thread(target=job, name=f"chyme-watch{job.__name__}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def close(self) -> None:
        self._stop.set()
        self._nudged.set()
        for thread in self._threads:
            thread.join()

    def look_at(self, path: str) -> None:
        """A path (as the disk spells it) is worth another look."""
        with self._guard:
            self._looks.add(path)
        self._nudged.set()

    @property
    def unsettled(self) -> int:
        """How many files are known to be changing."""
        with self._guard:
            return len(self._looks) + self._scanner.moving

    def _settle(self) -> None:
        while not self._stop.is_set():
            if self._scanner.moving:
                self._stop.wait(SETTLE_SECONDS)
            else:
                self._nudged.wait(IDLE_MS / 1000)
            self._nudged.clear()
            with self._guard:
                looks, self._looks = self._looks, set()
            if looks:
                self._act(lambda looks=looks: self._scanner.look(looks))  # type: ignore[misc]
            if self._scanner.moving:
                self._act(self._scanner.settle)

    def _act(self, look: Callable[[], Report]) -> None:
        try:
            report = look()
        except ChymeError as error:
            log.warning("could not look at what changed: %s", error)
            self._stop.wait(STILL_SECONDS)
            return
        if report.new or report.changed or report.moved or report.vanished:
            self._noticed()

    def _follow_top(self) -> None:
        """The root itself, without what is below: chyme's own folder is there and changes all the time."""
        self._follow(lambda: [self._root], recursive=False)

    def _follow_below(self) -> None:
        """Every visible folder of the root, with all that is below."""
        self._follow(self._top_folders, recursive=True)

    def _follow(self, wanted: Callable[[], list[str]], recursive: bool) -> None:
        while not self._stop.is_set():
            try:
                self._listen(wanted, recursive)
            except (OSError, RuntimeError) as error:
                self._cannot_follow(error)

    def _listen(self, wanted: Callable[[], list[str]], recursive: bool) -> None:
        folders = wanted()
        ears = RustNotify(folders, False, False, 300, recursive, True)
        try:
            while not self._stop.is_set():
                heard = ears.watch(DEBOUNCE_MS, STEP_MS, IDLE_MS, self._stop)
                if isinstance(heard, set):
                    self._take(heard)
                now = wanted()
                if now != folders:
                    # The new ears are open before the old ones close: nothing is missed in between.
                    before, ears = ears, RustNotify(now, False, False, 300, recursive, True)
                    before.close()
                    for folder in set(now) - set(folders):
                        self._take({(1, folder)})
                    folders = now
        finally:
            ears.close()

    def _top_folders(self) -> list[str]:
        try:
            with os.scandir(self._root) as entries:
                found = [e.path for e in entries if not e.name.startswith(".") and e.is_dir(follow_symlinks=False)]
                return sorted(found)
        except OSError:
            return []

    def _take(self, changes: set[tuple[int, str]]) -> None:
        prefix = os.path.join(self._root, "")
        with self._guard:
            self._looks.update(path.removeprefix(prefix) for _, path in changes if path.startswith(prefix))
        self._nudged.set()

    def _cannot_follow(self, error: Exception) -> None:
        self.problem = (
            f"changes are noticed by the scan only ({error}); raise fs.inotify.max_user_watches to see them at once"
        )
        log.warning(self.problem)
        self._stop.wait(60)

    def _scan_again(self) -> None:
        due = time.monotonic() + self._rescan
        while not self._stop.wait(min(5.0, self._rescan)):
            if time.monotonic() >= due:
                self._act(self._scanner.scan)
                due = time.monotonic() + self._rescan
