"""Let one round work at a time, and let a long round give way to a short one between two of its steps."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from enum import IntEnum


class Priority(IntEnum):
    """Which round goes first when several wait."""

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
        """The turn of a round, as soon as it is free."""
        self.acquire(priority)
        try:
            yield
        finally:
            self.release()

    def acquire(self, priority: Priority, seconds: float | None = None) -> bool:
        """Whether the turn is ours; False after so many seconds of waiting."""
        with self._changed:
            return self._acquire(priority, seconds)

    def release(self) -> None:
        with self._changed:
            self._release()

    def is_wanted(self, priority: Priority) -> bool:
        """Whether a round of a higher priority waits. Cheap enough to be asked for every file."""
        return any(self.waiting[:priority])

    def yield_turn(self, priority: Priority) -> None:
        """Let rounds of a higher priority go first; returns when the turn is ours again."""
        with self._changed:
            self._release()
            self._acquire(priority, None)

    def _acquire(self, priority: Priority, seconds: float | None) -> bool:
        self.waiting[priority] += 1
        try:
            is_ours = self._changed.wait_for(lambda: not (self._busy or any(self.waiting[:priority])), seconds)
        finally:
            self.waiting[priority] -= 1
        self._busy |= is_ours
        self._changed.notify_all()
        return is_ours

    def _release(self) -> None:
        self._busy = False
        self._changed.notify_all()
