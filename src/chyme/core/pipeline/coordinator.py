"""Takes files through their digesters in order: claims them, runs attempts and records the verdicts."""

from __future__ import annotations

import errno
import logging
import random
import shutil
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from pathlib import Path
from sqlite3 import Connection

from chyme.core.children.task import Task
from chyme.core.files.vault_folder import Vault
from chyme.core.pipeline import output_updates, transitions
from chyme.core.pipeline.attempt import Attempt
from chyme.core.pipeline.attempt_batches import BatchRunner, BatchTaskRunner, Made, can_batch, can_batch_all, take_batch
from chyme.core.pipeline.crash_recovery import recover
from chyme.core.pipeline.digest_state import Failed, Interrupted, Outcome, Produced, Unreadable, Verdict, judge
from chyme.core.pipeline.digester_inputs import inputs_of
from chyme.core.pipeline.file_change_checks import ensure_unchanged, open_unchanged
from chyme.core.pipeline.in_flight import InFlight
from chyme.core.pipeline.lease_owner import is_dead, this_process
from chyme.core.pipeline.lease_renewal import LeaseRenewer
from chyme.core.pipeline.model_calls import ModelCalls
from chyme.core.pipeline.output_preparation import PreparedOutput, prepare_output
from chyme.core.pipeline.pause import Pause
from chyme.core.pipeline.plan import with_siblings
from chyme.core.pipeline.progress.attempt_results import AttemptResult, log_attempt, summarize_attempt
from chyme.core.pipeline.progress.pending_digests import PendingDigest, is_active, list_pending
from chyme.core.pipeline.registry_rules import Rules
from chyme.core.pipeline.scratch_folders import ScratchFolders
from chyme.core.pipeline.task_runners import TaskRunner, ThreadRunner
from chyme.core.pipeline.transitions import LEASE, Claim, FilePass
from chyme.core.store import digests, file_requests, files, leases
from chyme.core.store.models import fallbacks
from chyme.core.store.sqlite.database import Database
from chyme.errors import Category, ChymeError, DigestError, DiskFull, FileChanged, VaultError, VaultGone
from chyme.model import Lane, Lease, Limits, Status, iso

log = logging.getLogger(__name__)

RETRY_WRITE_SECONDS = 1.0
MIN_FREE_BYTES = 4 * 1024 * 1024
# How a model fails. Any other failure of a digest that asks one is no reason to wait for the model.
MODEL_FAILURE_CATEGORIES = frozenset(
    {Category.NETWORK, Category.RATE_LIMIT, Category.AI_QUOTA, Category.BUDGET, Category.UNAVAILABLE}
)


class PassResult(Enum):
    """How a pass over a file ended."""

    DONE = "done"
    BUSY = "busy"  # another worker has it
    CHANGED = "changed"  # the file has changed: scan it again before the next pass
    STOPPED = "stopped"  # chyme is shutting down, or the disk is full


@dataclass(frozen=True, slots=True)
class Allowance:
    """What an attempt may use besides its time."""

    memory_bytes: int
    cpu_factor: float = 1.0  # CPU seconds per second of its time limit


@dataclass(frozen=True, slots=True)
class PendingVerdict:
    """A verdict on its way into the database."""

    attempt: Attempt
    pass_result: PassResult
    settled: bool
    write: Callable[[Connection], tuple[Attempt | None, FilePass]]
    written: Future[tuple[Attempt | None, FilePass]]
    finished: AttemptResult
    resumed: int  # `DiskSpace.resumed` when it was handed to the writer


