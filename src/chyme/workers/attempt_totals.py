"""Adds up what workers have done since the start, though workers that are gone are forgotten."""

from __future__ import annotations

import threading
from collections import Counter

from chyme.workers.worker_report import WorkerReport, WorkersReport

MAX_NAMES = 500  # further workers are counted together
OTHERS = "others"
OUTCOMES = ("done", "failed", "lost", "late")


class AttemptTotals:
    """Totals by worker and outcome, which never decrease. Any thread may use it.

    What a worker did between the last report and its end is not counted.
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._before: dict[tuple[str, str], WorkerReport] = {}  # name, instance → its last report
        self._totals: Counter[tuple[str, str]] = Counter()  # name, outcome
        self._names: set[str] = set()

    def update(self, report: WorkersReport) -> dict[tuple[str, str], int]:
        """Add what has happened since the last report. Return the totals by name and outcome."""
        with self._guard:
            for worker in report.workers:
                self._add(worker, self._before.get((worker.name, worker.instance)))
            self._before = {(worker.name, worker.instance): worker for worker in report.workers}
            return dict(self._totals)

    def _add(self, worker: WorkerReport, before: WorkerReport | None) -> None:
        if len(self._names) < MAX_NAMES:
            self._names.add(worker.name)
        name = worker.name if worker.name in self._names else OTHERS
        for outcome in OUTCOMES:
            earlier = getattr(before, outcome) if before is not None else 0
            self._totals[name, outcome] += getattr(worker, outcome) - earlier
