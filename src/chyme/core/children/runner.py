"""Runs tasks in groups ("families") of child processes, whatever happens to the children."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from chyme.core.children.child import Child, ChildConfig, ChildNotStarted, TaskNotTaken
from chyme.core.children.isolation import Isolation
from chyme.core.children.launcher import CLOSED, ChildLauncher
from chyme.core.children.task import MAX_BATCH_TASKS, Answer, Task
from chyme.core.outbound.connection_server import ConnectionServer
from chyme.errors import ChildCrashed, ChymeError, EngineUnavailable, UsageError
from chyme.model import Limits, Output

NOBODY = (65534, 65534)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Family:
    """A group of children that load the same engines."""

    count: int
    memory_bytes: int  # the most memory one task may add to a child
    idle_seconds: float = 60.0
    recycle_growth_bytes: int = 256 << 20
    memory_setting: str = "parser_memory_mb"  # the setting that error messages tell people to raise
    may_connect: bool = False  # to other hosts, through the guard


@dataclass(frozen=True, slots=True)
class ChildState:
    """One running child, for the status."""

    family: str
    pid: int
    tasks: int
    busy_with: str | None  # the file's path
    resident_bytes: int
    peak_bytes: int


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All children at this moment."""

    children: tuple[ChildState, ...]
    waiting: int
    tasks: int
    restarts: int
    restarts_by_family: dict[str, int]
    isolation: Isolation | None  # None until the first child has started


class Runner:
    """The only access to child processes. `run` may be called from many threads at once."""

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
        connection_server: ConnectionServer | None = None,
    ) -> None:
        folders = tuple(str(folder.absolute()) for folder in import_from)
        self._child_config = ChildConfig(
            entry, config, folders, run_as, scratch_bytes, answer_bytes, start_seconds=start_seconds
        )
        self._launcher = ChildLauncher()
        self._groups = {
            name: _Group(
                name, family, self._child_config, self._launcher, connection_server if family.may_connect else None
            )
            for name, family in families.items()
        }
        shortest = min((family.idle_seconds for family in families.values()), default=60.0)
        self._launcher.set_idle_checks([group.end_idle_children for group in self._groups.values()], shortest)

    def run(
        self,
        task: Task,
        family: str,
        limits: Limits,
        on_progress: Callable[[float], None] | None = None,
        on_start: Callable[[], None] | None = None,
    ) -> list[Output]:
        """Return the outputs or raise a DigestError. Waits for a free child, calls `on_start`, then starts the time
        limit."""
        return self._run_in_family(
            task, family, limits, on_start, lambda child, allowed: child.ask(task, allowed, on_progress)
        )

    def run_many(
        self, tasks: Sequence[Task], family: str, limits: Limits, on_start: Callable[[], None] | None = None
    ) -> list[Answer]:
        """Return the result of each task of one digester that gathers; one child does them all within these limits.

        A raised DigestError concerns all tasks: it is unknown which task caused it, so each must be run alone.
        """
        first = tasks[0]
        if len(tasks) > MAX_BATCH_TASKS or any(task.digester != first.digester for task in tasks):
            raise UsageError(f"only {MAX_BATCH_TASKS} tasks of one digester go to a child together")
        return self._run_in_family(
            first, family, limits, on_start, lambda child, allowed: child.ask_many(tasks, allowed)
        )

    def _run_in_family(
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
        """The state of all children, for the status."""
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
        """End all children at once. Running tasks fail with a ChymeError."""
        for group in self._groups.values():
            group.close()
        self._launcher.close()


class _Group:
    """The slots of one family and the callers that wait for a slot."""

    def __init__(
        self,
        name: str,
        family: Family,
        child_config: ChildConfig,
        launcher: ChildLauncher,
        connection_server: ConnectionServer | None,
    ) -> None:
        self.name = name
        self.family = family
        self.child_config = child_config
        self.launcher = launcher
        self.connection_server = connection_server
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
                return self._idle.pop()  # the slot used last is warm; the others may go idle
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
        slot.end_child()

    def end_idle_children(self) -> bool:
        """End children that have been idle for too long. Returns whether any child is left."""
        idle_before = time.monotonic() - self.family.idle_seconds
        with self._lock:
            expired = [slot for slot in self._idle if slot.child and slot.idle_since <= idle_before]
            self._idle = [slot for slot in self._idle if slot not in expired]
        for slot in expired:
            slot.end_child()
        with self._lock:
            for slot in reversed(expired):
                if self.waiting:  # a caller came while the child was ending, and would wait for ever
                    self.waiting.popleft().set_result(slot)
                else:
                    self._idle.insert(0, slot)
            return any(slot.child for slot in self._slots)

    def set_child(self, slot: _Slot, child: Child) -> bool:
        """Store a new child in its slot. Returns False when the group has closed meanwhile."""
        with self._lock:
            slot.child = child
            return not self.closed

    def count_restart(self) -> None:
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
        """End every child at once; the threads that talk to them notice and clean up."""
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
            slot.end_child()


class _Slot:
    """A place for one child; the caller that acquired the slot talks to that child."""

    def __init__(self, group: _Group) -> None:
        self.child: Child | None = None
        self.task: Task | None = None
        self.idle_since = 0.0
        self._group = group

    def answer(self, task: Task, ask: Callable[[Child], T]) -> T:
        """Return what the child answers. `task` is the one named in errors when there are several."""
        self.task = task
        try:
            return self._ask_with_retries(task, ask)
        except BaseException as error:
            if not isinstance(error, ChymeError):
                self.end_child()  # the child's state is unknown
            if self._group.closed:
                raise ChymeError(CLOSED) from error
            raise
        finally:
            self.task = None
            self._check_after_task()

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
            return self._start_once()
        except ChildNotStarted as error:
            if error.hopeless:
                raise
            return self._start_once()

    def _start_once(self) -> Child:
        group = self._group
        try:
            child = group.launcher.start_child(
                lambda: Child(group.child_config, group.family.memory_setting, group.connection_server)
            )
        except OSError as error:
            raise ChildNotStarted(error.strerror or "the system refused", hopeless=False) from error
        try:
            if not group.set_child(self, child):
                raise ChymeError(CLOSED)
            child.wait_until_ready()
        except BaseException:
            self.end_child()
            raise
        group.isolation = child.isolation
        return child

    def _check_after_task(self) -> None:
        """After a task: clean up a dead child, replace one that grew too large."""
        child = self.child
        if child is None:
            return
        resident = child.resident()
        child.leanest = min(resident, child.leanest or resident)
        if not resident or resident - child.leanest > self._group.family.recycle_growth_bytes:
            self._discard_child()

    def _discard_child(self) -> None:
        self.end_child()
        self._group.count_restart()

    def end_child(self) -> None:
        if self.child is not None:
            try:
                self.child.dispose()
            finally:
                self.child = None  # not earlier: until it is disposed of, other threads must still see it


def _start_error(task: Task, error: ChildNotStarted) -> ChymeError:
    if error.hopeless:
        return EngineUnavailable(f"{task.file.path}: child processes cannot start ({error}); see chyme doctor")
    return ChildCrashed(f"{task.file.path}: a child process could not be started ({error})")


def isolation() -> Isolation:
    """How children are isolated on this machine; starts one to find out."""
    config = ChildConfig("chyme.core.children.main:no_digesters", {}, (), NOBODY, 1 << 20, 1 << 20, 30.0)
    child = Child(config, "")
    try:
        child.wait_until_ready()
    except ChildNotStarted as error:
        return Isolation(False, "", f"child processes cannot start ({error})")
    finally:
        child.dispose()
    return child.isolation
