"""Takes files through their digesters in order: claims them, runs attempts and records the verdicts."""

from __future__ import annotations

import logging
import random
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from sqlite3 import Connection

from chyme.core.files.vault_folder import Vault
from chyme.core.pipeline import output_updates, transitions
from chyme.core.pipeline.attempt import Attempt, AttemptResult, log_attempt, summarize_attempt
from chyme.core.pipeline.attempt_runner import (
    SMALL_TEXTS,
    Allowance,
    AttemptRunner,
    FinishedAttempt,
    can_batch,
    can_batch_all,
    take_batch,
)
from chyme.core.pipeline.crash_recovery import recover
from chyme.core.pipeline.digest_state import Interrupted, Outcome, Verdict, judge
from chyme.core.pipeline.in_flight import InFlight
from chyme.core.pipeline.leases import LeaseRenewer, is_dead, this_process
from chyme.core.pipeline.output_updates import PreparedOutput, prepare_output
from chyme.core.pipeline.pause import Pause
from chyme.core.pipeline.plan import with_siblings
from chyme.core.pipeline.registry_rules import Rules
from chyme.core.pipeline.scratch_folders import ScratchFolders
from chyme.core.pipeline.task_runners import BatchTaskRunner, ModelCalls
from chyme.core.pipeline.transitions import LEASE, Claim, FilePass, PassResult
from chyme.core.store import digests, files, leases
from chyme.core.store.models import fallbacks
from chyme.core.store.sqlite.database import Database
from chyme.errors import DiskFull, VaultError, VaultGone
from chyme.model import File, Kind, Lane, Lease, Status, iso

log = logging.getLogger(__name__)

