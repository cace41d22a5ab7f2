"""Running model calls: each in its own event loop, all cancelled when chyme stops."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Coroutine, Iterator
from typing import Any, TypeVar

from chyme.errors import ChymeError
from chyme.models.local.fair_lock import CLOSED

Result = TypeVar("Result")


class CallStopped(ChymeError):
    """No failure: chyme stops and did not wait for the answer."""


class _RunningCalls:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tasks: dict[asyncio.Task[Any], object] = {}  # task → the group it belongs to
        self._stops: list[object] = []  # the groups that callers want cancelled; None: all

    def add(self, task: asyncio.Task[Any], group: object) -> None:
        with self._lock:
            self._tasks[task] = group
            if any(_covers(stopped, group) for stopped in self._stops):
                task.cancel()

    def discard(self, task: asyncio.Task[Any]) -> None:
        with self._lock:
            self._tasks.pop(task, None)

    def stop(self, stopped: object) -> None:
        with self._lock:
            self._stops.append(stopped)
            for task, group in self._tasks.items():  # no loop is closed before its task is discarded
                if _covers(stopped, group):
                    task.get_loop().call_soon_threadsafe(task.cancel)

    def unstop(self, stopped: object) -> None:
        with self._lock:
            self._stops.remove(stopped)


def _covers(stopped: object, group: object) -> bool:
    return stopped is None or stopped is group


_running_calls = _RunningCalls()


class CallCancellation:
    """Cancels the call that runs within `cancellable`, from any thread, and every later one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._task: asyncio.Task[Any] | None = None
        self._requested = False

    @property
    def requested(self) -> bool:
        """Whether `cancel` was called."""
        return self._requested

    def cancel(self) -> None:
        with self._lock:
            self._requested = True
            if self._task is not None:
                self._task.get_loop().call_soon_threadsafe(self._task.cancel)

    @contextlib.contextmanager
    def cancellable(self) -> Iterator[None]:
        """Within it, the current task can be cancelled. The thread that runs it gets CallStopped."""
        with self._lock:
            self._task = asyncio.current_task()
            if self._requested and self._task is not None:
                self._task.cancel()
        try:
            yield
        finally:
            with self._lock:  # no loop is closed before its task is forgotten here
                self._task = None


@contextlib.contextmanager
def cancel_calls(group: object = None) -> Iterator[None]:
    """Cancel every running call of this process (of one group, if given) and, within this context, every that begins.

    The threads that made them get a ChymeError that is not a DigestError. Wait for these threads within this context.
    """
    _running_calls.stop(group)
    try:
        yield
    finally:
        _running_calls.unstop(group)


def run_in_own_loop(work: Coroutine[Any, Any, Result], group: object = None) -> Result:
    """Run a coroutine in its own event loop. Raises CallStopped if it was cancelled: with all, or with its group.

    Unlike asyncio.run, this does not wait for a name server that hangs: that thread ends by itself.
    """
    loop = asyncio.new_event_loop()
    task = loop.create_task(work)
    _running_calls.add(task, group)
    try:
        return loop.run_until_complete(task)
    except asyncio.CancelledError:
        raise CallStopped(CLOSED) from None
    finally:
        _running_calls.discard(task)
        loop.run_until_complete(_close_tasks())
        loop.close()


async def _close_tasks() -> None:
    remaining = asyncio.all_tasks() - {asyncio.current_task()}
    for task in remaining:
        task.cancel()
    await asyncio.gather(*remaining, return_exceptions=True)
    await asyncio.get_running_loop().shutdown_asyncgens()
