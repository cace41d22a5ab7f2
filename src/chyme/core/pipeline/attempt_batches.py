"""Attempts at small files that one child runs as a batch."""

from __future__ import annotations

import contextlib
import logging
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from chyme.core.children.task import MAX_BATCH_TASKS, Task
from chyme.core.files.vault_folder import Vault
from chyme.core.pipeline.attempt import Attempt
from chyme.core.pipeline.digester_inputs import inputs_of
from chyme.core.pipeline.file_change_checks import ensure_unchanged, open_unchanged
from chyme.core.pipeline.in_flight import InFlight
from chyme.core.pipeline.lease_renewal import LeaseRenewer
from chyme.core.pipeline.registry_rules import Rules
from chyme.core.pipeline.scratch_folders import ScratchFolders
from chyme.core.pipeline.task_runners import TaskRunner
from chyme.core.pipeline.transitions import FilePass
from chyme.core.store.sqlite.database import Database
from chyme.errors import ChymeError, DigestError, FileChanged
from chyme.model import Kind, Lease, Limits, Output

log = logging.getLogger(__name__)

SMALL_TEXTS = 20_000  # characters in all texts of a file

Ready = tuple[Lease, Attempt | None, FilePass]
Made = list[Output] | DigestError


class BatchTaskRunner(TaskRunner, Protocol):
    """A pool of children that can give several tasks to one child."""

    def run_many(
        self, tasks: Sequence[Task], family: str, limits: Limits, on_start: Callable[[], None] | None = None
    ) -> list[Made]: ...


@dataclass(frozen=True, slots=True)
class BatchResult:
    """The result of one attempt of a batch, and when it would have started if it had been the last."""

    made: Made
    began: datetime


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
    for lease, other, turn in [ready.popleft() for _ in range(len(ready) if can_batch(attempt) else 0)]:
        if other is not None and other.digester is attempt.digester and len(found) < MAX_BATCH_TASKS - 1:
            found[other.run_id] = (other, turn)
        else:
            ready.append((lease, other, turn))
    return found


class BatchRunner:
    """Runs several attempts as one batch."""

    def __init__(
        self,
        database: Database,
        rules: Rules,
        runner: BatchTaskRunner,
        vault: Vault,
        scratch: ScratchFolders,
        leases: LeaseRenewer,
        in_flight: InFlight,
        clock: Callable[[], datetime],
    ) -> None:
        self._database = database
        self._rules = rules
        self._runner = runner
        self._vault = vault
        self._scratch = scratch
        self._leases = leases
        self._in_flight = in_flight
        self._clock = clock

    def run(self, attempts: Sequence[Attempt], memory_bytes: int, cpu_factor: float) -> dict[str, BatchResult]:
        """The results, by run, of the attempts that could run together; the others must be run alone.

        If the child fails, it is unknown which file caused it, so the result is empty and no attempt is blamed.
        """
        with contextlib.ExitStack() as until_done:
            batch = [(attempt, task) for attempt in attempts if (task := self._small_task(attempt, until_done))]
            if len(batch) < 2:
                return {}
            digester, seconds = attempts[0].digester, max(attempt.seconds for attempt, _ in batch)
            for attempt, _ in batch:
                self._in_flight.begin(attempt.file, digester.name)
                until_done.callback(self._in_flight.end, attempt.file)
            began = [self._clock()]

            def start() -> None:
                began[0] = self._clock()
                for attempt, _ in batch:
                    self._leases.add(attempt.lease, began[0] + timedelta(seconds=seconds))

            limits = Limits(seconds, seconds * cpu_factor, memory_bytes)
            try:
                made = self._runner.run_many([task for _, task in batch], digester.runs.family, limits, start)
            except (ChymeError, OSError) as error:
                log.info("%d files did not go through %s together: %s", len(batch), digester.name, error)
                for attempt, _ in batch:
                    self._leases.add(attempt.lease)  # they wait again
                return {}
            end = self._clock()
            began_last = end - (end - began[0]) / len(batch)
            return {
                attempt.run_id: BatchResult(_unless_changed(task, result), began_last)
                for (attempt, task), result in zip(batch, made, strict=True)
            }

    def _small_task(self, attempt: Attempt, until_done: contextlib.ExitStack) -> Task | None:
        """The task, with file and folder open until the batch is done; None for a long text or an unreadable file."""
        file, digester = attempt.file, attempt.digester
        own_size = file.size if file.kind is Kind.TEXT else 0
        if own_size > SMALL_TEXTS:
            return None
        inputs = inputs_of(self._database.read(), self._rules, attempt)
        if own_size + sum(len(upstream.content or "") for upstream in inputs) > SMALL_TEXTS:
            return None
        try:
            fd = until_done.enter_context(open_unchanged(self._vault, file))
            scratch = until_done.enter_context(self._scratch.lend(None))
        except (ChymeError, OSError):
            return None
        return Task(digester.name, file, fd, inputs, scratch)


def _unless_changed(task: Task, made: Made) -> Made:
    """What was made, or FileChanged if the file has changed since it was opened."""
    try:
        if task.fd is not None and not isinstance(made, DigestError):
            ensure_unchanged(task.file, task.fd)
    except FileChanged as error:
        return error
    return made
