"""Counts files, digests and model calls of one vault for monitoring, and caches such counts."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from chyme.core.clock import now
from chyme.core.pipeline.registry_rules import Rules
from chyme.core.store import digest_counts, files, remaining_work
from chyme.core.store.models import calls as ai_calls
from chyme.core.store.sqlite.database import Database
from chyme.errors import ChymeError
from chyme.model import Lane, iso
from chyme.models.providers.daily_budget import budget_day

COUNT_SECONDS = 5.0
END_OF_TIME = "9999"
log = logging.getLogger(__name__)
T = TypeVar("T")
MAX_SHARE = 0.02  # of the time may be spent counting
QUICK_SECONDS = 0.03  # callers wait so long; what takes longer is counted in the background
MAX_LIFETIME = 60.0  # seconds that a value is used: counting may have been slow only once
TOO_OLD = 10  # lifetimes; an older value is not returned, and the caller waits


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
            return VaultCounts(present, vanished, digest_counts.by_status(db), queue, calls, today)


class CountCache(Generic[T]):
    """Counts again at most every `seconds`, and less often if counting takes long."""

    def __init__(self, count: Callable[[], T], seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._count = count
        self._seconds = seconds
        self._clock = clock
        self._guard = threading.Lock()
        self._counting = False
        self._last: tuple[T, float, float] | None = None  # value, time, and how long counting took

    def __call__(self) -> T:
        """Return the value: fresh if counting is quick, otherwise a few seconds old."""
        with self._guard:
            if self._last is None:
                return self._recount()
            value, counted_at, seconds = self._last
            lifetime = max(self._seconds, min(seconds / MAX_SHARE, MAX_LIFETIME))
            age = self._clock() - counted_at
            if age < lifetime:
                return value
            if seconds <= QUICK_SECONDS or age > TOO_OLD * lifetime:
                return self._recount()
            if not self._counting:
                self._counting = True
                threading.Thread(target=self._recount_in_background, name="chyme-count", daemon=True).start()
            return value

    def _recount(self) -> T:
        began = self._clock()
        value = self._count()
        ended = self._clock()
        self._last = (value, ended, ended - began)
        return value

    def _recount_in_background(self) -> None:
        try:
            self._recount()
        except ChymeError as error:
            log.info("figures could not be counted: %s", error)
        except Exception:  # the vault may have been closed meanwhile; the last value stays
            log.debug("figures could not be counted", exc_info=True)
        finally:
            self._counting = False
