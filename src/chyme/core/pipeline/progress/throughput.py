"""Measures how fast digests are made: the duration of one, by digester, and how many run at once, by lane."""

from __future__ import annotations

from collections.abc import Sequence

WINDOW = 60  # seconds
QUIET = 3.0  # seconds without work after which earlier measurements no longer count
ENOUGH = 1.0  # seconds of work that are needed for a measurement
NEWEST = 0.05  # the weight of the newest value, once there are twenty


class Throughput:
    """Recent measurements. Times are seconds of a monotonic clock, which callers pass in."""

    def __init__(self) -> None:
        self._typical: dict[str, tuple[float, int]] = {}  # digester → seconds for one output, number of measurements
        self._worked: dict[int, dict[int, float]] = {}  # lane → second → seconds worked in it
        self._spells: dict[int, tuple[float, float]] = {}  # lane → when its work began, and when an attempt last ended
        self._done: dict[int, int] = {}  # second → outputs finished in it

    def record_finished(self, digester: str, lane: int, outputs: int, seconds: float, now: float) -> None:
        """Record that an attempt ended, which made so many outputs."""
        before, seen = self._typical.get(digester, (0.0, 0))
        weight = max(NEWEST, 1 / (seen + 1))
        self._typical[digester] = (before + (seconds / outputs - before) * weight, seen + 1)
        self._done = {second: count for second, count in self._done.items() if second > now - WINDOW}
        self._done[int(now)] = self._done.get(int(now), 0) + outputs
        began, last = now - seconds, self._spells.get(lane, (0.0, 0.0))[1]
        if lane not in self._spells or began > last + QUIET:
            self._spells[lane] = (began, now)
            self._worked[lane] = {}
        self._spells[lane] = (min(self._spells[lane][0], began), now)
        self._spread(self._worked[lane], began, now)

    def _spread(self, worked: dict[int, float], began: float, ended: float) -> None:
        """Add the worked time to the seconds in which the work happened, not to the one in which it ended."""
        first = max(began, ended - WINDOW)
        for second in range(int(first), int(ended) + 1):
            part = min(ended, second + 1) - max(first, second)
            worked[second] = worked.get(second, 0.0) + max(0.0, part)
        for second in [old for old in worked if old < ended - WINDOW]:
            del worked[second]

    def typical_seconds(self, digester: str) -> float | None:
        """How many seconds one output usually takes; None if unknown."""
        return self._typical[digester][0] if digester in self._typical else None

    def recent_outputs(self, now: float) -> int:
        """How many outputs were finished within the last minute."""
        return sum(count for second, count in self._done.items() if second > now - WINDOW)

    def concurrency(self, lane: int, under_way: Sequence[float], now: float) -> float | None:
        """How many attempts run at once; `under_way`: when the running ones began. None: too little was measured."""
        began, last = self._spells.get(lane, (now, now))
        known = lane in self._spells
        if under_way and (not known or min(under_way) > last + QUIET):
            began, known = min(under_way), False  # nothing of this spell has ended yet
        elif not under_way and now > last + QUIET:
            return None
        since = max(min(began, *under_way) if under_way else began, now - WINDOW)
        if now - since < ENOUGH:
            return None
        worked = (
            sum(part for second, part in self._worked.get(lane, {}).items() if second >= since - 1) if known else 0.0
        )
        worked += sum(now - max(start, since) for start in under_way)
        return worked / (now - since)
