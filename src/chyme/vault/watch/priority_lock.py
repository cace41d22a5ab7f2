"""A lock that lets one scan round work at a time, and a long round give way to a short one between two steps."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from enum import IntEnum


class Priority(IntEnum):
    """Which round goes first when several wait: the lowest number."""

    FILES = 0  # a few files
    FOLDERS = 1  # whole folders
    ALL = 2  # the whole vault


class PriorityLock:
    """A lock with priorities. Not reentrant."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._busy = False
        self.waiting = [0] * len(Priority)  # rounds that wait, by priority

    @contextlib.contextmanager
    def hold(self, priority: Priority) -> Iterator[None]:
        """Hold the lock for one round, as soon as it is free."""
        self.acquire(priority)
        try:
            yield
        finally:
            self.release()

    def acquire(self, priority: Priority, seconds: float | None = None) -> bool:
        """Take the lock and return True, or return False after this many seconds of waiting."""
        with self._changed:
            self.waiting[priority] += 1
            try:
                acquired = self._changed.wait_for(lambda: not (self._busy or any(self.waiting[:priority])), seconds)
            finally:
                self.waiting[priority] -= 1
            self._busy |= acquired
            self._changed.notify_all()
            return acquired

    def release(self) -> None:
        with self._changed:
            self._busy = False
            self._changed.notify_all()

    def is_wanted(self, priority: Priority) -> bool:
        """Whether a round of a higher priority waits. Cheap enough to be called for every file."""
        return any(self.waiting[:priority])

    def yield_turn(self, priority: Priority) -> None:
        """Let rounds of a higher priority go first; return when this round has the lock again."""
        with self._changed:
            self.release()
            self.acquire(priority)
