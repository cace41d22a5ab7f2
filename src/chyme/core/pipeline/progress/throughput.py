"""How quickly digests are made: how long one takes, by its digester, and how many are made at once, by their lane."""

from __future__ import annotations

from collections.abc import Sequence

WINDOW = 60  # seconds that are looked back on
QUIET = 3.0  # seconds without work after which what was before says nothing about what is now
ENOUGH = 1.0  # seconds of work before anything is said about it
NEWEST = 0.05  # how much the newest counts, once there are twenty


class Throughput:
    """What was seen lately. Moments are seconds of a clock that never goes back; whoever asks brings the time."""

    def __init__(self) -> None:
        self._usual: dict[str, tuple[float, int]] = {}  # digester → seconds of one output, how many were seen
        self._worked: dict[int, dict[int, float]] = {}  # lane → second → seconds worked in it
        self._spells: dict[
            int, tuple[float, float]
        ] = {}  # lane → when its work began, and when something was last over
        self._done: dict[int, int] = {}  # second → outputs that were finished in it

    def record_finished(self, digester: str, lane: int, outputs: int, seconds: float, now: float) -> None:
        """An attempt is over; it made so many outputs."""
        before, seen = self._usual.get(digester, (0.0, 0))
        weight = max(NEWEST, 1 / (seen + 1))
        self._usual[digester] = (before + (seconds / outputs - before) * weight, seen + 1)
        self._done = {second: count for second, count in self._done.items() if second > now - WINDOW}
        self._done[int(now)] = self._done.get(int(now), 0) + outputs
        began, last = now - seconds, self._spells.get(lane, (0.0, 0.0))[1]
        if lane not in self._spells or began > last + QUIET:
            self._spells[lane] = (began, now)
            self._worked[lane] = {}
        self._spells[lane] = (min(self._spells[lane][0], began), now)
        self._spread(self._worked[lane], began, now)

    def _spread(self, worked: dict[int, float], began: float, ended: float) -> None:
        """Time that was worked counts for the seconds in which it was, not for the one in which the work was over."""
        first = max(began, ended - WINDOW)
        for second in range(int(first), int(ended) + 1):
            part = min(ended, second + 1) - max(first, second)
            worked[second] = worked.get(second, 0.0) + max(0.0, part)
        for second in [one for one in worked if one < ended - WINDOW]:
            del worked[second]

    def typical_seconds(self, digester: str) -> float | None:
        """How many seconds one output takes; None: not seen yet."""
        return self._usual[digester][0] if digester in self._usual else None

    def recent_outputs(self, now: float) -> int:
        """Outputs that were finished within the last minute."""
        return sum(count for second, count in self._done.items() if second > now - WINDOW)

    def concurrency(self, lane: int, under_way: Sequence[float], now: float) -> float | None:
        """How many are made at once; `under_way`: when those that are not over began. None: too little was seen."""
        began, last = self._spells.get(lane, (now, now))
        known = lane in self._spells
        if under_way and (not known or min(under_way) > last + QUIET):
            began, known = min(under_way), False  # of this spell nothing is over yet
        elif not under_way and now > last + QUIET:
            return None
        since = max(min(began, *under_way) if under_way else began, now - WINDOW)
        if now - since < ENOUGH:
            return None
        worked = (
            sum(part for second, part in self._worked.get(lane, {}).items() if second >= since - 1) if known else 0.0
        )
        worked += sum(now - max(one, since) for one in under_way)
        return worked / (now - since)
