"""What runs a digester on a task: a pool of children, or the calling thread if the digester only waits on HTTP."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from sqlite3 import Connection
from typing import Protocol

from chyme.core.children.task import Answer, Task
from chyme.core.pipeline.digest_state import PRIVATE
from chyme.digester import PREPARING, WITHOUT, Calls, Digester
from chyme.errors import Category, ChildCrashed, ChymeError, DigestError, FileChanged, LimitReached, UpstreamMissing
from chyme.model import File, Limits, Output, Without

log = logging.getLogger(__name__)


class TaskRunner(Protocol):
    """Runs a digester on a task: a pool of children, or a thread."""

    def run(
        self,
        task: Task,
        family: str,
        limits: Limits,
        on_progress: Callable[[float], None] | None = None,
        on_start: Callable[[], None] | None = None,
    ) -> list[Output]: ...


class BatchTaskRunner(TaskRunner, Protocol):
    """A pool of children that can give several tasks to one child."""

    def run_many(
        self, tasks: Sequence[Task], family: str, limits: Limits, on_start: Callable[[], None] | None = None
    ) -> list[Answer]: ...


class AttemptCalls(Calls, Protocol):
    """The calls of one attempt at one digest."""

    def require_available(self, provider: str) -> None:
        """Raise what `begin` would raise, without making a call."""

    def retry_terms(self, provider: str, error: DigestError) -> tuple[float | None, bool]:
        """When to try again after this failure, and whether the attempt counts."""


class ModelCalls(Protocol):
    """Budgets, pauses and rests of all providers, for all attempts."""

    def calls_for(self, file: File, digester: str, run_id: str) -> AttemptCalls: ...

    def is_private(self, file: File, provider: str | None) -> bool:
        """Whether this provider must not see the file."""

    def wake(self, moved: Callable[[Connection, int], None], among: Collection[int] | None = None) -> int:
        """Requeue what was made without a model that may be asked now. Returns how many digests."""


@dataclass(frozen=True)
class ThreadRunner:
    """Runs a digester that only waits on HTTP in the calling thread. The digester must keep its own time limit.

    Work that needs a parser runs first, in a child, and leaves its results in the scratch folder. If the model fails,
    or must not see the file (`private`), a child makes the outputs without it.
    """

    digester: Digester
    children: TaskRunner
    stopping: threading.Event
    calls: AttemptCalls
    provider: str | None
    private: bool

    def run(
        self,
        task: Task,
        family: str,
        limits: Limits,
        on_progress: Callable[[float], None] | None = None,
        on_start: Callable[[], None] | None = None,
    ) -> list[Output]:
        def run_without_model(why: Without) -> list[Output]:
            fallback = replace(task, digester=task.digester + WITHOUT)
            made = self.children.run(fallback, family, limits, on_progress, on_start)
            return [replace(output, without=why) for output in made]

        if self.private and self.provider is not None:
            reason = f"{task.file.name}: is private (.chymeprivate), so no model was asked"
            return run_without_model(Without(self.provider, reason, PRIVATE, tried=False))
        if self.digester.runs.prepares:
            preparation = replace(task, digester=task.digester + PREPARING)
            self.children.run(preparation, family, limits, None, on_start)
        try:
            if self.provider is not None:
                self.calls.require_available(self.provider)  # so that our own model is not started for nothing
            with self.digester.turn(task.file):
                if on_start is not None:
                    on_start()
                return self._ask_model(task, on_progress)
        except DigestError as error:
            if not self.digester.promises.falls_back or self.provider is None or not _is_model_failure(error):
                raise
            reason = f"made without its model: {error}"
            retry_after, tried = self.calls.retry_terms(self.provider, error)
            return run_without_model(Without(self.provider, reason, error.category, retry_after, tried))

    def _ask_model(self, task: Task, on_progress: Callable[[float], None] | None) -> list[Output]:
        def report(fraction: float) -> None:
            if self.stopping.is_set():
                raise ChymeError("chyme is stopping")
            if on_progress is not None:
                on_progress(fraction)

        try:
            return self.digester.digest(replace(task, report=report, model_calls=self.calls))
        except (ChymeError, OSError):
            raise
        except Exception as error:
            log.exception("%s: %s failed", task.file.path, task.digester)
            raise ChildCrashed(f"{task.file.path}: {task.digester} failed ({type(error).__name__})") from error


def _is_model_failure(error: DigestError) -> bool:
    """Whether a model, or the way to it, failed. A problem with the file itself is no reason to use the fallback."""
    return not isinstance(error, FileChanged | UpstreamMissing | LimitReached) and error.category is not Category.CRASH
