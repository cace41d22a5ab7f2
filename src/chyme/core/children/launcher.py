"""Where children are started, and idle ones let go."""

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
    """The thread that starts children: the kernel ends them when it ends, so it lives as long as the runner."""

    def __init__(self) -> None:
        self._births: queue.SimpleQueue[tuple[Callable[[], Child], Future[Child]] | None] = queue.SimpleQueue()
        self._let_idle_go: list[Callable[[], bool]] = []
        self._patience = 60.0
        self._closed = False
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="chyme-nursery", daemon=True)
        self._thread.start()

    def set_idle_checks(self, let_idle_go: list[Callable[[], bool]], idle_seconds: float) -> None:
        """Have idle children ended from time to time; each call says whether any child is left."""
        self._let_idle_go = let_idle_go
        self._patience = max(0.05, idle_seconds / 2)

    def start_child(self, start: Callable[[], Child]) -> Child:
        """Start a child and return it."""
        born: Future[Child] = Future()
        with self._lock:
            if self._closed:
                raise ChymeError(CLOSED)
            self._births.put((start, born))
        return born.result()

    def close(self) -> None:
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._births.put(None)
        self._thread.join(CLOSE_SECONDS)

    def _run(self) -> None:
        some = False
        while True:
            try:
                birth = self._births.get(timeout=self._patience if some else None)
            except queue.Empty:
                left = [let_go() for let_go in self._let_idle_go]
                some = any(left)
                continue
            if birth is None:
                return
            start, born = birth
            try:
                born.set_result(start())
                some = True
            except BaseException as error:
                born.set_exception(error)
