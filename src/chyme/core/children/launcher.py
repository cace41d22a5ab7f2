"""Starts child processes, and from time to time calls what ends idle ones."""

from __future__ import annotations

import atexit
import functools
import logging
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from chyme.core.children.template import Stock, Template

log = logging.getLogger(__name__)

TEMPLATE_SECONDS = 60.0  # without a start, after which the template's memory is worth more than the next start

T = TypeVar("T")


class ChildLauncher:
    """One thread that starts the children of this process: the kernel kills them when that thread ends."""

    def __init__(self, template_seconds: float = TEMPLATE_SECONDS) -> None:
        self.template = Template()
        self._template_seconds = template_seconds
        self._used_at = time.monotonic()
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
        """Have the template load this now, unless it has, without waiting for it."""
        if not self.template.has(stock):
            self._requests.put(lambda: self.template.preload(stock))

    def _run(self) -> None:
        any_left = False
        while True:
            with self._lock:
                pause = min([self._template_seconds, *self._checks.values()])
            try:
                request = self._requests.get(timeout=pause if any_left else None)
            except queue.Empty:
                with self._lock:
                    checks = list(self._checks)
                left = [_run_check(check) for check in checks]  # all of them, not only until the first with children
                if time.monotonic() - self._used_at >= self._template_seconds:
                    self.template.close()
                any_left = any(left) or self.template.pid is not None
                continue
            request()
            self._used_at = time.monotonic()
            any_left = True


def _run_check(check: Callable[[], bool]) -> bool:
    """Run a check; its failure must not end the thread, or no child would ever start again."""
    try:
        return check()
    except Exception:
        log.exception("idle children could not be ended")
        return True


@functools.cache
def shared_launcher() -> ChildLauncher:
    """The launcher of this process. Its template is shared by all runners, and ends after a time without starts."""
    launcher = ChildLauncher()
    atexit.register(launcher.template.close)
    return launcher
