"""Starts child processes and ends idle ones."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future

from chyme.core.children.child import Child
from chyme.errors import ChymeError

CLOSED = "chyme is shutting down; nothing more is digested"
CLOSE_SECONDS = 10.0


class ChildLauncher:
    """The thread that starts children: the kernel kills them when this thread ends, so it lives as long as the
    runner."""

    def __init__(self) -> None:
        self._requests: queue.SimpleQueue[tuple[Callable[[], Child], Future[Child]] | None] = queue.SimpleQueue()
        self._idle_checks: list[Callable[[], bool]] = []
        self._check_seconds = 60.0
        self._closed = False
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="chyme-nursery", daemon=True)
        self._thread.start()

    def set_idle_checks(self, idle_checks: list[Callable[[], bool]], idle_seconds: float) -> None:
        """Set functions that end idle children from time to time; each returns whether any child is left."""
        self._idle_checks = idle_checks
        self._check_seconds = max(0.05, idle_seconds / 2)

    def start_child(self, start: Callable[[], Child]) -> Child:
        """Start a child and return it."""
        future: Future[Child] = Future()
        with self._lock:
            if self._closed:
                raise ChymeError(CLOSED)
            self._requests.put((start, future))
        return future.result()

    def close(self) -> None:
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._requests.put(None)
        self._thread.join(CLOSE_SECONDS)

    def _run(self) -> None:
        any_left = False
        while True:
            try:
                request = self._requests.get(timeout=self._check_seconds if any_left else None)
            except queue.Empty:
                remaining = [end_idle() for end_idle in self._idle_checks]
                any_left = any(remaining)
                continue
            if request is None:
                return
            start, future = request
            try:
                future.set_result(start())
                any_left = True
            except BaseException as error:
                future.set_exception(error)
