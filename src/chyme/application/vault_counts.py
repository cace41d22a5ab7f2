"""Figures about one vault for whoever watches over it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from chyme.application.count_cache import CountCache
from chyme.core.clock import now
from chyme.core.store import digests, files, remaining_work
from chyme.core.store.models import calls as ai_calls
from chyme.model import Lane, iso
from chyme.models.providers.availability import budget_day

if TYPE_CHECKING:
    from chyme.application.app import App

COUNT_SECONDS = 5.0
FOR_EVER = "9999"


@dataclass(frozen=True, slots=True)
class VaultCounts:
    """What was counted in a vault's database, a few seconds ago at most."""

    files: int
    vanished: int
    digests: dict[str, int]  # by status
    queue: dict[tuple[str, str], int]  # by lane, and todo or again
    calls: list[ai_calls.CallTotals]  # of models, by provider, since the vault was made
    calls_today: list[ai_calls.CallTotals]


class VaultCounter:
    """Counts a vault, and not again for everybody who asks."""

    def __init__(self, app: App) -> None:
        self._app = app
        self.counts = CountCache(self._count, COUNT_SECONDS)

    def _count(self) -> VaultCounts:
        lanes = {name: Lane(lane).name.lower() for name, lane in self._app.rules.lanes().items()}
        queue = {(lane.name.lower(), state): 0 for lane in Lane for state in ("todo", "again")}
        began, _ = budget_day(now())
        with self._app.database.snapshot() as db:
            present, vanished = files.counts(db)
            waiting = {"todo": remaining_work.count_todo(db), "again": remaining_work.count_retries_until(db, FOR_EVER)}
            for state, counts in waiting.items():
                for name, count in counts.items():
                    queue[lanes.get(name, "ordinary"), state] += count
            calls, today = (ai_calls.totals_by(db, "provider", since) for since in ("", iso(began)))
            return VaultCounts(present, vanished, digests.counts(db), queue, calls, today)
