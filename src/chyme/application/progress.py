"""Reports how far the digestion is, and estimates how long it will take."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from chyme.application.attempt_metrics import AttemptMetrics
from chyme.application.bulk_jobs import BulkJobs
from chyme.application.digestion import Digestion
from chyme.application.vault_counts import CountCache
from chyme.core.clock import now
from chyme.core.pipeline.eta import RunningDigest, WaitingDigests, remaining_seconds, seconds_left, smooth_estimate
from chyme.core.pipeline.in_flight import InFlight
from chyme.core.pipeline.registry_rules import Rules
from chyme.core.store import digest_queue, events, files, remaining_work
from chyme.core.store.sqlite.database import Database
from chyme.errors import DatabaseDamaged, VaultGone
from chyme.model import iso
from chyme.models.providers.call_ledger import CallLedger

if TYPE_CHECKING:
    from chyme.workers.worker_report import WorkersSummary

FRESH_SECONDS = 0.5  # a report is reused for so long, because many ask at once
COUNT_SECONDS = 1.0
MAX_WORK = 30  # running digests in a report
MAX_ETA_SECONDS = 30 * 86_400.0  # a longer time is no useful estimate


@dataclass(frozen=True, slots=True)
class ProgressReport:
    """How far the digestion is."""

    files: int
    todo: int
    running: int
    again: int  # failed ones that are retried automatically
    done_lately: int  # within the last minute, by this process
    eta_seconds: int | None  # None: nothing is left, or it is not known yet
    paused: str | None  # why nothing proceeds
    next_retry: str | None
    work: tuple[tuple[str, str, float], ...]  # path, digester, fraction
    workers: WorkersSummary | None = None  # on other machines; None where none are set up

    def as_json(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        work = [{"path": path, "digester": name, "fraction": round(part, 3)} for path, name, part in self.work]
        return {**asdict(self), "work": work}


@dataclass(frozen=True, slots=True)
class RemainingCounts:
    """The remaining work according to the database."""

    files: int
    todo: Mapping[str, int]  # by output, including what running jobs have not requested yet
    running: int
    again: int
    next_retry: str | None
    waits_for: str | None  # why the remaining digests do not start, if there are no others


class ProgressTracker:
    """Makes one report for all who ask: pages, event streams and readers of the status."""

    def __init__(
        self,
        database: Database,
        rules: Rules,
        ledger: CallLedger,
        providers: Callable[[], Collection[str]],
        bulk: BulkJobs,
        attempt_metrics: AttemptMetrics,
        digestion: Callable[[], Digestion | None],
    ) -> None:
        self._database = database
        self._ledger = ledger
        self._providers = providers
        self._bulk = bulk
        self._attempt_metrics = attempt_metrics
        self._digestion = digestion  # None: this process does not digest
        self._guard = threading.Lock()
        self._cached_counts = CountCache(self._count, COUNT_SECONDS)
        self._past_durations: dict[str, float] | None = None  # average seconds of outputs before this process started
        self._eta: tuple[float, float] | None = None  # the last estimate, and when it was made
        self._last_report: tuple[ProgressReport, float] | None = None
        self._digester_of = {name: digester for digester in rules.registry for name in digester.outputs}
        self._by_name = {digester.name: digester for digester in rules.registry}

    def report(self) -> ProgressReport:
        """Return the current report. Its counts may be a moment old, but not what it says of workers.

        Those who listen are sent a report when the workers have changed: an older answer would be their last one.
        """
        with self._guard:
            moment = time.monotonic()
            if self._last_report is None or moment - self._last_report[1] >= FRESH_SECONDS:
                self._last_report = (self._make_report(moment), moment)
            return replace(self._last_report[0], workers=self.summarize_workers())

    def _make_report(self, moment: float) -> ProgressReport:
        """Return a fresh report; while the database is missing, the last one with the reason."""
        try:
            return self._make_fresh_report(moment)
        except VaultGone as error:
            if self._last_report is None:
                raise
            return replace(self._last_report[0], paused=str(error), eta_seconds=None)

    def _make_fresh_report(self, moment: float) -> ProgressReport:
        try:
            counted, work = self._cached_counts(), self._list_running()
        except sqlite3.DatabaseError as error:
            damaged = self._database.explain(error)
            if not isinstance(damaged, DatabaseDamaged):
                raise
            return ProgressReport(0, 0, 0, 0, 0, eta_seconds=None, paused=str(damaged), next_retry=None, work=())
        running = max(counted.running, len(work))
        todo = sum(counted.todo.values()) + self._count_requested()
        paused = self.pause_reason() or (counted.waits_for if not (todo or running) else None)
        eta = None if paused or not (todo or running) else self._estimate(counted)
        if eta is None or eta > MAX_ETA_SECONDS:
            self._eta = None
        else:
            last_eta, estimated_at = self._eta or (None, moment)
            self._eta = (smooth_estimate(last_eta, eta, moment - estimated_at), moment)
        return ProgressReport(
            *(counted.files, todo, running, counted.again, self._attempt_metrics.count_last_minute()),
            eta_seconds=round(self._eta[0]) if self._eta else None,
            paused=paused,
            next_retry=counted.next_retry,
            work=work[:MAX_WORK],
        )

    def _count(self) -> RemainingCounts:
        model_retries, model_retry_time = self._ledger.count_due_soon()
        with self._database.snapshot() as db:
            todo = Counter(remaining_work.count_todo(db))
            running, again = remaining_work.count_begun(db)
            retry = min((moment for moment in (digest_queue.next_retry(db), model_retry_time) if moment), default=None)
            present, _ = files.counts(db)
        todo.update(self._bulk.count_upcoming_digests())
        waits_for = None if todo or running else self._waits_for()
        return RemainingCounts(present, todo, running, again + model_retries, retry, waits_for)

    def _waits_for(self) -> str | None:
        for status in self._ledger.statuses(sorted(self._providers())):
            if status.waiting and status.state != "ready":
                return f"{status.waiting} digests wait for {status.name}, which is {status.state}: {status.reason}"
        return None

    def pause_reason(self) -> str | None:
        """Return why nothing can be written or started. Cheap: uses the file system and the memory of this process."""
        if self._database.damaged is not None:
            return str(self._database.damaged)
        digestion = self._digestion()
        return self._database.presence.find_problem() if digestion is None else digestion.pause.reason()

    def summarize_workers(self) -> WorkersSummary | None:
        """Return the figures about workers on other machines; None where none are set up."""
        digestion = self._digestion()
        report = None if digestion is None else digestion.workers_report()
        return None if report is None else report.summarize()

    def _count_requested(self) -> int:
        digestion = self._digestion()
        return 0 if digestion is None else len(digestion.scheduler.requested_files())

    def _list_running(self) -> tuple[tuple[str, str, float], ...]:
        digestion = self._digestion()
        if digestion is None:
            return tuple(events.list_in_progress(self._database.read()))
        return tuple(digestion.coordinator.in_flight.running.values())

    def _estimate(self, counted: RemainingCounts) -> float | None:
        """Estimate the seconds until everything is made that is due, or becomes due until then."""
        digestion = self._digestion()
        if digestion is None:
            return None
        running, elapsed = self._running_digests(digestion.coordinator.in_flight)
        lanes = {int(digester.runs.lane) for digester in self._by_name.values()}
        measured = {lane: self._attempt_metrics.concurrency(lane, elapsed.get(lane, [])) for lane in lanes}
        at_once = {lane: value for lane, value in measured.items() if value is not None}
        if not at_once:
            return None
        seconds = seconds_left(self._waiting_digests(counted.todo), running, at_once)
        if seconds is None or not counted.again:
            return seconds
        until = iso(now() + timedelta(seconds=seconds))
        retries = remaining_work.count_retries_until(self._database.read(), until)
        return seconds_left([*self._waiting_digests(counted.todo), *self._waiting_digests(retries)], running, at_once)

    def _waiting_digests(self, counts: Mapping[str, int]) -> list[WaitingDigests]:
        return [
            WaitingDigests(int(self._digester_of[name].runs.lane), count, self._typical_seconds(name))
            for name, count in counts.items()
            if name in self._digester_of  # outputs without a digester are skipped at the next start
        ]

    def _typical_seconds(self, output: str) -> float | None:
        """Return the typical seconds of one output: measured by this process, or from the database."""
        digester = self._digester_of[output]
        measured = self._attempt_metrics.typical_seconds(digester.name)
        if measured is not None:
            return measured
        if self._past_durations is None:
            self._past_durations = remaining_work.average_durations(self._database.read())
        return self._past_durations[output] / len(digester.outputs) if output in self._past_durations else None

    def _running_digests(self, in_flight: InFlight) -> tuple[list[RunningDigest], dict[int, list[float]]]:
        """Return the running digests, and by lane how long each has been running."""
        moment = now()
        running: list[RunningDigest] = []
        elapsed: dict[int, list[float]] = {}
        since = dict(in_flight.since)
        for file_id, (_, name, fraction) in list(in_flight.running.items()):
            digester = self._by_name.get(name)
            if digester is None:
                continue
            per_output = self._typical_seconds(digester.outputs[0])
            usual = None if per_output is None else per_output * len(digester.outputs)
            if file_id not in since:  # it waits for a child process
                running.append(RunningDigest(int(digester.runs.lane), usual))
                continue
            passed = max(0.0, (moment - since[file_id]).total_seconds())
            running.append(RunningDigest(int(digester.runs.lane), remaining_seconds(passed, fraction, usual)))
            elapsed.setdefault(int(digester.runs.lane), []).append(passed)
        return running, elapsed
