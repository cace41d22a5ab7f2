"""Runs tasks in small families of child processes, whatever becomes of the children."""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from pathlib import Path

from chyme.engines.children.child import Child, NeverTaken, NotStarted, Upbringing
from chyme.engines.children.isolation import Isolation
from chyme.engines.children.task import Task
from chyme.errors import ChildCrashed, ChymeError, EngineUnavailable, UsageError
from chyme.model import Limits, Output

NOBODY = (65534, 65534)
CLOSED = "chyme is shutting down; nothing more is digested"
CLOSE_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Family:
    """A group of children that load the same engines."""

    count: int
    memory_bytes: int  # the most one task may add to a child
    idle_seconds: float = 60.0
    recycle_growth_bytes: int = 256 << 20
    memory_setting: str = "parser_memory_mb"  # what error messages tell people to raise


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
    isolation: Isolation | None  # None until the first child has started


@dataclass(frozen=True, slots=True)
class _Job:
    task: Task
    limits: Limits
    on_progress: Callable[[float], None] | None
    on_start: Callable[[], None] | None
    answer: Future[list[Output]]


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
    ) -> None:
        folders = tuple(str(folder.absolute()) for folder in import_from)
        self._upbringing = Upbringing(
            entry, config, folders, run_as, scratch_bytes, answer_bytes, start_seconds=start_seconds
        )
        self._groups = {name: _Group(name, family, self._upbringing) for name, family in families.items()}

    def run(
        self,
        task: Task,
        family: str,
        limits: Limits,
        on_progress: Callable[[float], None] | None = None,
        on_start: Callable[[], None] | None = None,
    ) -> list[Output]:
        """The outputs, or a DigestError. Waits for a free child; the time limit starts after that, with `on_start`."""
        group = self._groups.get(family)
        if group is None:
            known = ", ".join(self._groups)
            raise UsageError(f"no family of children is called {family}; there are: {known}")
        allowed = replace(limits, memory_bytes=min(limits.memory_bytes, group.family.memory_bytes))
        job = _Job(task, allowed, on_progress, on_start, Future())
        group.submit(job)
        return job.answer.result()

    def snapshot(self) -> Snapshot:
        """What status tells about children."""
        groups = self._groups.values()
        return Snapshot(
            children=tuple(state for group in groups for state in group.states()),
            waiting=sum(len(group.waiting) for group in groups),
            tasks=sum(group.tasks for group in groups),
            restarts=sum(group.restarts for group in groups),
            isolation=next((group.isolation for group in groups if group.isolation), None),
        )

    def close(self) -> None:
        """End all children at once. Tasks under way fail with a ChymeError."""
        for group in self._groups.values():
            group.close()
        for group in self._groups.values():
            group.join()


class _Group:
    """The slots of one family and the jobs that wait for them."""

    def __init__(self, name: str, family: Family, upbringing: Upbringing) -> None:
        self.name = name
        self.family = family
        self.upbringing = upbringing
        self.waiting: deque[_Job] = deque()
        self.closed = False
        self.tasks = 0
        self.restarts = 0
        self.isolation: Isolation | None = None
        self._slots: list[_Slot] = []
        self._idle: list[_Slot] = []
        self._lock = threading.Lock()

    def submit(self, job: _Job) -> None:
        with self._lock:
            if self.closed:
                raise ChymeError(CLOSED)
            if self._idle:
                self._idle.pop().jobs.put(job)  # the one used last is warm; the others may go idle
            elif len(self._slots) < self.family.count:
                slot = _Slot(self, len(self._slots))
                self._slots.append(slot)
                slot.jobs.put(job)
                slot.start()
            else:
                self.waiting.append(job)

    def next_for(self, slot: _Slot) -> _Job | None:
        """The next waiting job; None puts the slot among the idle ones."""
        with self._lock:
            self.tasks += 1
            if self.waiting:
                return self.waiting.popleft()
            self._idle.append(slot)
            return None

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
            living = [(slot.child, slot.job) for slot in self._slots if slot.child and slot.child.alive()]
        return [
            ChildState(
                family=self.name,
                pid=child.pid,
                tasks=child.tasks,
                busy_with=job.task.file.path if job else None,
                resident_bytes=child.resident(),
                peak_bytes=child.peak(),
            )
            for child, job in living
        ]

    def close(self) -> None:
        with self._lock:
            self.closed = True
            dropped = list(self.waiting)
            self.waiting.clear()
            for slot in self._slots:
                slot.jobs.put(None)
                if slot.child:
                    slot.child.end()
        for job in dropped:
            job.answer.set_exception(ChymeError(CLOSED))

    def join(self) -> None:
        for slot in self._slots:
            if slot is not threading.current_thread():
                slot.join(CLOSE_SECONDS)


