"""Estimates how long digestion will still take: only if enough is known, and without jumps."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

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
