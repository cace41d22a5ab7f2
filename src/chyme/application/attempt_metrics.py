"""What this process has done since it started, counted: for the pace of the digestion and for /metrics."""

from __future__ import annotations

import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from chyme.core.pipeline.progress.attempt_results import COMPLETED, GIVEN_BACK, SKIPPED, AttemptResult
from chyme.core.pipeline.progress.throughput import Throughput

BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0)  # seconds


@dataclass
class Histogram:
    """How many took how long: `counts` by BOUNDS, and the last one for whatever took longer."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS) + 1))
    seconds: float = 0.0

    def add(self, seconds: float) -> None:
        self.counts[bisect_left(BOUNDS, seconds)] += 1
        self.seconds += seconds


class AttemptMetrics:
    """Counts attempts. Asked and told from many threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._guard = threading.Lock()
        self._pace = Throughput()
        self._histograms: dict[tuple[str, str], Histogram] = {}  # digester, outcome

    def record(self, one: AttemptResult) -> None:
        """An attempt is over and written down."""
        with self._guard:
            self._histograms.setdefault((one.digester, one.outcome), Histogram()).add(one.seconds)
            if one.outcome != GIVEN_BACK:  # it says nothing about how long one takes
                made = one.outputs if one.outcome in (COMPLETED, SKIPPED) else 1
                self._pace.record_finished(one.digester, one.lane, max(1, made), one.seconds, self._clock())

    def histograms(self) -> list[tuple[str, str, tuple[int, ...], float]]:
        """(digester, outcome, counts by BOUNDS, seconds in all), in order."""
        with self._guard:
            return [(*key, tuple(one.counts), one.seconds) for key, one in sorted(self._histograms.items())]

    def typical_seconds(self, digester: str) -> float | None:
        """Seconds of one output lately; None: none was made."""
        with self._guard:
            return self._pace.typical_seconds(digester)

    def concurrency(self, lane: int, elapsed: Sequence[float]) -> float | None:
        """How many are made at once in a lane, of which some have been under way for so many seconds."""
        with self._guard:
            now = self._clock()
            return self._pace.concurrency(lane, [now - one for one in elapsed], now)

    def count_last_minute(self) -> int:
        """Digests made within the last minute."""
        with self._guard:
            return self._pace.recent_outputs(self._clock())
