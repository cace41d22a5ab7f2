"""Runs tasks in child processes, whatever happens to the children."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from chyme.core.children.child import Child, ChildConfig, ChildNotStarted
from chyme.core.children.isolation import Isolation
from chyme.core.children.launcher import ChildLauncher, shared_launcher
from chyme.core.children.places import Family, Places, choose_surplus
from chyme.core.children.slot import CLOSED, Slot
from chyme.core.children.task import MAX_BATCH_TASKS, Answer, Task
from chyme.core.children.template import Stock
from chyme.core.outbound.connection_server import ConnectionServer
from chyme.core.process_memory import read_memory
from chyme.errors import ChymeError, UsageError
from chyme.model import Limits, Output

NOBODY = (65534, 65534)

T = TypeVar("T")


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
        preload: str = "",
        cores: int | None = None,
        memory_bytes: int | None = None,
        launcher: ChildLauncher | None = None,
        copies: bool = True,
    ) -> None:
        """`preload` loads what children share (see `Stock`); `cores` limits how many compute at once, `memory_bytes`
        what all of them use together. Runners share the launcher of this process unless they are given another.
        `copies`: False for children that outlive the template, and would then keep all of its memory to themselves."""
        folders = tuple(str(folder.absolute()) for folder in import_from)
        self._child_config = ChildConfig(
            entry, config, folders, run_as, scratch_bytes, answer_bytes, start_seconds=start_seconds
        )
        self._families = dict(families)
        self._places = Places(self._families, cores)
        self._memory_bytes = memory_bytes
        self._connection_server = connection_server
        self._preload = preload
        self._copies = copies
        self._launcher = launcher or shared_launcher()
        self._lock = threading.Lock()
        self._closed = False
        self._slots: list[Slot] = []
        self._running: Counter[str] = Counter()
        self._waiting: list[_Turn] = []
        self._tasks = 0
        self._restarts: Counter[str] = Counter()
        self._isolation: Isolation | None = None
        shortest = min((family.idle_seconds for family in families.values()), default=60.0)
        self._launcher.add_check(self._end_idle_children, max(0.05, shortest / 2))

    def preload(self, families: Iterable[str]) -> None:
        """Load what children of these families share, without waiting for it."""
        stocks = [self.stock(family) for family in families]
        for stock in sorted(stocks, key=lambda stock: len(stock.families)):
            self._launcher.preload(stock)

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
        known = self._families.get(family)
        if known is None:
            raise UsageError(f"no family of children is called {family}; there are: {', '.join(self._families)}")
        allowed = replace(limits, memory_bytes=min(limits.memory_bytes, known.memory_bytes))
        slot = self._acquire(family)
        try:
            if on_start is not None:
                on_start()
            return slot.answer(task, known, lambda child: ask(child, allowed))
        finally:
            self._give_back(slot)

    def cancel(self, task: Task) -> None:
        """End the child that runs this task, if one does; the task then fails."""
        with self._lock:
            for slot in self._slots:
                if slot.task is task and slot.child is not None:
                    slot.child.end()

    def snapshot(self) -> Snapshot:
        """The state of all children, for the status."""
        with self._lock:
            living = [(slot.family, slot.child, slot.task) for slot in self._slots if slot.child and slot.child.alive()]
            counts = len(self._waiting), self._tasks, dict(self._restarts)
        states = tuple(
            ChildState(
                family=family,
                pid=child.pid,
                tasks=child.tasks,
                busy_with=task.file.path if task else None,
                resident_bytes=child.resident(),
                peak_bytes=child.peak(),
            )
            for family, child, task in living
        )
        waiting, tasks, restarts = counts
        return Snapshot(
            children=states,
            waiting=waiting,
            tasks=tasks,
            restarts=sum(restarts.values()),
            restarts_by_family=dict.fromkeys(self._families, 0) | restarts,
            isolation=self._isolation,
        )

    def close(self) -> None:
        """End all children at once. Running tasks fail with a ChymeError."""
        self._launcher.remove_check(self._end_idle_children)
        with self._lock:
            self._closed = True
            dropped, self._waiting = self._waiting, []
            idle = _mark_ending(self._idle_slots())
            for slot in self._slots:
                if slot.child:
                    slot.child.end()  # threads that talk to them notice, and clean up
        for turn in dropped:
            turn.granted.set_exception(ChymeError(CLOSED))
        self._end_all(idle)

    def _acquire(self, family: str) -> Slot:
        """A place for a task: first come, first served, as far as its family has room."""
        turn = _Turn(family)
        with self._lock:
            if self._closed:
                raise ChymeError(CLOSED)
            self._waiting.append(turn)
            surplus = self._grant_turns()
        self._end_all(surplus)
        return turn.granted.result()

    def _give_back(self, slot: Slot) -> None:
        with self._lock:
            self._tasks += 1
            self._running[slot.family] -= 1
            slot.idle_since = time.monotonic()
            useless = self._closed or slot.child is None
            if useless and slot in self._slots:
                self._slots.remove(slot)
            surplus = self._grant_turns()
        if useless:
            slot.end_child()
        self._end_all(surplus)

    def _grant_turns(self) -> list[Slot]:
        """Start what may run now. Returns children that the caller must end once it has released the lock."""
        surplus: list[Slot] = []
        for turn in list(self._waiting):
            if not self._places.has_room(turn.family, self._running):
                continue
            slot = self._idle_slot(turn.family)
            others = [other for other in self._idle_slots() if other is not slot]
            used = self._memory_used() if self._memory_bytes is not None else 0
            idle = [other.as_idle(self._is_counted(other.family)) for other in others]
            # A child that is used again takes no new place, nor does one that is not counted.
            living = sum(not other.ending and self._is_counted(other.family) for other in self._slots)
            living -= slot is not None or not self._is_counted(turn.family)
            chosen = choose_surplus(idle, living, self._places.max_living, used, self._memory_bytes)
            surplus += _mark_ending(others[position] for position in chosen)
            freed = sum(idle[position].memory for position in chosen)
            too_much = self._memory_bytes is not None and used - freed > self._memory_bytes
            if too_much and self._running.total():
                break  # it waits until others have ended: better slow than swapped out
            if slot is None:
                slot = Slot(self, turn.family)
                self._slots.append(slot)
            slot.family, slot.idle_since = turn.family, None
            slot.served.add(turn.family)
            self._running[turn.family] += 1
            self._waiting.remove(turn)
            turn.granted.set_result(slot)
        return surplus + _mark_ending(slot for slot in self._idle_slots() if self._is_outdone(slot))

    def _idle_slots(self) -> list[Slot]:
        """Slots with an idle child, the longest idle first."""
        idle = [slot for slot in self._slots if slot.idle_since is not None and not slot.ending]
        return sorted(idle, key=lambda slot: slot.idle_since or 0.0)

    def _idle_slot(self, family: str) -> Slot | None:
        """A child of the family's pool: best one that has loaded what this family needs and others do not, then the
        one that was used last, so that the others may go idle."""
        pool, light = self._pool_of(family), self._families[family].light
        fitting = [slot for slot in reversed(self._idle_slots()) if self._pool_of(slot.family) == pool]
        return min(
            (slot for slot in fitting if light or not slot.light),
            key=lambda slot: (family not in slot.served, len(slot.served)),
            default=None,
        )

    def _is_outdone(self, slot: Slot) -> bool:
        """Whether its child lacks what children of its pool share, and others that have it can be started at once."""
        return slot.light and self._launcher.template.has(self._full_stock(slot.family))

    def _is_counted(self, family: str) -> bool:
        """Whether a child of this family takes one of the places of those that live: not if it only waits, nor if it
        shares nearly all it needs with the template, as those do that run what is quick."""
        pool = self._pool_of(family)
        quick = any(other.quick for name, other in self._families.items() if self._pool_of(name) == pool)
        return not (quick or self._families[family].waits)

    def _pool_of(self, family: str) -> str:
        return self._families[family].pool or family

    def stock(self, family: str) -> Stock:
        """What a child for this family shares with others."""
        full = self._full_stock(family)
        return replace(full, families=()) if self._families[family].light else full

    def _full_stock(self, family: str) -> Stock:
        pool = self._pool_of(family)
        families = tuple(name for name in self._families if self._pool_of(name) == pool)
        return Stock(self._preload, self._child_config.config, families)

    def _memory_used(self) -> int:
        """Memory of all children and of what they share."""
        pid = self._launcher.template.pid
        resident, of_files = read_memory(pid) if pid else (0, 0)
        return resident - of_files + sum(slot.own_memory() for slot in self._slots)

    def _end_idle_children(self) -> bool:
        """End children that have been idle for too long. Returns whether any child is left."""
        now = time.monotonic()
        with self._lock:
            expired = _mark_ending(
                slot
                for slot in self._idle_slots()
                if slot.idle_since is not None and now - slot.idle_since >= self._families[slot.family].idle_seconds
            )
            surplus = self._grant_turns()  # others may use less memory by now
        self._end_all(expired + surplus)
        with self._lock:
            return bool(self._slots)

    def _end_all(self, slots: Sequence[Slot]) -> None:
        """End these children; only then they are no longer listed."""
        for slot in slots:
            slot.end_child()
        if slots:
            with self._lock:
                self._slots = [slot for slot in self._slots if slot not in slots]

    def start_child(self, slot: Slot) -> Child:
        """Start a child for this slot; ChildNotStarted or ChymeError if that fails."""
        family, stock = self._families[slot.family], self._full_stock(slot.family)
        slot.served = {slot.family}
        slot.light = family.light and not self._launcher.template.has(stock)
        if slot.light:
            stock = self.stock(slot.family)
        server = self._connection_server if family.may_connect else None
        try:
            child = self._launcher.start_child(
                lambda template: Child(self._child_config, server, template if self._copies else None, stock)
            )
        except OSError as error:
            raise ChildNotStarted(error.strerror or "the system refused", hopeless=False) from error
        try:
            with self._lock:
                slot.child = child
                if self._closed:
                    raise ChymeError(CLOSED)
            child.wait_until_ready()
        except BaseException:
            slot.end_child()
            raise
        self._isolation = child.isolation
        return child

    def is_closed(self) -> bool:
        return self._closed

    def count_restart(self, family: str) -> None:
        with self._lock:
            self._restarts[family] += 1


@dataclass(slots=True)
class _Turn:
    """A task that waits for its place."""

    family: str
    granted: Future[Slot] = field(default_factory=Future)


def _mark_ending(slots: Iterable[Slot]) -> list[Slot]:
    """Mark children that get no further task. Their own thread ends them once it has released the lock."""
    marked = list(slots)
    for slot in marked:
        slot.ending = True
    return marked


def isolation() -> Isolation:
    """How children are isolated on this machine; starts one to find out."""
    config = ChildConfig("chyme.core.children.main:no_digesters", {}, (), NOBODY, 1 << 20, 1 << 20, 30.0)
    child = Child(config)
    try:
        child.wait_until_ready()
    except ChildNotStarted as error:
        return Isolation(False, "", f"child processes cannot start ({error})")
    finally:
        child.dispose()
    return child.isolation
