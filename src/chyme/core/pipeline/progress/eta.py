"""How long a digestion will take still: told only where enough is known, and without jumps."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

KNOWN = 0.8  # of the digests that wait in a lane it must be known how long such take
TOLD = 0.05  # what a digest says about how far it is counts from here
SETTLE_SECONDS = 6.0  # in which another estimate takes the place of the one before
FAR_OFF = 2.0  # an estimate that is wrong by this factor gives way sooner
AT_LEAST = 0.05  # made at once: nobody is told of weeks because there was a short pause


@dataclass(frozen=True, slots=True)
class WaitingDigests:
    """Digests of one digester that wait in one lane."""

    lane: int
    count: int
    seconds: float | None  # what one takes; None: nobody knows


@dataclass(frozen=True, slots=True)
class RunningDigest:
    """One that is being made, and the seconds it needs still."""

    lane: int
    left: float | None


def remaining_seconds(elapsed: float, fraction: float, usual: float | None) -> float | None:
    """Seconds until a digest that has been under way for so long is made."""
    if fraction >= TOLD:
        return elapsed * (1 - fraction) / fraction
    if usual is None:
        return None
    return max(usual - elapsed, elapsed / 4)  # what took long already may take longer


def seconds_left(
    heaps: Sequence[WaitingDigests], under_way: Sequence[RunningDigest], at_once: Mapping[int, float]
) -> float | None:
    """Until all of it is made. Lanes do not wait for each other, so the slowest decides. None: too little is known."""
    slowest = 0.0
    for lane in {heap.lane for heap in heaps} | {one.lane for one in under_way}:
        left = _lane_left(
            [heap for heap in heaps if heap.lane == lane and heap.count > 0],
            [one.left for one in under_way if one.lane == lane],
            max(at_once.get(lane, 1.0), AT_LEAST),
        )
        if left is None:
            return None
        slowest = max(slowest, left)
    return slowest


def _lane_left(heaps: list[WaitingDigests], under_way: list[float | None], at_once: float) -> float | None:
    waiting = sum(heap.count for heap in heaps)
    known = [(heap.count, heap.seconds) for heap in heaps if heap.seconds is not None]
    counted = sum(count for count, _ in known)
    if counted < KNOWN * waiting:
        return None
    typical = sum(count * seconds for count, seconds in known) / counted if counted else None
    if typical is None and None in under_way:
        return None
    left = [typical or 0.0 if one is None else one for one in under_way]
    work = (typical or 0.0) * waiting + sum(left)
    longest = max((*(seconds for _, seconds in known), *left), default=0.0)  # which cannot be shared
    return max(work / at_once, longest)


def smooth_estimate(before: float | None, estimate: float, passed: float) -> float:
    """What people are told: time that passed is taken off, and a new estimate is approached rather than jumped to."""
    if before is None:
        return max(0.0, estimate)
    expected = max(0.0, before - passed)
    pace = SETTLE_SECONDS
    if estimate > FAR_OFF * expected or estimate < expected / FAR_OFF:
        pace /= FAR_OFF
    return max(0.0, expected + (estimate - expected) * (1 - math.exp(-passed / pace)))
