"""A place for one child: asks it, starts it again where that is safe, and replaces one that grew too large."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple, Protocol, TypeVar

from chyme.core.children.child import Child, ChildNotStarted, TaskNotTaken
from chyme.core.children.places import Family, IdleChild
from chyme.core.children.task import Task
from chyme.errors import ChildCrashed, ChymeError, EngineUnavailable

CLOSED = "chyme is shutting down; nothing more is digested"

READ_SECONDS = 0.1  # how old a reading of a child's memory may be: it is asked for with every task that begins or ends

T = TypeVar("T")


class ChildStarter(Protocol):
    """What a slot needs of the runner that owns it."""

    def start_child(self, slot: Slot) -> Child:
        """Start a child for this slot; ChildNotStarted or ChymeError if that fails."""

    def is_closed(self) -> bool: ...

    def count_restart(self, family: str) -> None: ...


class _MemoryReading(NamedTuple):
    """Bytes of memory that a child uses, and when that was read."""

    child: int  # that it does not share with the template
    programs: int  # that it started
    read_at: float


class Slot:
    """A place for one child; the caller that acquired the slot talks to that child."""

    def __init__(self, starter: ChildStarter, family: str) -> None:
        self.child: Child | None = None
        self.task: Task | None = None
        self.family = family  # of its present or last task
        self.idle_since: float | None = None  # None while a caller has it
        self.ending = False
        self.served: set[str] = set()  # families of the tasks of its child
        self.light = False  # its child was copied before the template had loaded what its pool shares
        self._starter = starter
        self._memory = _MemoryReading(0, 0, 0.0)

    def own_memory(self) -> int:
        """Memory of the child that it does not share with the template, and of programs it started."""
        reading = self._read_memory()
        return reading.child + reading.programs

    def as_idle(self, counts: bool) -> IdleChild:
        """Its child as one that may be ended; `counts` is whether it takes one of the places."""
        reading = self._read_memory()
        return IdleChild(reading.child + reading.programs, counts, reading.programs > 0)

    def _read_memory(self) -> _MemoryReading:
        child, now = self.child, time.monotonic()
        if child is None:
            return _MemoryReading(0, 0, now)
        if now - self._memory.read_at > READ_SECONDS:
            beside_template = max(0, child.anonymous() - child.shared_bytes)
            self._memory = _MemoryReading(beside_template, child.programs_memory(), now)
        return self._memory

    def answer(self, task: Task, family: Family, ask: Callable[[Child], T]) -> T:
        """Return what the child answers. `task` is the one named in errors when there are several."""

        def ask_child(child: Child) -> T:
            child.memory_setting = family.memory_setting
            return ask(child)

        self.task = task
        try:
            return self._ask_with_retries(task, ask_child)
        except BaseException as error:
            if not isinstance(error, ChymeError):
                self.end_child()  # the child's state is unknown
            if self._starter.is_closed():
                raise ChymeError(CLOSED) from error
            raise
        finally:
            self.task = None
            self._check_after_task(family)

    def _ask_with_retries(self, task: Task, ask: Callable[[Child], T]) -> T:
        if self.child is not None:
            try:
                return ask(self.child)
            except TaskNotTaken:
                self._discard_child()  # it died while it was idle
        for _ in range(2):
            try:
                return ask(self._start())
            except ChildNotStarted as error:
                raise _start_error(task, error) from error
            except TaskNotTaken:
                self._discard_child()  # it was ended as it started: the task is not to blame
        raise ChildCrashed(f"{task.file.path}: child processes end before they can take a task")

    def _start(self) -> Child:
        try:
            return self._starter.start_child(self)
        except ChildNotStarted as error:
            if error.hopeless:
                raise
            return self._starter.start_child(self)

    def _check_after_task(self, family: Family) -> None:
        """After a task: clean up a dead child, replace one that grew too large."""
        child = self.child
        if child is None:
            return
        resident = child.resident()
        child.leanest = min(resident, child.leanest or resident)
        if not resident or resident - child.leanest > family.recycle_growth_bytes:
            self._discard_child()

    def _discard_child(self) -> None:
        self.end_child()
        self._starter.count_restart(self.family)

    def end_child(self) -> None:
        if self.child is not None:
            try:
                self.child.dispose()
            finally:
                self.child = None  # not earlier: until it is disposed of, other threads must still see it
                self._memory = _MemoryReading(0, 0, 0.0)


def _start_error(task: Task, error: ChildNotStarted) -> ChymeError:
    if error.hopeless:
        return EngineUnavailable(f"{task.file.path}: child processes cannot start ({error}); see chyme doctor")
    return ChildCrashed(f"{task.file.path}: a child process could not be started ({error})")
