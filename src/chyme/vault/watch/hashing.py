"""Hash large files in a separate thread, a slice at a time, so that nothing else has to wait for them.

A file is registered only together with its hash. A large file waits here until it is hashed; then its path is checked
once more, and that check finds the result.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from chyme.core.files.vault_folder import Vault
from chyme.model import Seen
from chyme.vault.watch.file_inspection import DiskFile, FileInspection

log = logging.getLogger(__name__)

LARGE = 512 * 1024  # bytes; smaller files are hashed where they are found, which takes milliseconds
SLICE_PIECES = 8  # of one MB each, hashed before another file may have its turn
OLDEST_EVERY = 4  # the file that has waited longest gets every fourth slice, however many small files arrive
MAX_OPEN = 16  # files that are hashed in part
MAX_RESULTS = 10_000  # not fetched yet; beyond this the oldest is dropped, and hashed again when it is needed
FIRST_DELAY, LONGEST_DELAY = 0.5, 60.0  # seconds before a file that changed while it was hashed is tried again


@dataclass
class _Job:
    found: DiskFile
    ready_at: float
    recheck_paths: set[str] = field(default_factory=set)  # paths to check once this file is hashed
    inspection: FileInspection | None = None

    @property
    def size_left(self) -> int:
        return self.found.stamp.size if self.inspection is None else self.inspection.size_left


class Hasher:
    """Hashes small files before large ones. Must be closed.

    `look_at` is called with the paths that should be checked again. `between` is called between two slices.
    """

    def __init__(
        self, vault: Vault, look_at: Callable[[set[str]], None], between: Callable[[], None] = lambda: None
    ) -> None:
        self._vault = vault
        self._recheck = look_at
        self._between = between
        self._jobs: dict[str, _Job] = {}  # by raw path, the one that has waited longest first
        self._results: dict[str, Seen] = {}
        self._changes: Counter[str] = Counter()  # how often a file changed while it was hashed
        self._to_close: list[FileInspection] = []
        self._slice_count = 0
        self._stop = False
        self._condition = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="chyme-hasher", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Stop after the current slice. The next scan finds the files that are not hashed yet."""
        with self._condition:
            self._stop = True
            self._condition.notify_all()
        self._thread.join()

    @property
    def waiting(self) -> int:
        """The number of files that are not hashed yet."""
        return len(self._jobs)

    def add(self, found: DiskFile) -> None:
        """Queue this file to be hashed, unless it is queued already."""
        with self._condition:
            previous = self._jobs.get(found.raw)
            if previous is not None and previous.found.stamp == found.stamp:
                return
            changes = self._changes[found.raw]
            delay = min(LONGEST_DELAY, FIRST_DELAY * 2**changes) if changes else 0
            self._jobs[found.raw] = _Job(found, time.monotonic() + delay, previous.recheck_paths if previous else set())
            if previous is not None:
                self._changes[found.raw] += 1
                self._close_later(previous)
            self._condition.notify_all()

    def result(self, found: DiskFile) -> Seen | None:
        """The result for this file, if the file has not changed since it was hashed."""
        with self._condition:
            seen = self._results.pop(found.raw, None)
            if seen is not None and seen.stamp != found.stamp:
                self._changes[found.raw] += 1
                return None
            return seen

    def defer_missing(self, raw: str, size: int) -> bool:
        """Whether a waiting file may be the one missing at this path; if so, the path is checked again later."""
        with self._condition:
            for job in self._jobs.values():
                if job.found.stamp.size == size and job.found.raw != raw:
                    job.recheck_paths.add(raw)
                    return True
        return False

    def _run(self) -> None:
        while True:
            with self._condition:
                for inspection in self._to_close:
                    inspection.close()
                self._to_close = []
                if self._stop:
                    for job in self._jobs.values():
                        if job.inspection is not None:
                            job.inspection.close()
                    return
                next_job = self._next_job()
                if next_job is None:
                    self._condition.wait(self._seconds_to_wait())
                    continue
            try:
                self._hash_slice(next_job)
            except Exception:  # if this thread ended, no large file would ever be registered again
                log.exception("%s could not be hashed", next_job.found.path)
                self._finish(next_job, None, recheck=False)
            self._between()

    def _next_job(self) -> _Job | None:
        now = time.monotonic()
        ready = [job for job in self._jobs.values() if job.ready_at <= now]
        begun = [job for job in ready if job.inspection is not None]
        if len(begun) >= MAX_OPEN:
            ready = begun
        if not ready:
            return None
        self._slice_count += 1
        return ready[0] if self._slice_count % OLDEST_EVERY == 0 else min(ready, key=lambda job: job.size_left)

    def _seconds_to_wait(self) -> float | None:
        soonest = min((job.ready_at for job in self._jobs.values()), default=None)
        return None if soonest is None else max(0.0, soonest - time.monotonic())

    def _hash_slice(self, job: _Job) -> None:
        try:
            inspection = job.inspection
            if inspection is None:
                inspection = FileInspection(self._vault, job.found.path, job.found.escaped)
                job.inspection = inspection
            has_more = True
            for _ in range(SLICE_PIECES):
                if self._stop or not (has_more := inspection.read_piece()):
                    break
            if inspection.has_changed():
                self._finish(job, None, recheck=True)
            elif not has_more:
                self._finish(job, inspection.result(), recheck=True)
        except OSError as error:
            log.debug("%s could not be hashed: %s", job.found.path, error)
            self._finish(job, None, recheck=False)  # it is gone or unreadable; a check would try again at once

    def _finish(self, job: _Job, seen: Seen | None, recheck: bool) -> None:
        raw = job.found.raw
        with self._condition:
            if self._jobs.get(raw) is not job:
                return  # it was replaced; its inspection is closed with the dropped ones
            del self._jobs[raw]
            self._close_later(job)
            if seen is not None:
                self._results[raw] = seen
                if len(self._results) > MAX_RESULTS:
                    del self._results[next(iter(self._results))]
                self._changes.pop(raw, None)
            elif recheck:
                self._changes[raw] += 1
            if not self._jobs and not recheck:
                self._changes.clear()
        paths = job.recheck_paths | ({raw} if recheck else set())
        if paths:
            self._recheck(paths)

    def _close_later(self, job: _Job) -> None:
        if job.inspection is not None:
            self._to_close.append(job.inspection)
