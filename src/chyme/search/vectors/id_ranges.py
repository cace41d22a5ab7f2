"""Which of several overlapping ranges of ids to use, and which neighbours to merge."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Span(NamedTuple):
    """Everything with an id above `low`, up to and including `high`."""

    low: int
    high: int


def select_covering(spans: Iterable[Span]) -> list[Span]:
    """A few spans, in order, that together cover all ids from the first on without a gap, as far as possible."""
    candidates = list(spans)
    chosen: list[Span] = []
    reached = 0
    while True:
        longest = max((span for span in candidates if span.low <= reached < span.high), key=_reach, default=None)
        if longest is None:
            return chosen
        chosen.append(longest)
        reached = longest.high


def _reach(span: Span) -> tuple[int, int]:
    return span.high, -span.low


def select_merge(counts: Sequence[int], unit: int, fan: int, max_size: int) -> slice | None:
    """Neighbours of about one size that are to be merged; None if there are few enough.

    Sizes grow by `fan` with each merge, so that the total amount copied is a small multiple of the data.
    """
    tiers = [_tier(count, unit, fan) for count in counts]
    for tier in sorted(set(tiers)):
        run: list[int] = []  # those of this size with no larger one between them
        for position, own_tier in enumerate([*tiers, tier + 1]):
            if own_tier == tier and (not run or sum(counts[run[0] : position + 1]) <= max_size):
                run.append(position)
            elif own_tier >= tier:
                if len(run) >= fan:
                    return slice(run[0], run[-1] + 1)
                run = [position] if own_tier == tier else []
    return None


def _tier(count: int, unit: int, fan: int) -> int:
    tier = 0
    while count >= unit * fan:
        count //= fan
        tier += 1
    return tier