class _Slot(threading.Thread):
    """A thread that starts a child and talks to it: children die with the thread that started them."""

    def __init__(self, group: _Group, number: int) -> None:
        super().__init__(name=f"{group.name}-{number}", daemon=True)
        self.jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self.child: Child | None = None
        self.job: _Job | None = None
        self._group = group

    def run(self) -> None:
        try:
            while True:
                try:
                    job = self.jobs.get(timeout=self._group.family.idle_seconds if self.child else None)
                except queue.Empty:
                    self._let_go()
                    continue
                if job is None:
                    return
                while job is not None:
                    self.job = job
                    self._answer(job)
                    job = self.job = None
                    job = self._group.next_for(self)
        finally:
            self._let_go()

    def _answer(self, job: _Job) -> None:
        try:
            if job.on_start is not None:
                job.on_start()
            outputs = self._attempt(job)
        except BaseException as error:
            if not isinstance(error, ChymeError):
                self._let_go()  # who knows what it is doing now
            self._tidy()
            job.answer.set_exception(ChymeError(CLOSED) if self._group.closed else error)
        else:
            self._tidy()
            job.answer.set_result(outputs)

    def _attempt(self, job: _Job) -> list[Output]:
        if self.child is not None:
            try:
                return self.child.ask(job.task, job.limits, job.on_progress)
            except NeverTaken:
                self._replace()  # it died while it had nothing to do
        try:
            return self._start().ask(job.task, job.limits, job.on_progress)
        except NeverTaken as error:
            raise ChildCrashed(f"{job.task.file.path}: child processes end before they can take a task") from error
        except NotStarted as error:
            raise _cannot_start(job.task, error) from error

    def _start(self) -> Child:
        try:
            return self._start_once()
        except NotStarted as error:
            if error.hopeless:
                raise
            return self._start_once()

    def _start_once(self) -> Child:
        try:
            child = Child(self._group.upbringing, self._group.family.memory_setting)
        except OSError as error:
            raise NotStarted(error.strerror or "the system refused", hopeless=False) from error
        try:
            if not self._group.keep(self, child):
                raise ChymeError(CLOSED)
            child.greet()
        except BaseException:
            self._let_go()
            raise
        self._group.isolation = child.isolation
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
        self._let_go()
        self._group.replaced()

    def _let_go(self) -> None:
        child, self.child = self.child, None
        if child is not None:
            child.bury()


def _cannot_start(task: Task, error: NotStarted) -> ChymeError:
    if error.hopeless:
        return EngineUnavailable(f"{task.file.path}: child processes cannot start ({error}); see chyme doctor")
    return ChildCrashed(f"{task.file.path}: a child process could not be started ({error})")


def isolation(run_as: tuple[int, int] = NOBODY) -> Isolation:
    """How children are kept apart on this machine; starts one to find out."""
    upbringing = Upbringing("chyme.engines.children.main:nothing", {}, (), run_as, 1 << 20, 1 << 20, 30.0)
    child = Child(upbringing, "")
    try:
        child.greet()
    except NotStarted as error:
        return Isolation(False, "", f"child processes cannot start ({error})")
    finally:
        child.bury()
    return child.isolation
