"""Hash large files in a thread of their own, a slice at a time, so that they keep nothing waiting.

A file is registered with its hash only. Until a large file is hashed it waits here; then its path is looked at once
more, and the look finds the result.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from chyme.core.files.vault_folder import Vault
from chyme.model import Seen
from chyme.vault.watch.disk_file import DiskFile
from chyme.vault.watch.file_inspection import FileInspection

log = logging.getLogger(__name__)

LARGE = 512 * 1024  # bytes; smaller files are hashed where they are found, which takes milliseconds
SLICE_PIECES = 8  # of one MB: what is hashed before another file may have its turn
OLDEST_EVERY = 4  # slices: the file that waits longest gets one of so many, however many small ones come
MOST_OPEN = 16  # files that are begun with
MOST_RESULTS = 10_000  # that nobody has asked for; beyond, the oldest is hashed again when it is
FIRST_DELAY, LONGEST_DELAY = 0.5, 60.0  # seconds before a file is begun again that changed while it was hashed


@dataclass
class _Job:
    found: DiskFile
    ready_at: float
    look_after: set[str] = field(default_factory=set)  # paths that are worth a look when this file is hashed
    examination: FileInspection | None = None

    @property
    def size_left(self) -> int:
        return self.found.stamp.size if self.examination is None else self.examination.size_left


class Hasher:
    """Small files before large ones. Must be closed.

    `look_at` is called with the paths that are worth a look. `between` is called between two slices.
    """

    def __init__(
        self, vault: Vault, look_at: Callable[[set[str]], None], between: Callable[[], None] = lambda: None
    ) -> None:
        self._vault = vault
        self._look_at = look_at
        self._between = between
        self._jobs: dict[str, _Job] = {}  # by raw path, the one that waits longest first
        self._results: dict[str, Seen] = {}
        self._changes: dict[str, int] = {}  # how often a file changed while it was hashed
        self._dropped: list[FileInspection] = []
        self._slices = 0
        self._stop = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="chyme-hasher", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Stop after the slice under way. What is not hashed is found again by the next scan."""
        with self._changed:
            self._stop = True
            self._changed.notify_all()
        self._thread.join()

    @property
    def waiting(self) -> int:
        """How many files are not hashed yet."""
        return len(self._jobs)

    def add(self, found: DiskFile) -> None:
        """Hash this file, unless that is under way."""
        with self._changed:
            before = self._jobs.get(found.raw)
            if before is not None and before.found.stamp == found.stamp:
                return
            delay = min(LONGEST_DELAY, FIRST_DELAY * 2 ** self._changes[found.raw]) if found.raw in self._changes else 0
            self._jobs[found.raw] = _Job(found, time.monotonic() + delay, before.look_after if before else set())
            if before is not None:
                self._changes[found.raw] = self._changes.get(found.raw, 0) + 1
                self._drop(before)
            self._changed.notify_all()

    def result(self, found: DiskFile) -> Seen | None:
        """What was found in this file, as long as it is the same as then."""
        with self._changed:
            seen = self._results.pop(found.raw, None)
            if seen is not None and seen.stamp != found.stamp:
                self._changes[found.raw] = self._changes.get(found.raw, 0) + 1
                return None
            return seen

    def defer_missing(self, raw: str, size: int) -> bool:
        """Whether a file that waits may be the one that is missing at this path, which is then looked at later."""
        with self._changed:
            for job in self._jobs.values():
                if job.found.stamp.size == size and job.found.raw != raw:
                    job.look_after.add(raw)
                    return True
        return False

    def _run(self) -> None:
        while True:
            with self._changed:
                for examination in self._dropped:
                    examination.close()
                self._dropped = []
                if self._stop:
                    for job in self._jobs.values():
                        if job.examination is not None:
                            job.examination.close()
                    return
                job_next = self._next()
                if job_next is None:
                    self._changed.wait(self._seconds_to_wait())
                    continue
            try:
                self._hash_slice(job_next)
            except Exception:  # without this thread no large file is ever taken in again
                log.exception("%s could not be hashed", job_next.found.path)
                self._end(job_next, None, look=False)
            self._between()

    def _next(self) -> _Job | None:
        now = time.monotonic()
        ready = [job for job in self._jobs.values() if job.ready_at <= now]
        begun = [job for job in ready if job.examination is not None]
        if len(begun) >= MOST_OPEN:
            ready = begun
        if not ready:
            return None
        self._slices += 1
        return ready[0] if self._slices % OLDEST_EVERY == 0 else min(ready, key=lambda job: job.size_left)

    def _seconds_to_wait(self) -> float | None:
        soonest = min((job.ready_at for job in self._jobs.values()), default=None)
        return None if soonest is None else max(0.0, soonest - time.monotonic())

    def _hash_slice(self, job: _Job) -> None:
        try:
            examination = job.examination
            if examination is None:
                examination = FileInspection(self._vault, job.found.path, job.found.escaped)
                job.examination = examination
            more = True
            for _ in range(SLICE_PIECES):
                if self._stop or not (more := examination.read_piece()):
                    break
            if examination.has_changed():
                self._end(job, None, look=True)
            elif not more:
                self._end(job, examination.result(), look=True)
        except OSError as error:
            log.debug("%s could not be hashed: %s", job.found.path, error)
            self._end(job, None, look=False)  # it went, or cannot be read; a look would try again at once

    def _end(self, job: _Job, seen: Seen | None, look: bool) -> None:
        raw = job.found.raw
        with self._changed:
            if self._jobs.get(raw) is not job:
                return  # it was replaced, and is closed with what was dropped
            del self._jobs[raw]
            self._drop(job)
            if seen is not None:
                self._results[raw] = seen
                if len(self._results) > MOST_RESULTS:
                    del self._results[next(iter(self._results))]
                self._changes.pop(raw, None)
            elif look:
                self._changes[raw] = self._changes.get(raw, 0) + 1
            if not self._jobs and not look:
                self._changes.clear()
        looks = job.look_after | ({raw} if look else set())
        if looks:
            self._look_at(looks)

    def _drop(self, job: _Job) -> None:
        if job.examination is not None:
            self._dropped.append(job.examination)
