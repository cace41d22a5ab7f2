"""What is being worked on right now, and how far it is: for this process at once, for all others as events."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from sqlite3 import Connection

from chyme.core.store import events
from chyme.core.store.sqlite.database import Database
from chyme.model import File, iso

EVENT_EVERY = timedelta(seconds=2)  # and file: a person wants to see that it moves, not every step


class ActiveAttempts:
    """The attempts under way in this process."""

    def __init__(self, database: Database, clock: Callable[[], datetime]) -> None:
        self._database = database
        self._clock = clock
        self._told: dict[int, datetime] = {}
        self.running: dict[int, tuple[str, str, float]] = {}  # file → path, digester, fraction
        self.since: dict[int, datetime] = {}  # file → when a child took it; those that wait for one have none

    def begin(self, file: File, digester: str) -> None:
        self.running[file.id] = (file.path, digester, 0.0)
        self._told[file.id] = self._clock()  # what is over in a moment needs no event

    def take(self, file: File) -> None:
        """Somebody works on it from now on."""
        if file.id in self.running:
            self.since[file.id] = self._clock()

    def end(self, file: File) -> None:
        self.running.pop(file.id, None)
        self.since.pop(file.id, None)
        self._told.pop(file.id, None)

    def progress(self, file: File, digester: str, fraction: float) -> None:
        """How far this attempt is, from 0 to 1."""
        if file.id not in self.running:
            return
        fraction = max(fraction, self.running[file.id][2])  # what is done stays done
        self.running[file.id] = (file.path, digester, fraction)
        now = self._clock()
        if now - self._told.get(file.id, now) < EVENT_EVERY:
            return
        self._told[file.id] = now

        def tell(db: Connection) -> None:
            events.record(db, iso(now), "progress", file.id, file.path, digester, "in-progress", f"{fraction:.3f}")

        self._database.submit(tell)  # nobody waits: one that is lost is followed by the next
