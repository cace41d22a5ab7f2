"""Counts what this process has done since it started, for the ETA of the digestion and for /metrics."""

from __future__ import annotations

import threading
import time
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field

from chyme.core.pipeline.attempt import COMPLETED, GIVEN_BACK, SKIPPED, AttemptResult
from chyme.core.pipeline.eta import Throughput

BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0)  # seconds


@dataclass
class Histogram:
    """How many attempts took how long: `counts` by BOUNDS, the last one for longer attempts."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS) + 1))
    seconds: float = 0.0

    def add(self, seconds: float) -> None:
        self.counts[bisect_left(BOUNDS, seconds)] += 1
        self.seconds += seconds


class AttemptMetrics:
    """Counts attempts. Thread-safe."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._throughput = Throughput()
        self._histograms: dict[tuple[str, str], Histogram] = {}  # digester, outcome

    def record(self, attempt: AttemptResult) -> None:
        """Count an attempt that has ended."""
        with self._guard:
            self._histograms.setdefault((attempt.digester, attempt.outcome), Histogram()).add(attempt.seconds)
            if attempt.outcome != GIVEN_BACK:  # its duration is not typical
                outputs = attempt.outputs if attempt.outcome in (COMPLETED, SKIPPED) else 1
                self._throughput.record_finished(
                    attempt.digester, attempt.lane, max(1, outputs), attempt.seconds, time.monotonic()
                )

    def histograms(self) -> list[tuple[str, str, tuple[int, ...], float]]:
        """Return (digester, outcome, counts by BOUNDS, total seconds), sorted."""
        with self._guard:
            return [
                (*key, tuple(histogram.counts), histogram.seconds)
                for key, histogram in sorted(self._histograms.items())
            ]

    def typical_seconds(self, digester: str) -> float | None:
        """Return the recent seconds per output; None if there was none."""
        with self._guard:
            return self._throughput.typical_seconds(digester)

    def concurrency(self, lane: int, elapsed: Sequence[float]) -> float | None:
        """Return how many attempts run at once in a lane, given the seconds that current ones have been running."""
        with self._guard:
            now = time.monotonic()
            return self._throughput.concurrency(lane, [now - seconds for seconds in elapsed], now)

    def count_last_minute(self) -> int:
        """Return the number of digests made within the last minute."""
        with self._guard:
            return self._throughput.recent_outputs(time.monotonic())
