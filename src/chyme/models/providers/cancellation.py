"""Calls of models that are under way: each in an event loop of its own, all of them cancelled when chyme stops."""

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
    """Nobody's fault: chyme stops, and did not wait for the answer."""


class _UnderWay:
    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._stops = 0  # how many want all of them cancelled

    def add(self, task: asyncio.Task[Any]) -> None:
        with self._guard:
            self._tasks.add(task)
            if self._stops:
                task.cancel()

    def discard(self, task: asyncio.Task[Any]) -> None:
        with self._guard:
            self._tasks.discard(task)

    def stop(self) -> None:
        with self._guard:
            self._stops += 1
            for task in self._tasks:  # none of their loops is closed before it is discarded
                task.get_loop().call_soon_threadsafe(task.cancel)

    def go_on(self) -> None:
        with self._guard:
            self._stops -= 1


_under_way = _UnderWay()


@contextlib.contextmanager
def cancel_calls() -> Iterator[None]:
    """Cancel every call of this process that is under way; and, while this lasts, every one that begins.

    In the threads that made them a ChymeError comes out that is no DigestError. Wait for these threads in here.
    """
    _under_way.stop()
    try:
        yield
    finally:
        _under_way.go_on()


def run_in_own_loop(work: Coroutine[Any, Any, Result]) -> Result:
    """Run it in an event loop of its own. Stopped when it was cancelled.

    Unlike asyncio.run, this does not wait for a name server that hangs: that thread ends by itself.
    """
    loop = asyncio.new_event_loop()
    task = loop.create_task(work)
    _under_way.add(task)
    try:
        return loop.run_until_complete(task)
    except asyncio.CancelledError:
        raise CallStopped(CLOSED) from None
    finally:
        _under_way.discard(task)
        loop.run_until_complete(_wound_up())
        loop.close()


async def _wound_up() -> None:
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)
    await asyncio.get_running_loop().shutdown_asyncgens()
