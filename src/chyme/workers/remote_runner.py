"""Runs tasks on this machine or on workers elsewhere, wherever there is room first.

Tasks that may travel wait in one line. A free worker asks for work and gets the first task of the line that it is able
to do; a child that becomes free here takes from the same line. So nothing is bound to a place before it can begin.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future
from secrets import token_hex
from typing import Protocol, TypeVar

from chyme.core.children import task_errors
from chyme.core.children.frames import BadFrame
from chyme.core.children.places import Places
from chyme.core.children.serialization import decode_outputs
from chyme.core.children.slot import CLOSED
from chyme.core.children.task import Answer, Task
from chyme.errors import Category, ChildCrashed, ChymeError, DigestError, WorkerLost
from chyme.model import Limits, Output
from chyme.workers.estimates import Estimates
from chyme.workers.fabric import Fabric
from chyme.workers.known_workers import KnownWorker
from chyme.workers.remote_config import RemoteConfig
from chyme.workers.remote_run import RemoteRun, RunAnswer, Unwanted, Waiting
from chyme.workers.run_watch import RunWatch
from chyme.workers.wire import ask_subject, give_subject
from chyme.workers.work_line import LIVE_SECONDS, WorkLine
from chyme.workers.worker_report import RunReport, WorkerReport, WorkersReport, WorkerState, explain_fit
from chyme.workers.worker_requests import WorkerRequests

T = TypeVar("T")

log = logging.getLogger(__name__)

SMALL_SECONDS = 0.5  # what takes less does not travel
CHANGE_SECONDS = 0.2  # between two words about free places
FREE_ONCE = frozenset({Category.CRASH, Category.TIMEOUT, Category.UNAVAILABLE})


class HomeRunner(Protocol):
    """The children of this machine."""

    def run(
        self,
        task: Task,
        family: str,
        limits: Limits,
        on_progress: Callable[[float], None] | None = None,
        on_start: Callable[[], None] | None = None,
    ) -> list[Output]: ...

    def run_many(
        self, tasks: Sequence[Task], family: str, limits: Limits, on_start: Callable[[], None] | None = None
    ) -> list[Answer]: ...


class _Blamed(Exception):
    """A run failed for a reason that may be the worker's own."""

    def __init__(self, error: DigestError) -> None:
        super().__init__(str(error))
        self.error = error


