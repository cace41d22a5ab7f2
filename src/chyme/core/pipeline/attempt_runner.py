"""Runs attempts: opens the file, runs the digester under its limits, and turns whatever happens into an outcome.

Small files of a digester that gathers go through one child as a batch.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import shutil
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from chyme.core.children.task import MAX_BATCH_TASKS, Answer, Task, Travel
from chyme.core.files.vault_folder import Vault, stamp_of
from chyme.core.pipeline.attempt import Attempt
from chyme.core.pipeline.digest_state import Failed, Interrupted, Outcome, Produced, Unreadable
from chyme.core.pipeline.digester_inputs import inputs_of
from chyme.core.pipeline.in_flight import InFlight
from chyme.core.pipeline.leases import LeaseRenewer
from chyme.core.pipeline.pause import DiskSpace
from chyme.core.pipeline.registry_rules import Rules
from chyme.core.pipeline.retry_policy import MODEL_FAILURE_CATEGORIES
from chyme.core.pipeline.scratch_folders import ScratchFolders
from chyme.core.pipeline.task_runners import BatchTaskRunner, ModelCalls, TaskRunner, ThreadRunner
from chyme.core.pipeline.transitions import FilePass, PassResult
from chyme.core.store import digest_queue, leases
from chyme.core.store.sqlite.database import Database
from chyme.errors import ChymeError, DigestError, DiskFull, FileChanged, WorkerLost
from chyme.model import File, Kind, Lease, Limits, iso

log = logging.getLogger(__name__)

SMALL_TEXTS = 20_000  # characters in all texts of a file
MIN_FREE_BYTES = 4 * 1024 * 1024
LONG_WAIT = timedelta(minutes=1)  # for a child; longer ones move the deadline in the database

Ready = tuple[Lease, Attempt | None, FilePass]


@dataclass(frozen=True, slots=True)
class Allowance:
    """What an attempt may use besides its time."""

    memory_bytes: int
    cpu_factor: float = 1.0  # CPU seconds per second of its time limit


@dataclass(frozen=True, slots=True)
class FinishedAttempt:
    """An attempt that is over and not recorded yet."""

    attempt: Attempt
    outcome: Outcome
    pass_result: PassResult
    began: datetime  # when a child started on it
    worker: str | None = None  # the worker that ran it; None: this machine


def can_batch(attempt: Attempt | None) -> bool:
    """Whether an attempt may be run together with others."""
    if attempt is None or not attempt.digester.runs.gathers:
        return False
    return not attempt.digester.runs.keeps_scratch and not attempt.digester.waits_for(attempt.file)


def can_batch_all(ready: Iterable[Ready]) -> bool:
    return all(can_batch(attempt) for _, attempt, _ in ready)


def take_batch(attempt: Attempt, ready: deque[Ready]) -> dict[str, tuple[Attempt, FilePass]]:
    """Remove from `ready` the attempts that can run together with this one. Returns them by run."""
    found: dict[str, tuple[Attempt, FilePass]] = {}
    for lease, other, file_pass in [ready.popleft() for _ in range(len(ready) if can_batch(attempt) else 0)]:
        if other is not None and other.digester is attempt.digester and len(found) < MAX_BATCH_TASKS - 1:
            found[other.run_id] = (other, file_pass)
        else:
            ready.append((lease, other, file_pass))
    return found


@dataclass(frozen=True)
class AttemptRunner:
    """Runs the attempts of one vault."""

    database: Database
    rules: Rules
    children: BatchTaskRunner
    vault: Vault
    scratch: ScratchFolders
    leases: LeaseRenewer
    in_flight: InFlight
    disk: DiskSpace
    stopping: threading.Event
    clock: Callable[[], datetime]
    allowance: Callable[[str], Allowance]
    ledger: ModelCalls
    _began: dict[str, datetime] = field(default_factory=dict)  # run → when a child started on it
    _workers: dict[str, str] = field(default_factory=dict)  # run → the worker on another machine that has it

    def run_all(self, attempts: Sequence[Attempt]) -> Iterator[FinishedAttempt]:
        """Run the attempts of one digester: those with little text as one batch in one child, then the others.

        If that child fails, it is unknown which file caused it, so each of them is then run alone.
        """
        answers = self._run_batch(attempts) if len(attempts) > 1 else {}
        for attempt in attempts:
            if (answer := answers.get(attempt.run_id)) is not None:
                yield self._finished(attempt, *self._judge_answer(attempt, answer))
        for attempt in attempts:
            if attempt.run_id not in answers:
                yield self._finished(attempt, *self._run_alone(attempt))

    def _finished(self, attempt: Attempt, outcome: Outcome, pass_result: PassResult) -> FinishedAttempt:
        began = self._began.pop(attempt.run_id, attempt.started)
        return FinishedAttempt(attempt, outcome, pass_result, began, self._workers.pop(attempt.run_id, None))

    def _judge_answer(self, attempt: Attempt, answer: Answer) -> tuple[Outcome, PassResult]:
        if isinstance(answer, FileChanged):
            return Interrupted(), PassResult.CHANGED
        if isinstance(answer, DigestError):
            return self._judge_failure(attempt, answer)
        return Produced(tuple(answer)), PassResult.DONE

    def _run_alone(self, attempt: Attempt) -> tuple[Outcome, PassResult]:
        """Run the digester under its limits and turn whatever happens into an outcome."""
        file, digester, resumed = attempt.file, attempt.digester, self.disk.resumed
        self.leases.add(attempt.lease)
        self.in_flight.begin(file, digester.name)
        try:
            with _open_unchanged(self.vault, file) as fd, self.scratch.lend(attempt.scratch_key) as scratch:
                inputs = inputs_of(self.database.read(), self.rules, attempt)
                task = Task(digester.name, file, fd, inputs, scratch, travel=self._travel(attempt, fd))
                allowance = self.allowance(digester.runs.family)
                limits = Limits(attempt.seconds, attempt.seconds * allowance.cpu_factor, allowance.memory_bytes)
                runner = self._thread_runner(attempt) if digester.waits_for(file) else self.children
                self.database.rest()
                made = runner.run(
                    task,
                    digester.runs.family,
                    limits,
                    on_progress=lambda fraction: self.in_flight.progress(file, digester.name, fraction),
                    on_start=lambda: self._started(attempt),
                )
                _ensure_unchanged(file, fd)
            return Produced(tuple(made)), PassResult.DONE
        except FileChanged:
            return Interrupted(), PassResult.CHANGED
        except DigestError as error:
            return self._judge_failure(attempt, error)
        except WorkerLost:
            return Interrupted(lost=True), PassResult.STOPPED
        except ChymeError as error:
            if isinstance(error, DiskFull):
                self.disk.pause(str(error), resumed)
            return Interrupted(), PassResult.STOPPED
        except OSError as error:
            full = error.errno in (errno.ENOSPC, errno.EDQUOT)
            if full:
                self.disk.pause(f"{file.path}: there is no room left to work on it; make room", resumed)
            if full or self.database.presence.find_problem():
                return Interrupted(), PassResult.STOPPED
            return Unreadable(error.strerror or str(error)), PassResult.DONE
        finally:
            self.in_flight.end(file)

    def _judge_failure(self, attempt: Attempt, error: DigestError) -> tuple[Outcome, PassResult]:
        full = self._disk_nearly_full()
        if full:
            self.disk.pause(f"there is hardly any room left in {self.scratch.root}; make room", self.disk.resumed)
        if full or self.database.presence.find_problem():  # neither is caused by the file
            return Interrupted(), PassResult.STOPPED
        provider = attempt.digester.asks(attempt.file) if error.category in MODEL_FAILURE_CATEGORIES else None
        tried = error.tried or provider is not None  # a digester that needs its model must run out of attempts, too
        return Failed(error.category, str(error), error.retry_after, tried, provider), PassResult.DONE

    def _thread_runner(self, attempt: Attempt) -> TaskRunner:
        """A runner for a digester that only waits on HTTP: it needs no child, but permission to call a model."""
        file, digester = attempt.file, attempt.digester
        calls = self.ledger.calls_for(file, digester.name, attempt.run_id)
        provider = digester.asks(file)
        private = self.ledger.is_private(file, provider)
        return ThreadRunner(digester, self.children, self.stopping, calls, provider, private)

    def _started(self, attempt: Attempt, stretch: float = 1.0) -> None:
        """A child has started on the task: its time limit begins, which another machine may stretch."""
        now = self.clock()
        deadline = now + timedelta(seconds=attempt.seconds * stretch)
        self.leases.add(attempt.lease, deadline)
        if deadline - attempt.started > timedelta(seconds=attempt.seconds) + LONG_WAIT:  # it waited, or is stretched
            file_id = attempt.file.id
            self.database.submit(lambda db: digest_queue.postpone(db, file_id, iso(deadline)))
        self._began[attempt.run_id] = now
        self._workers.pop(attempt.run_id, None)
        self.in_flight.take(attempt.file)

    def _travel(self, attempt: Attempt, fd: int) -> Travel:
        """What is needed to run the attempt on another machine."""
        losses = max((row.losses for row in attempt.before.values()), default=0)

        def begin(worker: str, stretch: float) -> None:
            self._started(attempt, stretch)
            self._workers[attempt.run_id] = worker

        def is_wanted() -> bool:
            unchanged = stamp_of(status := os.fstat(fd)) == attempt.file.stamp and status.st_nlink > 0
            return unchanged and not self.stopping.is_set() and leases.is_held(self.database.read(), attempt.lease)

        return Travel(attempt.run_id, losses, begin, is_wanted)

    def _disk_nearly_full(self) -> bool:
        try:
            return shutil.disk_usage(self.scratch.root).free < MIN_FREE_BYTES
        except OSError:
            return False

    def _run_batch(self, attempts: Sequence[Attempt]) -> dict[str, Answer]:
        """The answers, by run, of the attempts that could run together; the others must be run alone.

        If the child fails, it is unknown which file caused it, so the result is empty and no attempt is blamed.
        """
        with contextlib.ExitStack() as until_done:
            batch = [(attempt, task) for attempt in attempts if (task := self._small_task(attempt, until_done))]
            if len(batch) < 2:
                return {}
            digester, seconds = attempts[0].digester, max(attempt.seconds for attempt, _ in batch)
            for attempt, _ in batch:
                self.in_flight.begin(attempt.file, digester.name)
                until_done.callback(self.in_flight.end, attempt.file)
            began = [self.clock()]

            def start() -> None:
                began[0] = self.clock()
                for attempt, _ in batch:
                    self.leases.add(attempt.lease, began[0] + timedelta(seconds=seconds))

            allowance = self.allowance(digester.runs.family)
            limits = Limits(seconds, seconds * allowance.cpu_factor, allowance.memory_bytes)
            try:
                answers = self.children.run_many([task for _, task in batch], digester.runs.family, limits, start)
            except (ChymeError, OSError) as error:
                log.info("%d files did not go through %s together: %s", len(batch), digester.name, error)
                for attempt, _ in batch:
                    self.leases.add(attempt.lease)  # they wait again
                return {}
            end = self.clock()
            for attempt, _ in batch:  # as if each of them had been the last of the batch
                self._began[attempt.run_id] = end - (end - began[0]) / len(batch)
            return {
                attempt.run_id: _unless_changed(task, answer)
                for (attempt, task), answer in zip(batch, answers, strict=True)
            }

    def _small_task(self, attempt: Attempt, until_done: contextlib.ExitStack) -> Task | None:
        """The task, with file and folder open until the batch is done; None for a long text or an unreadable file."""
        file, digester = attempt.file, attempt.digester
        own_size = file.size if file.kind is Kind.TEXT else 0
        if own_size > SMALL_TEXTS:
            return None
        inputs = inputs_of(self.database.read(), self.rules, attempt)
        if own_size + sum(len(upstream.content or "") for upstream in inputs) > SMALL_TEXTS:
            return None
        try:
            fd = until_done.enter_context(_open_unchanged(self.vault, file))
            scratch = until_done.enter_context(self.scratch.lend(None))
        except (ChymeError, OSError):
            return None
        return Task(digester.name, file, fd, inputs, scratch)


def _unless_changed(task: Task, answer: Answer) -> Answer:
    """The answer, or FileChanged if the file has changed since it was opened."""
    try:
        if task.fd is not None and not isinstance(answer, DigestError):
            _ensure_unchanged(task.file, task.fd)
    except FileChanged as error:
        return error
    return answer


@contextlib.contextmanager
def _open_unchanged(vault: Vault, file: File) -> Iterator[int]:
    """A descriptor of the file; FileChanged if it is gone or has changed since it was scanned."""
    try:
        fd = vault.open(file)
    except FileNotFoundError:
        raise FileChanged(f"{file.path}: is not there any more") from None
    try:
        if stamp_of(os.fstat(fd)) != file.stamp:
            raise FileChanged(f"{file.path}: is not what it was when it was last looked at")
        yield fd
    finally:
        os.close(fd)


def _ensure_unchanged(file: File, fd: int) -> None:
    """Raise FileChanged if the file changed while it was read: the result would be worthless."""
    if stamp_of(os.fstat(fd)) != file.stamp:
        raise FileChanged(f"{file.path}: changed while it was read")
