"""Starts child processes, and from time to time calls what ends idle ones."""

from __future__ import annotations

import atexit
import functools
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from chyme.core.children.template import Stock, Template

CHECK_SECONDS = 30.0

T = TypeVar("T")


class ChildLauncher:
    """One thread that starts the children of this process: the kernel kills them when that thread ends."""

    def __init__(self) -> None:
        self.template = Template()
        self._requests: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._checks: dict[Callable[[], bool], float] = {}
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="chyme-children", daemon=True)
        self._thread.start()

    def add_check(self, check: Callable[[], bool], seconds: float) -> None:
        """Call `check` about this often while it returns that any of its children is left."""
        with self._lock:
            self._checks[check] = seconds

    def remove_check(self, check: Callable[[], bool]) -> None:
        with self._lock:
            self._checks.pop(check, None)

    def start_child(self, start: Callable[[Template], T]) -> T:
        """Call `start` in the thread of children and return its result."""
        future: Future[T] = Future()

        def answer() -> None:
            try:
                future.set_result(start(self.template))
            except BaseException as error:
                future.set_exception(error)

        self._requests.put(answer)
        return future.result()

    def preload(self, stock: Stock) -> None:
        """Have the template load this now, without waiting for it."""
        self._requests.put(lambda: self.template.preload(stock))

    def _run(self) -> None:
        any_left = False
        while True:
            with self._lock:
                pause = min(self._checks.values(), default=CHECK_SECONDS)
            try:
                request = self._requests.get(timeout=pause if any_left else None)
            except queue.Empty:
                with self._lock:
                    checks = list(self._checks)
                left = [check() for check in checks]  # all of them, not only until the first that has children
                any_left = any(left)
                continue
            request()
            any_left = True


@functools.cache
def shared_launcher() -> ChildLauncher:
    """The launcher of this process. Its template is shared by all runners, and stays until the process ends."""
    launcher = ChildLauncher()
    atexit.register(launcher.template.close)
    return launcher