class RemoteRunner:
    """The children of this machine, and workers elsewhere. `run` may be called from many threads at once."""

    def __init__(
        self,
        home: HomeRunner,
        fabric: Fabric,
        config: RemoteConfig,
        places: Places,
        is_private: Callable[[str], bool],
        on_change: Callable[[], None] = lambda: None,
    ) -> None:
        """`places`: those of this machine for what may travel. `on_change`: more or fewer places are free elsewhere."""
        self.coordinator = token_hex(8)
        self.estimates = Estimates()
        self._home = home
        self._fabric = fabric
        self._config = config
        self._places = places
        self._is_private = is_private
        self._on_change = on_change
        self._change_reported = 0.0
        self._line = WorkLine(fabric, config, places)
        self._watch = RunWatch(self._line, fabric, config, self.coordinator)
        requests = WorkerRequests(self._line, fabric, config, on_change)
        fabric.listen(ask_subject(config.vault, self.coordinator, "*"), requests.answer, answers_go_to_last=True)

    def start(self) -> None:
        self._fabric.start()
        self._fabric.spawn(self._watch.run())

    def close(self) -> None:
        """Stop: everything that waits or runs elsewhere fails with a ChymeError, and workers are informed."""
        if self._line.closed:
            return
        waiting, runs = self._line.close()
        for entry in waiting:
            entry.refuse(ChymeError(CLOSED))
        for run in runs:
            run.fail(ChymeError(CLOSED))
        with contextlib.suppress(TimeoutError, ChymeError, RuntimeError):
            self._fabric.call(self._tell_stopped(runs)).result(2.0)
        self._fabric.close()

    async def _tell_stopped(self, runs: Sequence[RemoteRun]) -> None:
        for run in runs:
            await self._tell(run, "stop")

    # What runs where

    def run(
        self,
        task: Task,
        family: str,
        limits: Limits,
        on_progress: Callable[[float], None] | None = None,
        on_start: Callable[[], None] | None = None,
    ) -> list[Output]:
        """Return the outputs or raise a DigestError, as `Runner.run` does; PutDown if there is no place after all."""
        declared = self._config.digesters.get(task.digester)
        if declared is None or not self._may_travel(task, family):
            return self._run_here(family, lambda: self._measured_run(task, family, limits, on_progress, on_start))
        entry = Waiting((task,), family, limits, declared.keeps_scratch, declared.lane, on_progress)

        def run_here() -> list[Output]:
            return self._measured_run(task, family, limits, on_progress, on_start)

        return self._run_somewhere(entry, run_here, lambda answer: _read_result(answer, task, declared.outputs))

    def run_many(
        self, tasks: Sequence[Task], family: str, limits: Limits, on_start: Callable[[], None] | None = None
    ) -> list[Answer]:
        """The same for several tasks of one digester: they stay here, since together they are still small."""
        return self._run_here(family, lambda: self._home.run_many(tasks, family, limits, on_start))

    def _may_travel(self, task: Task, family: str) -> bool:
        if task.travel is None or self._is_private(task.file.path):
            return False
        seconds = self.estimates.seconds(task.digester, task.file.mime)
        if seconds is None:
            return self._config.travels_always and not self._places.families[family].quick
        return seconds >= SMALL_SECONDS

    def _measured_run(
        self,
        task: Task,
        family: str,
        limits: Limits,
        on_progress: Callable[[float], None] | None,
        on_start: Callable[[], None] | None,
    ) -> list[Output]:
        began = [time.monotonic()]

        def start() -> None:
            began[0] = time.monotonic()
            if on_start is not None:
                on_start()

        made = self._home.run(task, family, limits, on_progress, start)
        if task.digester in self._config.digesters:
            self.estimates.learn(task.digester, task.file.mime, time.monotonic() - began[0])
        return made

    def _run_here(self, family: str, work: Callable[[], T], reserved: bool = False) -> T:
        if not reserved:
            self._line.begin_here(family)
        try:
            return work()
        finally:
            self._line.end_here(family)

    def _run_somewhere(self, entry: Waiting, here: Callable[[], T], read: Callable[[RunAnswer], T]) -> T:
        first: _Blamed | None = None
        while True:
            run = self._await_place(entry)
            try:
                if run is None:
                    return self._run_here(entry.family, here, reserved=True)
                return self._await_result(run, entry, read)
            except _Blamed as blamed:
                if first is not None:  # two places failed with it, so it is the file
                    self._forgive(entry)
                    raise blamed.error from None
                first = blamed
                entry.place = Future()
            except DigestError as error:
                if first is not None and error.category in FREE_ONCE:
                    self._forgive(entry)
                raise

    def _forgive(self, entry: Waiting) -> None:
        with self._line.lock:
            for worker in entry.avoid:
                worker.forgive(entry.tasks[0].file.id)

    def _await_place(self, entry: Waiting) -> RemoteRun | None:
        """A run on a worker, or None for a place here, which is taken."""
        if self._line.enter(entry):
            return None
        with contextlib.suppress(RuntimeError):  # the loop has ended; then so has the waiting
            self._fabric.loop.call_soon_threadsafe(self._watch.wake.set)
        return entry.place.result()

    def _await_result(self, run: RemoteRun, entry: Waiting, read: Callable[[RunAnswer], T]) -> T:
        """What the worker made; _Blamed for a failure that may be the worker's own."""
        worker, file = run.worker, entry.tasks[0].file
        try:
            answer = run.result.result()
            made = read(answer)
        except DigestError as error:
            if error.category in FREE_ONCE:
                self._blame(worker, entry, str(error.category))
                raise _Blamed(error) from error
            with self._line.lock:
                worker.succeed()  # what is wrong with the file would be wrong everywhere
            raise
        except (BadFrame, Unwanted) as error:
            self._blame(worker, entry, f"an answer that makes no sense: {error}")
            raise _Blamed(task_errors.protocol_error(entry.tasks[0], str(error))) from error
        except WorkerLost as error:
            with self._line.lock:
                worker.lost += 1
            if entry.alone:
                raise ChildCrashed(
                    f"{file.path}: three workers ended while {entry.digester} read it, the last with nothing beside it"
                ) from error
            raise
        finally:
            self._end(run)
        with self._line.lock:
            worker.succeed()
        self.estimates.learn(entry.digester, file.mime, answer.seconds / worker.slowness)
        return made

    def _blame(self, worker: KnownWorker, entry: Waiting, reason: str) -> None:
        with self._line.lock:
            entry.avoid.append(worker)
            aside = worker.blame(entry.tasks[0].file.id, reason)
        if aside:
            log.warning("the worker %s is set aside: %s", worker.name, worker.set_aside)

    def _end(self, run: RemoteRun) -> None:
        run.close()
        self._line.end(run)
        if self._line.closed:
            return
        if not run.answered_inline:
            self._fabric.spawn(self._tell(run, "have"))
        now = time.monotonic()
        if now - self._change_reported >= CHANGE_SECONDS:
            self._change_reported = now
            self._on_change()

    # For the scheduler and the status

    def extra_places(self, lane: int) -> int:
        """How many files more may be worked on in this lane, because of workers elsewhere."""
        with self._line.lock:
            mine = sum(1 for run in self._line.runs.values() if run.waiting.lane == lane)
            if not self._fabric.connected:
                return mine
            free = sum(worker.free for worker in self._line.live_workers() if worker.fits)
            return min(mine + free, self._config.remote_places)

    def describe(self) -> WorkersReport:
        """Everything about workers, for people."""
        now = time.monotonic()
        with self._line.lock:
            workers = tuple(
                self._report_on(worker, now)
                for worker in sorted(self._line.workers, key=lambda worker: (worker.name, worker.instance))
            )
            waiting = Counter(entry.digester for entry in self._line.waiting)
        return WorkersReport(
            vault=self._config.vault,
            connected=self._fabric.connected,
            problem=self._fabric.problem,
            waits_for_workers=self._config.travels_always,
            workers=workers,
            waiting=dict(sorted(waiting.items())),
            late=self._line.late_answers,
            unfit=explain_fit(workers, sorted({*self._config.digesters, *waiting}) if workers else sorted(waiting)),
            connections=self._fabric.connections,
        )

    def _report_on(self, worker: KnownWorker, now: float) -> WorkerReport:
        """What is known of one worker. The lock is held."""
        silent = now - worker.heard > LIVE_SECONDS
        runs = [self._line.runs[run_id] for run_id in sorted(worker.running) if run_id in self._line.runs]
        return WorkerReport(
            name=worker.name,
            instance=worker.instance,
            host=worker.host,
            version=worker.version,
            state=WorkerState.SET_ASIDE if worker.set_aside else WorkerState.SILENT if silent else WorkerState.LIVE,
            places=worker.places,
            slowness=round(worker.slowness, 2),
            running=tuple(
                RunReport(
                    run.run_id,
                    run.waiting.digester,
                    run.waiting.tasks[0].file.path,
                    None if run.running_for is None else round(run.running_for, 1),
                )
                for run in runs
            ),
            done=worker.done,
            failed=worker.failed,
            lost=worker.lost,
            late=worker.late,
            heard_seconds_ago=round(now - worker.heard, 1),
            set_aside=worker.set_aside,
            makes=tuple(sorted(worker.fits)),
            misfits=dict(worker.misfits),
        )

    async def _tell(self, run: RemoteRun, what: str) -> None:
        subject = give_subject(self._config.vault, run.worker.name, run.worker.instance)
        await self._fabric.publish(subject, {"kind": what, "run": run.run_id, "key": run.key})


def _read_result(answer: RunAnswer, task: Task, outputs: Collection[str]) -> list[Output]:
    """The outputs of a run, checked as those of a child are; a DigestError or BadFrame otherwise."""
    header = answer.message.header
    match header.get("result"):
        case "outputs":
            return decode_outputs(header.get("outputs"), tuple(outputs), answer.bulk)
        case "error":
            return _raise(task_errors.rebuild_error(task, header))
        case "full":
            return _raise(ChildCrashed(f"{task.file.path}: the worker's disk is full"))
    raise BadFrame("an answer of an unknown kind")


def _raise(error: DigestError) -> list[Output]:
    raise error
