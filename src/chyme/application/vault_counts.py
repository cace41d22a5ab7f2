"""Counts files, digests and model calls of one vault for monitoring."""

from __future__ import annotations

from dataclasses import dataclass

from chyme.application.count_cache import CountCache
from chyme.core.clock import now
from chyme.core.pipeline.registry_rules import Rules
from chyme.core.store import digests, files, remaining_work
from chyme.core.store.models import calls as ai_calls
from chyme.core.store.sqlite.database import Database
from chyme.model import Lane, iso
from chyme.models.providers.availability import budget_day

COUNT_SECONDS = 5.0
END_OF_TIME = "9999"


@dataclass(frozen=True, slots=True)
class VaultCounts:
    """Counts from a vault's database, at most a few seconds old."""

    files: int
    vanished: int
    digests: dict[str, int]  # by status
    queue: dict[tuple[str, str], int]  # by lane, and `todo` or `again`
    calls: list[ai_calls.CallTotals]  # of models, by provider, since the vault was made
    calls_today: list[ai_calls.CallTotals]


class VaultCounter:
    """Counts a vault, and caches the result."""

    def __init__(self, database: Database, rules: Rules) -> None:
        self._database = database
        self._rules = rules
        self.counts = CountCache(self._count, COUNT_SECONDS)

    def _count(self) -> VaultCounts:
        lanes = {name: Lane(lane).name.lower() for name, lane in self._rules.lanes().items()}
        queue = {(lane.name.lower(), state): 0 for lane in Lane for state in ("todo", "again")}
        day_start, _ = budget_day(now())
        with self._database.snapshot() as db:
            present, vanished = files.counts(db)
            waiting = {
                "todo": remaining_work.count_todo(db),
                "again": remaining_work.count_retries_until(db, END_OF_TIME),
            }
            for state, counts in waiting.items():
                for name, count in counts.items():
                    queue[lanes.get(name, "ordinary"), state] += count
            calls, today = (ai_calls.totals_by(db, "provider", since) for since in ("", iso(day_start)))
            return VaultCounts(present, vanished, digests.counts(db), queue, calls, today)