RETRY_WRITE_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class PendingVerdict:
    """A verdict on its way into the database."""

    attempt: Attempt
    pass_result: PassResult
    settled: bool
    write: Callable[[Connection], tuple[Attempt | None, FilePass]]
    written: Future[tuple[Attempt | None, FilePass]]
    result: AttemptResult
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
        self._vault = vault
        self._clock = clock
        self._ledger = ledger
        self._watch = watch
        self._owner = this_process()
        self._scratch = ScratchFolders(scratch, self._owner)
        self._leases = LeaseRenewer(database, clock)
        self.stopping = threading.Event()
        self.pause = Pause(database, scratch)
        self.in_flight = InFlight(database, clock)
        self._attempt_runner = AttemptRunner(
            *(database, rules, runner, vault, self._scratch, self._leases, self.in_flight, self.pause.disk),
            *(self.stopping, clock, allowance, ledger),
        )

    def stop(self) -> None:
        """Start nothing more, without waiting: attempts end when they next report progress."""
        self.stopping.set()

    def close(self) -> None:
        """Stop and clean up. Call it when every pass has ended."""
        self.stopping.set()
        self._leases.close()
        self._scratch.close()

    def recover(self) -> int:
        """Requeue what dead workers left behind. Returns how many digests."""
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

    def find_light(self, file_ids: Sequence[int]) -> frozenset[int]:
        """The small texts among these files, of which many can be worked on together: no digester of the ordinary lane
        takes them one by one, or asks a model."""
        found = files.by_ids(self._database.read(), file_ids)
        return frozenset(file.id for file in found if self._is_light(file))

    def _is_light(self, file: File) -> bool:
        if file.kind is not Kind.TEXT or file.size > SMALL_TEXTS:
            return False
        ordinary = (digester for digester in self._rules.registry if digester.runs.lane is Lane.ORDINARY)
        return all(
            digester.runs.gathers and not digester.runs.keeps_scratch and not digester.waits_for(file)
            for digester in ordinary
            if digester.can_digest(file)
        )

    def _is_settled(self, key: str) -> bool:
        """Whether the attempts that a kept folder belongs to are over, or their file is no longer known."""
        file_id, _, rest = key.partition("-")
        rows = digests.of_file(self._database.read(), int(file_id)) if file_id.isdecimal() else {}
        matching = [row for row in rows.values() if row.input_hash and rest == f"{row.input_hash[:16]}-{row.recipe}"]
        return all(row.settled for row in matching) if matching else not rows

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
        results: dict[int, PassResult] = {}

        def end(lease: Lease, pass_result: PassResult) -> None:
            self._leases.remove(lease)
            results[lease.file_id] = pass_result
            done(lease.file_id, pass_result)

        for claim in claims:
            self._leases.add(claim.lease)
        try:
            self._run_queue(claims, end)
        finally:
            for claim in claims:
                if claim.lease.file_id not in results:  # an error ended its pass; the file is free when the lease ends
                    self._leases.remove(claim.lease)
        return results

    def _run_queue(self, claims: Sequence[Claim], end: Callable[[Lease, PassResult], None]) -> None:
        ready = deque((claim.lease, claim.attempt, claim.file_pass) for claim in claims)
        writing: deque[PendingVerdict] = deque()
        while ready or writing:
            if ready:
                lease, attempt, file_pass = ready.popleft()
                if attempt is None:
                    end(lease, PassResult.DONE)
                    continue
                if can_batch(attempt) and (writing or not can_batch_all(ready)):
                    ready.append((lease, attempt, file_pass))
                else:
                    together = {attempt.run_id: (attempt, file_pass), **take_batch(attempt, ready)}
                    for finished in self._attempt_runner.run_all([attempt for attempt, _ in together.values()]):
                        writing.append(self._submit_verdict(finished, together[finished.attempt.run_id][1]))
            while writing and (can_batch_all(ready) or writing[0].written.done()):
                lease, pass_result = writing[0].attempt.lease, writing[0].pass_result
                # No name keeps the verdict alive: its text may be long.
                following, file_pass = self._await_recorded(writing.popleft())
                if pass_result is PassResult.DONE:
                    ready.append((lease, following, file_pass))
                else:
                    end(lease, pass_result)

    def _submit_verdict(self, finished: FinishedAttempt, file_pass: FilePass) -> PendingVerdict:
        attempt, outcome = finished.attempt, finished.outcome
        now, chance = self._clock(), random.random()  # the same for all outputs: they are retried together
        took = max(0, round((now - finished.began).total_seconds() * 1000))
        verdicts = [(name, *self._judge(attempt, outcome, name, now, chance)) for name in attempt.outputs]
        size = sum(prepared.size for _, _, prepared in verdicts if prepared)
        interrupted = isinstance(outcome, Interrupted)
        lost = isinstance(outcome, Interrupted) and outcome.lost
        worker = finished.worker

        def write(db: Connection) -> tuple[Attempt | None, FilePass]:
            if interrupted:
                transitions.return_attempt(db, self._rules, attempt, verdicts, self._clock(), lost)
                return None, file_pass
            return transitions.record(db, self._rules, attempt, verdicts, file_pass, self._clock(), took, worker)

        settled = all(verdict.settled for _, verdict, _ in verdicts)
        summary = summarize_attempt(attempt, [verdict for _, verdict, _ in verdicts], took / 1000, interrupted, worker)
        resumed = self.pause.disk.resumed
        return PendingVerdict(
            attempt, finished.pass_result, settled, write, self._database.submit(write, size), summary, resumed
        )

    def _await_recorded(self, recording: PendingVerdict) -> tuple[Attempt | None, FilePass]:
        """Wait until the verdict is written and return what follows.

        If the disk is full, wait for space: the result must not be lost.
        """
        written, resumed = recording.written, recording.resumed
        if not written.done():
            self._database.rest()  # many wait here at once when many attempts run on other machines
        while True:
            try:
                following = written.result()
                break
            except DiskFull as error:
                self._wait_for_space(recording.attempt, str(error), resumed)
                resumed, written = self.pause.disk.resumed, self._database.submit(recording.write)
            except VaultGone:  # already reported and logged where it was found
                if self.stopping.is_set():
                    raise
                self._leases.add(recording.attempt.lease, self._clock() + LEASE)
                self.stopping.wait(RETRY_WRITE_SECONDS)
                written = self._database.submit(recording.write)
        log_attempt(self._vault.root.name, recording.result)
        self._watch(recording.result)
        if recording.settled:
            self._scratch.forget(recording.attempt.scratch_key)
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
            if self.stopping.is_set():
                raise VaultError(reason)
            self._leases.add(attempt.lease, self._clock() + LEASE)
            self.stopping.wait(RETRY_WRITE_SECONDS)
