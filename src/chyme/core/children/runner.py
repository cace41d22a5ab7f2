"""Runs tasks in small families of child processes, whatever becomes of the children."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from chyme.core.children.child import Answer, Child, ChildConfig, ChildNotStarted, TaskNotTaken
from chyme.core.children.isolation import Isolation
from chyme.core.children.launcher import CLOSED, ChildLauncher
from chyme.core.children.task import MAX_BATCH_TASKS, Task
from chyme.core.outbound.connection_server import ConnectionServer
from chyme.errors import ChildCrashed, ChymeError, EngineUnavailable, UsageError
from chyme.model import Limits, Output

NOBODY = (65534, 65534)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Family:
    """A group of children that load the same engines."""

    count: int
    memory_bytes: int  # the most one task may add to a child
    idle_seconds: float = 60.0
    recycle_growth_bytes: int = 256 << 20
    memory_setting: str = "parser_memory_mb"  # what error messages tell people to raise
    door: bool = False  # its digesters may go out, by way of the guard


@dataclass(frozen=True, slots=True)
class ChildState:
    """One living child, for status."""

    family: str
    pid: int
    tasks: int
    busy_with: str | None  # the file's path
    resident_bytes: int
    peak_bytes: int


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All children as they are now."""

    children: tuple[ChildState, ...]
    waiting: int
    tasks: int
    restarts: int
    restarts_by_family: dict[str, int]
    isolation: Isolation | None  # None until the first child has started


class Runner:
    """The one door to child processes. `run` may be called from many threads at once."""

    def __init__(
        self,
        entry: str,
        config: Mapping[str, object],
        families: Mapping[str, Family],
        *,
        import_from: Sequence[Path] = (),
        run_as: tuple[int, int] = NOBODY,
        scratch_bytes: int = 1 << 30,
        answer_bytes: int = 256 << 20,
        start_seconds: float = 60.0,
        door: ConnectionServer | None = None,
    ) -> None:
        folders = tuple(str(folder.absolute()) for folder in import_from)
        self._upbringing = ChildConfig(
            entry, config, folders, run_as, scratch_bytes, answer_bytes, start_seconds=start_seconds
        )
        self._nursery = ChildLauncher()
        self._groups = {
            name: _Group(name, family, self._upbringing, self._nursery, door if family.door else None)
            for name, family in families.items()
        }
        shortest = min((family.idle_seconds for family in families.values()), default=60.0)
        self._nursery.set_idle_checks([group.let_idle_go for group in self._groups.values()], shortest)

    def run(
        self,
        task: Task,
        family: str,
        limits: Limits,
        on_progress: Callable[[float], None] | None = None,
        on_start: Callable[[], None] | None = None,
    ) -> list[Output]:
        """The outputs, or a DigestError. Waits for a free child; the time limit starts after that, with `on_start`."""
        return self._asked(task, family, limits, on_start, lambda child, allowed: child.ask(task, allowed, on_progress))

    def run_many(
        self, tasks: Sequence[Task], family: str, limits: Limits, on_start: Callable[[], None] | None = None
    ) -> list[Answer]:
        """What became of each task of one digester that gathers, all done by one child within these limits.

        A DigestError that is raised is about all of them: nobody knows whose fault it was, so each must be run alone.
        """
        first = tasks[0]
        if len(tasks) > MAX_BATCH_TASKS or any(task.digester != first.digester for task in tasks):
            raise UsageError(f"only {MAX_BATCH_TASKS} tasks of one digester go to a child together")
        return self._asked(first, family, limits, on_start, lambda child, allowed: child.ask_many(tasks, allowed))

    def _asked(
        self,
        task: Task,
        family: str,
        limits: Limits,
        on_start: Callable[[], None] | None,
        ask: Callable[[Child, Limits], T],
    ) -> T:
        group = self._groups.get(family)
        if group is None:
            known = ", ".join(self._groups)
            raise UsageError(f"no family of children is called {family}; there are: {known}")
        allowed = replace(limits, memory_bytes=min(limits.memory_bytes, group.family.memory_bytes))
        slot = group.acquire()
        try:
            if on_start is not None:
                on_start()
            return slot.answer(task, lambda child: ask(child, allowed))
        finally:
            group.give_back(slot)

    def snapshot(self) -> Snapshot:
        """What status tells about children."""
        groups = self._groups.values()
        return Snapshot(
            children=tuple(state for group in groups for state in group.states()),
            waiting=sum(len(group.waiting) for group in groups),
            tasks=sum(group.tasks for group in groups),
            restarts=sum(group.restarts for group in groups),
            restarts_by_family={group.name: group.restarts for group in groups},
            isolation=next((group.isolation for group in groups if group.isolation), None),
        )

    def close(self) -> None:
        """End all children at once. Tasks under way fail with a ChymeError."""
        for group in self._groups.values():
            group.close()
        self._nursery.close()


