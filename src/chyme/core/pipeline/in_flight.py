"""What this process is working on right now and its progress, which other processes learn from events."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from sqlite3 import Connection

from chyme.core.store import events
from chyme.core.store.sqlite.database import Database
from chyme.model import File, Lane, iso

EVENT_INTERVAL = timedelta(seconds=2)  # per file: people want to see progress, not every step


class InFlight:
    """The files that this process has claimed, by lane, and the running attempts."""

    def __init__(self, database: Database, clock: Callable[[], datetime]) -> None:
        self._database = database
        self._clock = clock
        self._guard = threading.Lock()
        self._lanes: dict[int, Lane] = {}  # file → the lane it was claimed for
        self._reported: dict[int, datetime] = {}  # file → when its last progress event was recorded
        self.running: dict[int, tuple[str, str, float]] = {}  # file → path, digester, fraction
        self.since: dict[int, datetime] = {}  # file → when a child started on it; missing while it waits for a child

    def files(self) -> dict[int, Lane]:
        """The claimed files with their lanes."""
        with self._guard:
            return dict(self._lanes)

    def count_by_lane(self) -> Counter[Lane]:
        with self._guard:
            return Counter(self._lanes.values())

    def add_files(self, file_ids: Iterable[int], lane: Lane) -> None:
        with self._guard:
            self._lanes.update(dict.fromkeys(file_ids, lane))

    def remove_file(self, file_id: int) -> Lane:
        """Returns the lane that the file was claimed for."""
        with self._guard:
            return self._lanes.pop(file_id, Lane.ORDINARY)

    def begin(self, file: File, digester: str) -> None:
        self.running[file.id] = (file.path, digester, 0.0)
        self._reported[file.id] = self._clock()  # a very short attempt needs no event

    def take(self, file: File) -> None:
        """A child has started on the file."""
        if file.id in self.running:
            self.since[file.id] = self._clock()

    def end(self, file: File) -> None:
        self.running.pop(file.id, None)
        self.since.pop(file.id, None)
        self._reported.pop(file.id, None)

    def progress(self, file: File, digester: str, fraction: float) -> None:
        """Record the progress of an attempt, from 0 to 1. It never decreases."""
        if file.id not in self.running:
            return
        fraction = max(fraction, self.running[file.id][2])
        self.running[file.id] = (file.path, digester, fraction)
        now = self._clock()
        if now - self._reported.get(file.id, now) < EVENT_INTERVAL:
            return
        self._reported[file.id] = now

        def record(db: Connection) -> None:
            events.record(db, iso(now), "progress", file.id, file.path, digester, "in-progress", f"{fraction:.3f}")

        self._database.submit(record)  # without waiting: if this event is lost, the next one follows
