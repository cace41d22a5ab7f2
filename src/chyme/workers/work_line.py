"""The line of tasks that may run elsewhere, and who could take them: what threads and the loop share."""

from __future__ import annotations

import threading
import time
from collections import Counter

from chyme.core.children.places import Places
from chyme.core.children.slot import CLOSED
from chyme.errors import ChymeError
from chyme.workers.fabric import Fabric
from chyme.workers.known_workers import KnownWorker, KnownWorkers
from chyme.workers.remote_config import RemoteConfig
from chyme.workers.remote_run import RemoteRun, Waiting

LIVE_SECONDS = 15.0  # a worker that was heard of within this time counts as there
HOME_SECONDS = 60.0  # without a worker that fits for so long, it runs here all the same
WAIT_SECONDS = 5.0  # for a worker, where nothing that may travel runs here


class PutDown(ChymeError):
    """The task stops waiting: it goes back to the queue, and costs nothing."""


class WorkLine:
    """Who waits, and who works. Methods whose names begin with an underscore expect that the lock is held."""

    def __init__(self, fabric: Fabric, config: RemoteConfig, places: Places) -> None:
        self.lock = threading.Lock()
        self.workers = KnownWorkers()
        self.waiting: list[Waiting] = []
        self.runs: dict[str, RemoteRun] = {}
        self.at_home: Counter[str] = Counter()  # tasks here, by family, waiting for a child or running
        self.closed = False
        self.late_answers = 0
        self.known_to_want = False  # workers know that something waits
        self._fabric = fabric
        self._config = config
        self._places = places
        self._began = time.monotonic()
        self._fit_at: dict[str, float] = {}  # digester → when a worker that fits was last seen

    def live_workers(self) -> list[KnownWorker]:
        """Those that may get work. The lock is held."""
        return self.workers.live(LIVE_SECONDS)

    def enter(self, entry: Waiting) -> bool:
        """Take a place here for it, or have it wait. Returns whether it has the place."""
        with self.lock:
            if self.closed:
                raise ChymeError(CLOSED)
            if self._has_room_here(entry) or self._must_stay(entry):
                self.at_home[entry.family] += 1
                return True
            self.waiting.append(entry)
            return False

    def begin_here(self, family: str) -> None:
        with self.lock:
            self.at_home[family] += 1

    def end_here(self, family: str) -> None:
        """A task here has ended: its place goes to the first that waits and fits."""
        with self.lock:
            self.at_home[family] -= 1
            for entry in list(self.waiting):
                if self._has_room_here(entry):
                    self._move_home(entry)

    def close(self) -> tuple[list[Waiting], list[RemoteRun]]:
        """Accept no more tasks. Returns those that waited, and the runs."""
        with self.lock:
            self.closed = True
            waiting, self.waiting = self.waiting, []
            return waiting, list(self.runs.values())

    def give(self, worker: KnownWorker) -> RemoteRun | None:
        """The first task that this worker may have. The lock is held."""
        entry = None if self.closed or worker.set_aside else self._first_for(worker)
        if entry is None:
            self.known_to_want = False
            return None
        self.waiting.remove(entry)
        run = RemoteRun(entry, worker, self._config.run_as, self._config.answer_bytes)
        self.runs[run.run_id] = run
        worker.running[run.run_id] = entry.digester
        worker.free = max(worker.free - 1, 0)
        if entry.alone:
            worker.alone_with = run.run_id
        return run

    def end(self, run: RemoteRun) -> None:
        """A run elsewhere is over."""
        worker = run.worker
        with self.lock:
            self.runs.pop(run.run_id, None)
            worker.running.pop(run.run_id, None)
            worker.judging.discard(run.run_id)
            worker.free = min(worker.free + 1, worker.places)  # until it says so itself
            if worker.alone_with == run.run_id:
                worker.alone_with = None

    def find_run(self, name: str, instance: str, run_id: object, key: object) -> RemoteRun | None:
        """The run, if it is this worker's and it knows the key. The lock is held."""
        run = self.runs.get(run_id) if isinstance(run_id, str) else None
        if run is None or run.key != key or (run.worker.name, run.worker.instance) != (name, instance):
            return None
        return run

    def put_down(self) -> None:
        """Those that wait for workers when none fits any more wait here, or go back to the queue."""
        now = time.monotonic()
        with self.lock:
            for entry in list(self.waiting):
                if self._fitting(entry):
                    continue
                if self._must_stay(entry):
                    self._move_home(entry)
                elif not self._config.travels_always or now - entry.since > WAIT_SECONDS:
                    self.waiting.remove(entry)
                    entry.refuse(PutDown("there is no worker for it any more"))

    def _move_home(self, entry: Waiting) -> None:
        self.waiting.remove(entry)
        self.at_home[entry.family] += 1
        entry.put(None)

    def _has_room_here(self, entry: Waiting) -> bool:
        return not self._config.travels_always and self._places.has_room(entry.family, self.at_home)

    def _must_stay(self, entry: Waiting) -> bool:
        """Whether it waits for a child here, as without workers: none of them fits, and few wait here."""
        if self._fitting(entry):
            return False
        seen = time.monotonic() - self._fit_at.get(entry.digester, self._began)
        if self._config.travels_always and not entry.avoid and seen < HOME_SECONDS:
            return False  # it waits for a worker to come
        return self.at_home.total() < self._config.home_waiting

    def _fitting(self, entry: Waiting) -> list[KnownWorker]:
        if not self._fabric.connected:
            return []
        fitting = [
            worker for worker in self.live_workers() if entry.digester in worker.fits and worker not in entry.avoid
        ]
        if fitting:
            self._fit_at[entry.digester] = time.monotonic()
        return fitting

    def _first_for(self, worker: KnownWorker) -> Waiting | None:
        """The first of the line that this worker may have."""
        if worker.alone_with is not None or worker.judging:
            return None
        for entry in self.waiting:
            if entry.digester not in worker.fits or entry.size > worker.room:
                continue
            if worker in entry.avoid:
                continue
            if entry.alone and worker.running:
                continue
            return entry
        return None
