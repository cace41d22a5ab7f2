"""Who runs a digester on a task: a pool of children, or the calling thread for one that only waits on HTTP."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from chyme.digester import PREPARING, Digester
from chyme.engines.children.task import Task, WatchedTask
from chyme.errors import ChildCrashed, ChymeError
from chyme.model import Limits, Output

log = logging.getLogger(__name__)


class Runs(Protocol):
    """Whatever runs a digester on a task: a pool of children, or a thread."""

    def run(
        self,
        task: Task,
        family: str,
        limits: Limits,
        on_progress: Callable[[float], None] | None = None,
        on_start: Callable[[], None] | None = None,
    ) -> list[Output]: ...


class InThread:
    """Runs a digester that only waits for others where it is called. It must keep its own time limit.

    What it needs a parser for happens first, in a child, and reaches it through the scratch folder.
    """

    def __init__(self, digester: Digester, children: Runs, stop: threading.Event) -> None:
        self._digester = digester
        self._children = children
        self._stop = stop

    def run(
        self,
        task: Task,
        family: str,
        limits: Limits,
        on_progress: Callable[[float], None] | None = None,
        on_start: Callable[[], None] | None = None,
    ) -> list[Output]:
        if self._digester.prepares:
            first = replace(task, digester=task.digester + PREPARING)
            self._children.run(first, family, limits, None, on_start)
        if on_start is not None:
            on_start()

        def report(fraction: float) -> None:
            if self._stop.is_set():
                raise ChymeError("chyme is stopping")
            if on_progress is not None:
                on_progress(fraction)

        watched = WatchedTask(task.digester, task.file, task.fd, task.inputs, task.scratch, report)
        try:
            return self._digester.digest(watched)
        except (ChymeError, OSError):
            raise
        except Exception as error:
            log.exception("%s: %s failed", task.file.path, task.digester)
            raise ChildCrashed(f"{task.file.path}: {task.digester} failed ({type(error).__name__})") from error
