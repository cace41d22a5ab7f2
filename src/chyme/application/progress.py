"""How far the digestion is, and how long it will take still."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from chyme.application.count_cache import CountCache
from chyme.core.clock import now
from chyme.core.pipeline.progress.eta import (
    RunningDigest,
    WaitingDigests,
    remaining_seconds,
    seconds_left,
    smooth_estimate,
)
from chyme.core.store import digest_queue, events, files, remaining_work
from chyme.errors import DatabaseDamaged, VaultGone
from chyme.model import iso

if TYPE_CHECKING:
    from chyme.application.app import App

FRESH_SECONDS = 0.5  # what was told is told again for so long: many ask at once
COUNT_SECONDS = 1.0
MOST_WORK = 30  # lines about what is under way
LONGEST = 30 * 86_400.0  # a longer time is no estimate any more


@dataclass(frozen=True, slots=True)
class ProgressReport:
    """How far the digestion is, for whoever watches."""

    files: int
    todo: int
    running: int
    again: int  # failed ones that are tried again by themselves
    done_lately: int  # within the last minute, by this process
    eta_seconds: int | None  # None: nothing is left, or nobody can know yet
    paused: str | None  # why nothing goes on
    next_retry: str | None
    work: tuple[tuple[str, str, float], ...]  # path, digester, fraction

    def as_json(self) -> dict[str, Any]:
        """As JSON tells it."""
        work = [{"path": path, "digester": name, "fraction": round(part, 3)} for path, name, part in self.work]
        return {
            **{name: getattr(self, name) for name in ("files", "todo", "running", "again", "done_lately")},
            **{name: getattr(self, name) for name in ("eta_seconds", "paused", "next_retry")},
            "work": work,
        }


@dataclass(frozen=True, slots=True)
class RemainingCounts:
    """What the database says is left."""

    files: int
    todo: Mapping[str, int]  # by output, with what running jobs have not asked for yet
    running: int
    again: int
    next_retry: str | None
    waits_for: str | None  # why those that are left are not begun, where that is all there is


class ProgressTracker:
    """Asked by pages, by event streams and by whoever reads the status; all of them are told the same."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._guard = threading.Lock()
        self._counted = CountCache(self._count, COUNT_SECONDS)
        self._before: dict[str, float] | None = None  # what outputs took before this process began
        self._eta: tuple[float, float] | None = None  # what was told last, and when
        self._told: tuple[ProgressReport, float] | None = None
        self._digester_of = {name: one for one in app.rules.registry for name in one.outputs}
        self._by_name = {one.name: one for one in app.rules.registry}

    def report(self) -> ProgressReport:
        """How far it is."""
        with self._guard:
            moment = time.monotonic()
            if self._told is None or moment - self._told[1] >= FRESH_SECONDS:
                self._told = (self._tell_what_is_known(moment), moment)
            return self._told[0]

    def _tell_what_is_known(self, moment: float) -> ProgressReport:
        """The same as `_tell`; while the database is not at its path, what was told last."""
        try:
            return self._tell(moment)
        except VaultGone as error:
            if self._told is None:
                raise
            return replace(self._told[0], paused=str(error), eta_seconds=None)

    def _tell(self, moment: float) -> ProgressReport:
        try:
            counted, work = self._counted(), self._work()
        except sqlite3.DatabaseError as error:
            damaged = self._app.database.explain(error)
            if not isinstance(damaged, DatabaseDamaged):
                raise
            return ProgressReport(0, 0, 0, 0, 0, eta_seconds=None, paused=str(damaged), next_retry=None, work=())
        running = max(counted.running, len(work))
        todo = sum(counted.todo.values()) + self._wished()
        paused = self.pause_reason() or (counted.waits_for if not (todo or running) else None)
        eta = None if paused or not (todo or running) else self._estimate(counted)
        if eta is None or eta > LONGEST:
            self._eta = None
        else:
            before, at = self._eta or (None, moment)
            self._eta = (smooth_estimate(before, eta, moment - at), moment)
        return ProgressReport(
            *(counted.files, todo, running, counted.again, self._app.attempt_metrics.count_last_minute()),
            eta_seconds=round(self._eta[0]) if self._eta else None,
            paused=paused,
            next_retry=counted.next_retry,
            work=work[:MOST_WORK],
        )

    def _count(self) -> RemainingCounts:
        models, when = self._app.ledger.count_due_soon()
        with self._app.database.snapshot() as db:
            todo = Counter(remaining_work.count_todo(db))
            running, again = remaining_work.count_begun(db)
            retry = min((at for at in (digest_queue.next_retry(db), when) if at), default=None)
            present, _ = files.counts(db)
        todo.update(self._app.bulk.count_upcoming_digests())
        waits_for = None if todo or running else self._waits_for()
        return RemainingCounts(present, todo, running, again + models, retry, waits_for)

    def _waits_for(self) -> str | None:
        for one in self._app.ledger.statuses(sorted(self._app.providers)):
            if one.waiting and one.state != "ready":
                return f"{one.waiting} digests wait for {one.name}, which is {one.state}: {one.reason}"
        return None

    def pause_reason(self) -> str | None:
        """Why nothing can be written or begun. Cheap: asks the file system and what the process knows."""
        if self._app.database.damaged is not None:
            return str(self._app.database.damaged)
        if not self._app.is_digesting:
            return self._app.database.presence.find_problem()
        return self._app.digestion.pause.reason()

    def _wished(self) -> int:
        return len(self._app.digestion.scheduler.requested_files()) if self._app.is_digesting else 0

    def _work(self) -> tuple[tuple[str, str, float], ...]:
        if self._app.is_digesting:
            return tuple(self._app.digestion.coordinator.in_flight.running.values())
        return tuple(events.list_in_progress(self._app.database.read()))

    def _estimate(self, counted: RemainingCounts) -> float | None:
        """Seconds until everything that is due is made, and what comes due until then."""
        if not self._app.is_digesting:
            return None
        under_way, elapsed = self._under_way()
        lanes = {int(one.lane) for one in self._by_name.values()}
        seen = {lane: self._app.attempt_metrics.concurrency(lane, elapsed.get(lane, [])) for lane in lanes}
        at_once = {lane: value for lane, value in seen.items() if value is not None}
        if not at_once:
            return None
        left = seconds_left(self._heaps(counted.todo), under_way, at_once)
        if left is None or not counted.again:
            return left
        until = iso(now() + timedelta(seconds=left))
        retries = remaining_work.count_retries_until(self._app.database.read(), until)
        return seconds_left([*self._heaps(counted.todo), *self._heaps(retries)], under_way, at_once)

    def _heaps(self, counts: Mapping[str, int]) -> list[WaitingDigests]:
        return [
            WaitingDigests(int(self._digester_of[name].lane), count, self._usual(name))
            for name, count in counts.items()
            if name in self._digester_of  # what nobody makes any more comes to rest by itself
        ]

    def _usual(self, output: str) -> float | None:
        """Seconds of one output: as seen by this process, or as the database remembers."""
        digester = self._digester_of[output]
        seen = self._app.attempt_metrics.typical_seconds(digester.name)
        if seen is not None:
            return seen
        if self._before is None:
            self._before = remaining_work.average_durations(self._app.database.read())
        return self._before[output] / len(digester.outputs) if output in self._before else None

    def _under_way(self) -> tuple[list[RunningDigest], dict[int, list[float]]]:
        """What is being made, and by lane, how long each has been worked on."""
        in_flight, moment = self._app.digestion.coordinator.in_flight, now()
        found: list[RunningDigest] = []
        elapsed: dict[int, list[float]] = {}
        since = dict(in_flight.since)
        for file_id, (_, name, fraction) in list(in_flight.running.items()):
            digester = self._by_name.get(name)
            if digester is None:
                continue
            one = self._usual(digester.outputs[0])
            usual = None if one is None else one * len(digester.outputs)
            if file_id not in since:  # it waits for a child
                found.append(RunningDigest(int(digester.lane), usual))
                continue
            passed = max(0.0, (moment - since[file_id]).total_seconds())
            found.append(RunningDigest(int(digester.lane), remaining_seconds(passed, fraction, usual)))
            elapsed.setdefault(int(digester.lane), []).append(passed)
        return found, elapsed
