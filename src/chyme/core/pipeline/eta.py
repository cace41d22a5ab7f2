"""Estimates how long digestion will still take, from the measured speed: only if enough is known, and without jumps."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

WINDOW = 60  # seconds
QUIET = 3.0  # seconds without work after which earlier measurements no longer count
ENOUGH = 1.0  # seconds of work that are needed for a measurement
NEWEST = 0.05  # the weight of the newest value, once there are twenty
MIN_KNOWN = 0.8  # share of a lane's waiting digests whose usual duration must be known
MIN_FRACTION = 0.05  # the progress that a digest reports is used from here on
SETTLE_SECONDS = 6.0  # time in which a new estimate replaces the one before
FAR_OFF = 2.0  # an estimate that is wrong by this factor is replaced faster
MIN_CONCURRENCY = 0.05  # so that a short pause does not lead to an estimate of weeks


@dataclass(frozen=True, slots=True)
class WaitingDigests:
    """Digests of one digester that wait in one lane."""

    lane: int
    count: int
    seconds: float | None  # the usual duration of one; None: unknown


@dataclass(frozen=True, slots=True)
class RunningDigest:
    """A running digest and the seconds it still needs."""

    lane: int
    left: float | None


def remaining_seconds(elapsed: float, fraction: float, usual: float | None) -> float | None:
    """Seconds until a digest that has been running for `elapsed` seconds is made."""
    if fraction >= MIN_FRACTION:
        return elapsed * (1 - fraction) / fraction
    if usual is None:
        return None
    return max(usual - elapsed, elapsed / 4)  # what has already taken long may take longer


def seconds_left(
    waiting: Sequence[WaitingDigests], under_way: Sequence[RunningDigest], at_once: Mapping[int, float]
) -> float | None:
    """Seconds until everything is made. Lanes run side by side, so the slowest decides. None: too little is known."""
    slowest = 0.0
    for lane in {group.lane for group in waiting} | {running.lane for running in under_way}:
        left = _lane_left(
            [group for group in waiting if group.lane == lane and group.count > 0],
            [running.left for running in under_way if running.lane == lane],
            max(at_once.get(lane, 1.0), MIN_CONCURRENCY),
        )
        if left is None:
            return None
        slowest = max(slowest, left)
    return slowest


def _lane_left(waiting: list[WaitingDigests], under_way: list[float | None], at_once: float) -> float | None:
    total = sum(group.count for group in waiting)
    known = [(group.count, group.seconds) for group in waiting if group.seconds is not None]
    counted = sum(count for count, _ in known)
    if counted < MIN_KNOWN * total:
        return None
    typical = sum(count * seconds for count, seconds in known) / counted if counted else None
    if typical is None and None in under_way:
        return None
    left = [typical or 0.0 if seconds is None else seconds for seconds in under_way]
    work = (typical or 0.0) * total + sum(left)
    longest = max((*(seconds for _, seconds in known), *left), default=0.0)  # a single digest cannot be split
    return max(work / at_once, longest)


def smooth_estimate(before: float | None, estimate: float, passed: float) -> float:
    """The estimate to show: passed time is subtracted, and a new estimate is approached gradually."""
    if before is None:
        return max(0.0, estimate)
    expected = max(0.0, before - passed)
    pace = SETTLE_SECONDS
    if estimate > FAR_OFF * expected or estimate < expected / FAR_OFF:
        pace /= FAR_OFF
    return max(0.0, expected + (estimate - expected) * (1 - math.exp(-passed / pace)))


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
