"""What is being worked on right now, and how far it is: for this process at once, for all others as events."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from sqlite3 import Connection

from chyme.core.store import events
from chyme.core.store.sqlite.database import Database
from chyme.model import File, Lane, iso

EVENT_INTERVAL = timedelta(seconds=2)  # per file: a person wants to see that it moves, not every step


class InFlight:
    """The files that this process has taken, by lane, and the attempts that are running."""

    def __init__(self, database: Database, clock: Callable[[], datetime]) -> None:
        self._database = database
        self._clock = clock
        self._guard = threading.Lock()
        self._lanes: dict[int, Lane] = {}  # file → the lane that took it
        self._reported: dict[int, datetime] = {}  # file → when its progress was last an event
        self.running: dict[int, tuple[str, str, float]] = {}  # file → path, digester, fraction
        self.since: dict[int, datetime] = {}  # file → when a child took it; those that wait for one are missing

    def files(self) -> dict[int, Lane]:
        """The files that are taken, with their lanes."""
        with self._guard:
            return dict(self._lanes)

    def count_by_lane(self) -> Counter[Lane]:
        with self._guard:
            return Counter(self._lanes.values())

    def add_files(self, file_ids: Iterable[int], lane: Lane) -> None:
        with self._guard:
            self._lanes.update(dict.fromkeys(file_ids, lane))

    def remove_file(self, file_id: int) -> Lane:
        """Returns the lane that had taken it."""
        with self._guard:
            return self._lanes.pop(file_id, Lane.ORDINARY)

    def begin(self, file: File, digester: str) -> None:
        self.running[file.id] = (file.path, digester, 0.0)
        self._reported[file.id] = self._clock()  # an attempt that is over in a moment needs no event

    def take(self, file: File) -> None:
        """A child works on it from now on."""
        if file.id in self.running:
            self.since[file.id] = self._clock()

    def end(self, file: File) -> None:
        self.running.pop(file.id, None)
        self.since.pop(file.id, None)
        self._reported.pop(file.id, None)

    def progress(self, file: File, digester: str, fraction: float) -> None:
        """How far this attempt is, from 0 to 1. It never goes back."""
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

        self._database.submit(record)  # without waiting: a lost event is followed by the next
