"""Which of several overlapping runs of ids to hold, and which neighbours to join."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Span(NamedTuple):
    """Everything there was with an id above `low`, up to and with `high`."""

    low: int
    high: int


def select_covering(spans: Iterable[Span]) -> list[Span]:
    """Few spans that together leave out no id from the first on, as far as that goes, in order."""
    known = list(spans)
    chosen: list[Span] = []
    reached = 0
    while True:
        longest = max((span for span in known if span.low <= reached < span.high), key=_reach, default=None)
        if longest is None:
            return chosen
        chosen.append(longest)
        reached = longest.high


def _reach(span: Span) -> tuple[int, int]:
    return span.high, -span.low


def select_merge(counts: Sequence[int], unit: int, fan: int, most: int) -> slice | None:
    """Neighbours of about one size that are to become one; None when there are few enough.

    Sizes grow by `fan` with each join, so that all that is ever copied is a small multiple of what there is.
    """
    tiers = [_tier(count, unit, fan) for count in counts]
    for tier in sorted(set(tiers)):
        run: list[int] = []  # those of this size with none between them that is larger
        for place, own in enumerate([*tiers, tier + 1]):
            if own == tier and (not run or sum(counts[run[0] : place + 1]) <= most):
                run.append(place)
            elif own >= tier:
                if len(run) >= fan:
                    return slice(run[0], run[-1] + 1)
                run = [place] if own == tier else []
    return None


def _tier(count: int, unit: int, fan: int) -> int:
    tier = 0
    while count >= unit * fan:
        count //= fan
        tier += 1
    return tier
