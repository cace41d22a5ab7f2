"""One after the other, in the order they came."""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Iterator

from chyme.errors import ChymeError

CLOSED = "chyme is shutting down; no model is asked any more"


class FairLock:
    """A lock that is fair, that its holder may take again, and that can be closed for good."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: deque[_Waiting] = deque()
        self._holder: int | None = None
        self._depth = 0
        self._closed = False

    @contextlib.contextmanager
    def acquire(self) -> Iterator[None]:
        """Wait for the turn, and have it. ChymeError when there will be no more turns."""
        self._take()
        try:
            yield
        finally:
            self._leave()

    @contextlib.contextmanager
    def try_acquire(self) -> Iterator[bool]:
        """Have the turn if nobody else has it or waits for it, and say so."""
        me = threading.get_ident()
        with self._lock:
            free = self._holder is None and not self._waiting
            if free:
                self._holder, self._depth = me, 1
        try:
            yield free
        finally:
            if free:
                self._leave()

    def close(self) -> None:
        """From now on nobody gets a turn; whoever has it keeps it."""
        with self._lock:
            self._closed = True
            waiting, self._waiting = self._waiting, deque()
        for one in waiting:
            one.called.set()

    def _take(self) -> None:
        waiting = _Waiting(threading.get_ident())
        with self._lock:
            if self._holder == waiting.thread:
                self._depth += 1
                return
            if self._closed:
                raise ChymeError(CLOSED)
            if self._holder is None:
                self._holder, self._depth = waiting.thread, 1
                return
            self._waiting.append(waiting)
        waiting.called.wait()
        if not waiting.served:
            raise ChymeError(CLOSED)

    def _leave(self) -> None:
        with self._lock:
            self._depth -= 1
            if self._depth:
                return
            self._holder = None
            if self._waiting:
                following = self._waiting.popleft()
                self._holder, self._depth = following.thread, 1
                following.served = True
                following.called.set()


class _Waiting:
    """A thread in the queue."""

    def __init__(self, thread: int) -> None:
        self.thread = thread
        self.called = threading.Event()
        self.served = False