class Coordinator:
    """Claims a file, runs its pending digesters in order, records each verdict and releases the file."""

    def __init__(
        self,
        database: Database,
        rules: Rules,
        runner: BatchTaskRunner,
        vault: Vault,
        scratch: Path,
        clock: Callable[[], datetime],
        allowance: Callable[[str], Allowance],
        ledger: ModelCalls,
        watch: Callable[[AttemptResult], None] = lambda _result: None,
    ) -> None:
        self._database = database
        self._rules = rules
        self._runner = runner
        self._vault = vault
        self._clock = clock
        self._allowance = allowance
        self._ledger = ledger
        self._watch = watch
        self._owner = this_process()
        self._scratch = ScratchFolders(scratch, self._owner)
        self._leases = LeaseRenewer(database, clock)
        self._stop = threading.Event()
        self._begun: dict[str, datetime] = {}  # run → when a child started on it
        self.pause = Pause(database, scratch)
        self.in_flight = InFlight(database, clock)
        self._batch_runner = BatchRunner(
            database, rules, runner, vault, self._scratch, self._leases, self.in_flight, clock
        )

    def stop(self) -> None:
        """Start nothing more, without waiting: attempts end when they next report progress."""
        self._stop.set()

    def close(self) -> None:
        """Stop and clean up. Call it when every pass has ended."""
        self._stop.set()
        self._leases.close()
        self._scratch.close()

    def recover(self) -> int:
        """Return what dead workers left behind to the queue. Returns how many digests."""
        given_back = recover(self._database, self._rules, self._clock())
        self._scratch.remove_stale()
        for key in self._scratch.kept_keys():
            if self._is_settled(key):  # chyme died between the verdict and the cleanup
                self._scratch.forget(key)
        return given_back

    def wake(self, among: frozenset[int] | None = None) -> int:
        """Requeue what was made without a model that may be asked now. Returns how many digests."""
        return self._ledger.wake(self._requeue_siblings, among)

    def _requeue_siblings(self, db: Connection, file_id: int) -> None:
        """Also requeue the other outputs of requeued digesters, and update the state of the document."""
        file, now = files.by_id(db, file_id), iso(self._clock())
        if file is None:
            return
        rows = digests.of_file(db, file_id)
        woken = [name for name in rows if rows[name].status is Status.TODO]
        siblings = with_siblings(self._rules.registry, woken).difference(woken)
        if siblings and fallbacks.requeue_siblings(db, file_id, siblings, now):
            rows = digests.of_file(db, file_id)
        output_updates.update_document(db, self._rules, file, rows, now)

    def passage_counts(self, file_ids: Sequence[int]) -> dict[int, int]:
        """The length of each file's texts in passages; 0 if not known yet."""
        counts = dict.fromkeys(file_ids, 0)
        for recorder in self._rules.recorders:
            counts.update(recorder.passage_counts(self._database.read(), file_ids))
        return counts

    def _is_settled(self, key: str) -> bool:
        """Whether the attempts that a kept folder belongs to are over, or their file is no longer known."""
        file_id, _, rest = key.partition("-")
        rows = digests.of_file(self._database.read(), int(file_id)) if file_id.isdecimal() else {}
        mine = [row for row in rows.values() if row.input_hash and rest == f"{row.input_hash[:16]}-{row.recipe}"]
        return all(row.settled for row in mine) if mine else not rows

    def process_file(self, file_id: int) -> PassResult:
        """Run the pending digesters of a file, unless another worker has it."""
        claim = self.claim([file_id], frozenset(Lane))[0]
        return PassResult.BUSY if claim is None else self.run_claims([claim])[file_id]

    def claim(self, file_ids: Sequence[int], lanes: frozenset[Lane] = frozenset({Lane.ORDINARY})) -> list[Claim | None]:
        """Take files and start the first digester of each, in one transaction. None for a file that another worker has.

        Only digesters of these `lanes` are started.
        """
        now = self._clock()

        def claim_all(db: Connection) -> list[Claim | None]:
            return [transitions.claim(db, self._rules, file_id, self._owner, now, lanes) for file_id in file_ids]

        taken = self._database.write(claim_all)
        if None in taken and self._free_dead_owners(now):
            return self._database.write(claim_all)
        return taken

    def _free_dead_owners(self, now: datetime) -> bool:
        """Free the leases of owners that are known to be dead. Returns whether there were any."""
        dead = any(is_dead(owner) for owner in leases.owners(self._database.read()) if owner != self._owner)
        if dead:
            recover(self._database, self._rules, now)
        return dead

    def run_claims(
        self, claims: Sequence[Claim], done: Callable[[int, PassResult], None] = lambda _id, _handled: None
    ) -> dict[int, PassResult]:
        """Run the pending digesters of claimed files, each in order, until none is left or the file's turn is over.

        While one verdict is being written, the next file is worked on. Attempts that can run as a batch wait until
        nothing else is left. `done` is called for each file as it ends.
        """
        handled: dict[int, PassResult] = {}

        def end(lease: Lease, how: PassResult) -> None:
            self._leases.remove(lease)
            handled[lease.file_id] = how
            done(lease.file_id, how)

        for claim in claims:
            self._leases.add(claim.lease)
        try:
            self._run_queue(claims, end)
        finally:
            for claim in claims:
                if (
                    claim.lease.file_id not in handled
                ):  # an error ended its pass: it is recovered when its lease expires
                    self._leases.remove(claim.lease)
        return handled

    def _run_queue(self, claims: Sequence[Claim], end: Callable[[Lease, PassResult], None]) -> None:
        ready = deque((claim.lease, claim.attempt, claim.turn) for claim in claims)
        writing: deque[PendingVerdict] = deque()
        while ready or writing:
            if ready:
                lease, attempt, turn = ready.popleft()
                if attempt is None:
                    end(lease, PassResult.DONE)
                    continue
                if can_batch(attempt) and (writing or not can_batch_all(ready)):
                    ready.append((lease, attempt, turn))
                else:
                    together = {attempt.run_id: (attempt, turn), **take_batch(attempt, ready)}
                    for run_id, outcome in self._run_all([attempt for attempt, _ in together.values()]):
                        writing.append(self._submit_verdict(*together[run_id], *outcome))
            while writing and (can_batch_all(ready) or writing[0].written.done()):
                lease, pass_result = writing[0].attempt.lease, writing[0].pass_result
                following, turn = self._await_recorded(
                    writing.popleft()
                )  # no name keeps it alive: its text may be long
                if pass_result is PassResult.DONE:
                    ready.append((lease, following, turn))
                else:
                    end(lease, pass_result)

    def await_settled(self, file_id: int, outputs: frozenset[str], patience: float) -> list[PendingDigest]:
        """Wait until no request for the file is left and none of these outputs is queued or running.

        Gives up when nothing of the file has been running for `patience` seconds. Returns what is not settled.
        """
        deadline = time.monotonic() + patience
        while True:
            db = self._database.read()
            rows = digests.of_file(db, file_id)
            chosen = [row for name, row in rows.items() if name in outputs]
            waiting = bool(file_requests.of_file(db, file_id)) or any(map(is_active, chosen))
            if not waiting or time.monotonic() > deadline or self._stop.is_set():
                return list_pending(chosen)
            if any(row.status is Status.IN_PROGRESS for row in rows.values()):
                deadline = time.monotonic() + patience
            time.sleep(0.05)

    def _attempt(self, attempt: Attempt) -> tuple[Outcome, PassResult]:
        """Run the digester under its limits and turn whatever happens into an outcome."""
        file, digester, resumed = attempt.file, attempt.digester, self.pause.disk.resumed
        self._leases.add(attempt.lease)
        self.in_flight.begin(file, digester.name)
        try:
            with open_unchanged(self._vault, file) as fd, self._scratch.lend(_scratch_key(attempt)) as scratch:
                task = Task(digester.name, file, fd, inputs_of(self._database.read(), self._rules, attempt), scratch)
                allowance = self._allowance(digester.runs.family)
                limits = Limits(attempt.seconds, attempt.seconds * allowance.cpu_factor, allowance.memory_bytes)
                runner = self._thread_runner(attempt) if digester.waits_for(file) else self._runner
                made = runner.run(
                    task,
                    digester.runs.family,
                    limits,
                    on_progress=lambda fraction: self.in_flight.progress(file, digester.name, fraction),
                    on_start=lambda: self._started(attempt),
                )
                ensure_unchanged(file, fd)
            return Produced(tuple(made)), PassResult.DONE
        except FileChanged:
            return Interrupted(), PassResult.CHANGED
        except DigestError as error:
            return self._failed(attempt, error)
        except ChymeError as error:
            if isinstance(error, DiskFull):
                self.pause.disk.pause(str(error), resumed)
            return Interrupted(), PassResult.STOPPED
        except OSError as error:
            full = error.errno in (errno.ENOSPC, errno.EDQUOT)
            if full:
                self.pause.disk.pause(f"{file.path}: there is no room left to work on it; make room", resumed)
            if full or self._database.presence.find_problem():
                return Interrupted(), PassResult.STOPPED
            return Unreadable(error.strerror or str(error)), PassResult.DONE
        finally:
            self.in_flight.end(file)

    def _failed(self, attempt: Attempt, error: DigestError) -> tuple[Outcome, PassResult]:
        full = self._disk_nearly_full()
        if full:
            self.pause.disk.pause(
                f"there is hardly any room left in {self._scratch.root}; make room", self.pause.disk.resumed
            )
        if full or self._database.presence.find_problem():  # neither is caused by the file
            return Interrupted(), PassResult.STOPPED
        provider = attempt.digester.asks(attempt.file) if error.category in MODEL_FAILURE_CATEGORIES else None
        tried = error.tried or provider is not None  # a digester that needs its model must run out of attempts, too
        return Failed(error.category, str(error), error.retry_after, tried, provider), PassResult.DONE

    def _run_all(self, attempts: Sequence[Attempt]) -> Iterator[tuple[str, tuple[Outcome, PassResult]]]:
        """Run the attempts of one digester: those with little text as one batch in one child, then the others.

        If that child fails, it is unknown which file caused it, so each of them is then run alone.
        """
        allowance = self._allowance(attempts[0].digester.runs.family)
        together = (
            self._batch_runner.run(attempts, allowance.memory_bytes, allowance.cpu_factor) if len(attempts) > 1 else {}
        )
        for attempt in attempts:
            if (result := together.get(attempt.run_id)) is not None:
                self._begun[attempt.run_id] = result.began
                yield attempt.run_id, self._outcome(attempt, result.made)
        for attempt in attempts:
            if attempt.run_id not in together:
                yield attempt.run_id, self._attempt(attempt)

    def _outcome(self, attempt: Attempt, made: Made) -> tuple[Outcome, PassResult]:
        if isinstance(made, FileChanged):
            return Interrupted(), PassResult.CHANGED
        if isinstance(made, DigestError):
            return self._failed(attempt, made)
        return Produced(tuple(made)), PassResult.DONE

    def _thread_runner(self, attempt: Attempt) -> TaskRunner:
        """A runner for a digester that only waits on HTTP: it needs no child, but permission to call a model."""
        file, digester = attempt.file, attempt.digester
        calls = self._ledger.calls_for(file, digester.name, attempt.run_id)
        provider = digester.asks(file)
        private = self._ledger.is_private(file, provider)
        return ThreadRunner(digester, self._runner, self._stop, calls, provider, private)

    def _started(self, attempt: Attempt) -> None:
        """A child has started on the task: its time limit begins."""
        now = self._clock()
        self._leases.add(attempt.lease, now + timedelta(seconds=attempt.seconds))
        self._begun[attempt.run_id] = now
        self.in_flight.take(attempt.file)

    def _submit_verdict(
        self, attempt: Attempt, turn: FilePass, outcome: Outcome, pass_result: PassResult
    ) -> PendingVerdict:
        began = self._begun.pop(attempt.run_id, attempt.started)
        now, chance = self._clock(), random.random()  # the same for all outputs: they are retried together
        took = max(0, round((now - began).total_seconds() * 1000))
        verdicts = [(name, *self._judge(attempt, outcome, name, now, chance)) for name in attempt.outputs]
        size = sum(prepared.size for _, _, prepared in verdicts if prepared)
        interrupted = isinstance(outcome, Interrupted)

        def write(db: Connection) -> tuple[Attempt | None, FilePass]:
            if interrupted:
                transitions.return_attempt(db, self._rules, attempt, verdicts, self._clock())
                return None, turn
            return transitions.record(db, self._rules, attempt, verdicts, turn, self._clock(), took)

        settled = all(verdict.settled for _, verdict, _ in verdicts)
        summary = summarize_attempt(attempt, [verdict for _, verdict, _ in verdicts], took / 1000, interrupted)
        resumed = self.pause.disk.resumed
        return PendingVerdict(
            attempt, pass_result, settled, write, self._database.submit(write, size), summary, resumed
        )

    def _await_recorded(self, recording: PendingVerdict) -> tuple[Attempt | None, FilePass]:
        """Wait until the verdict is written and return what follows.

        If the disk is full, wait for space: the result must not be lost.
        """
        written, resumed = recording.written, recording.resumed
        while True:
            try:
                following = written.result()
                break
            except DiskFull as error:
                self._wait_for_space(recording.attempt, str(error), resumed)
                resumed, written = self.pause.disk.resumed, self._database.submit(recording.write)
            except VaultGone:  # already reported and logged where it was found
                if self._stop.is_set():
                    raise
                self._leases.add(recording.attempt.lease, self._clock() + LEASE)
                self._stop.wait(RETRY_WRITE_SECONDS)
                written = self._database.submit(recording.write)
        log_attempt(self._vault.root.name, recording.finished)
        self._watch(recording.finished)
        if recording.settled:
            self._scratch.forget(_scratch_key(recording.attempt))
        return following

    def _judge(
        self, attempt: Attempt, outcome: Outcome, name: str, now: datetime, chance: float
    ) -> tuple[Verdict, PreparedOutput | None]:
        for recorder in self._rules.recorders:
            outcome = recorder.check_outcome(self._database.read(), attempt, outcome)
        verdict = judge(outcome, name, attempt.number, now, self._rules.policy, chance)
        if verdict.output is None:
            if verdict.status is Status.SKIPPED:
                log.warning("%s: %s did not produce %s", attempt.file.path, attempt.digester.name, name)
            return verdict, None
        db, output = self._database.read(), verdict.output
        extras = tuple(recorder.prepare(db, attempt.file, output) for recorder in self._rules.recorders)
        return verdict, prepare_output(output, self._rules.form_of(name), extras)

    def _wait_for_space(self, attempt: Attempt, reason: str, resumed: int) -> None:
        self.pause.disk.pause(reason, resumed)
        while not self.pause.disk.may_resume():
            if self._stop.is_set():
                raise VaultError(reason)
            self._leases.add(attempt.lease, self._clock() + LEASE)
            self._stop.wait(RETRY_WRITE_SECONDS)

    def _disk_nearly_full(self) -> bool:
        try:
            return shutil.disk_usage(self._scratch.root).free < MIN_FREE_BYTES
        except OSError:
            return False


def _scratch_key(attempt: Attempt) -> str | None:
    """The name of a kept scratch folder; None for a digester that starts from nothing each time."""
    if not attempt.digester.runs.keeps_scratch:
        return None
    return f"{attempt.file.id}-{attempt.input_hash[:16]}-{attempt.digester.recipe}"
