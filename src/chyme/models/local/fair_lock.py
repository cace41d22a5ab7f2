"""A lock that threads get in the order they asked for it."""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Iterator

from chyme.errors import ChymeError

CLOSED = "chyme is shutting down; no model is asked any more"


class FairLock:
    """A fair, reentrant lock that can be closed for good."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: deque[_Waiting] = deque()
        self._holder: int | None = None
        self._depth = 0
        self._closed = False

    @contextlib.contextmanager
    def acquire(self) -> Iterator[None]:
        """Wait for the lock and hold it. ChymeError if the lock is closed."""
        self._acquire()
        try:
            yield
        finally:
            self._release()

    @contextlib.contextmanager
    def try_acquire(self) -> Iterator[bool]:
        """Hold the lock if it is free and no thread waits for it; yields whether it is held."""
        me = threading.get_ident()
        with self._lock:
            free = self._holder is None and not self._waiting
            if free:
                self._holder, self._depth = me, 1
        try:
            yield free
        finally:
            if free:
                self._release()

    def close(self) -> None:
        """Give the lock to no one from now on; the current holder keeps it."""
        with self._lock:
            self._closed = True
            waiting, self._waiting = self._waiting, deque()
        for waiter in waiting:
            waiter.called.set()

    def _acquire(self) -> None:
        waiter = _Waiting(threading.get_ident())
        with self._lock:
            if self._holder == waiter.thread:
                self._depth += 1
                return
            if self._closed:
                raise ChymeError(CLOSED)
            if self._holder is None:
                self._holder, self._depth = waiter.thread, 1
                return
            self._waiting.append(waiter)
        waiter.called.wait()
        if not waiter.served:
            raise ChymeError(CLOSED)

    def _release(self) -> None:
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