class _Group:
    """The slots of one family and the callers that wait for one."""

    def __init__(
        self, name: str, family: Family, upbringing: ChildConfig, nursery: ChildLauncher, door: ConnectionServer | None
    ) -> None:
        self.name = name
        self.family = family
        self.upbringing = upbringing
        self.nursery = nursery
        self.door = door
        self.waiting: deque[Future[_Slot]] = deque()
        self.closed = False
        self.tasks = 0
        self.restarts = 0
        self.isolation: Isolation | None = None
        self._slots: list[_Slot] = []
        self._idle: list[_Slot] = []
        self._lock = threading.Lock()

    def acquire(self) -> _Slot:
        """A free slot, first come, first served."""
        with self._lock:
            if self.closed:
                raise ChymeError(CLOSED)
            if self._idle:
                return self._idle.pop()  # the one used last is warm; the others may go idle
            if len(self._slots) < self.family.count:
                slot = _Slot(self)
                self._slots.append(slot)
                return slot
            turn: Future[_Slot] = Future()
            self.waiting.append(turn)
        return turn.result()

    def give_back(self, slot: _Slot) -> None:
        with self._lock:
            self.tasks += 1
            slot.idle_since = time.monotonic()
            if self.waiting:
                self.waiting.popleft().set_result(slot)
                return
            if not self.closed:
                self._idle.append(slot)
                return
        slot.let_go()

    def let_idle_go(self) -> bool:
        """End children that have had nothing to do for a while. Whether any child is left."""
        moment = time.monotonic() - self.family.idle_seconds
        with self._lock:
            bored = [slot for slot in self._idle if slot.child and slot.idle_since <= moment]
            self._idle = [slot for slot in self._idle if slot not in bored]
        for slot in bored:
            slot.let_go()
        with self._lock:
            for slot in reversed(bored):
                if self.waiting:  # somebody came while it was on its way out, and would wait for ever
                    self.waiting.popleft().set_result(slot)
                else:
                    self._idle.insert(0, slot)
            return any(slot.child for slot in self._slots)

    def keep(self, slot: _Slot, child: Child) -> bool:
        """Note a fresh child, unless the group has closed meanwhile."""
        with self._lock:
            slot.child = child
            return not self.closed

    def replaced(self) -> None:
        with self._lock:
            self.restarts += 1

    def states(self) -> list[ChildState]:
        with self._lock:
            living = [(slot.child, slot.task) for slot in self._slots if slot.child and slot.child.alive()]
        return [
            ChildState(
                family=self.name,
                pid=child.pid,
                tasks=child.tasks,
                busy_with=task.file.path if task else None,
                resident_bytes=child.resident(),
                peak_bytes=child.peak(),
            )
            for child, task in living
        ]

    def close(self) -> None:
        """End every child, at once; whoever talks to one notices, and buries it."""
        with self._lock:
            self.closed = True
            dropped = list(self.waiting)
            self.waiting.clear()
            idle, self._idle = self._idle, []
            for slot in self._slots:
                if slot.child:
                    slot.child.end()
        for turn in dropped:
            turn.set_exception(ChymeError(CLOSED))
        for slot in idle:
            slot.let_go()


class _Slot:
    """A place for one child, and whoever has acquired it talks to that child."""

    def __init__(self, group: _Group) -> None:
        self.child: Child | None = None
        self.task: Task | None = None
        self.idle_since = 0.0
        self._group = group

    def answer(self, task: Task, ask: Callable[[Child], T]) -> T:
        """What the child is asked for. `task` is the one to speak of, where there are several."""
        self.task = task
        try:
            return self._attempt(task, ask)
        except BaseException as error:
            if not isinstance(error, ChymeError):
                self.let_go()  # who knows what it is doing now
            if self._group.closed:
                raise ChymeError(CLOSED) from error
            raise
        finally:
            self.task = None
            self._tidy()

    def _attempt(self, task: Task, ask: Callable[[Child], T]) -> T:
        if self.child is not None:
            try:
                return ask(self.child)
            except TaskNotTaken:
                self._replace()  # it died while it had nothing to do
        for _ in range(2):
            try:
                return ask(self._start())
            except ChildNotStarted as error:
                raise _cannot_start(task, error) from error
            except TaskNotTaken:
                self._replace()  # somebody ended it as it began: that is no fault of the task
        raise ChildCrashed(f"{task.file.path}: child processes end before they can take a task")

    def _start(self) -> Child:
        try:
            return self._start_once()
        except ChildNotStarted as error:
            if error.hopeless:
                raise
            return self._start_once()

    def _start_once(self) -> Child:
        group = self._group
        try:
            child = group.nursery.start_child(lambda: Child(group.upbringing, group.family.memory_setting, group.door))
        except OSError as error:
            raise ChildNotStarted(error.strerror or "the system refused", hopeless=False) from error
        try:
            if not group.keep(self, child):
                raise ChymeError(CLOSED)
            child.wait_until_ready()
        except BaseException:
            self.let_go()
            raise
        group.isolation = child.isolation
        return child

    def _tidy(self) -> None:
        """After a task: bury a dead child, replace one that grew too large."""
        child = self.child
        if child is None:
            return
        resident = child.resident()
        child.leanest = min(resident, child.leanest or resident)
        if not resident or resident - child.leanest > self._group.family.recycle_growth_bytes:
            self._replace()

    def _replace(self) -> None:
        self.let_go()
        self._group.replaced()

    def let_go(self) -> None:
        if self.child is not None:
            try:
                self.child.dispose()
            finally:
                self.child = None  # not before: who asks meanwhile must not be told that it is gone


def _cannot_start(task: Task, error: ChildNotStarted) -> ChymeError:
    if error.hopeless:
        return EngineUnavailable(f"{task.file.path}: child processes cannot start ({error}); see chyme doctor")
    return ChildCrashed(f"{task.file.path}: a child process could not be started ({error})")


def isolation(run_as: tuple[int, int] = NOBODY) -> Isolation:
    """How children are kept apart on this machine; starts one to find out."""
    upbringing = ChildConfig("chyme.core.children.main:no_digesters", {}, (), run_as, 1 << 20, 1 << 20, 30.0)
    child = Child(upbringing, "")
    try:
        child.wait_until_ready()
    except ChildNotStarted as error:
        return Isolation(False, "", f"child processes cannot start ({error})")
    finally:
        child.dispose()
    return child.isolation
