"""What models cost day by day, as bars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from chyme.core.store.models.calls import CallTotals

WIDTH, HEIGHT, GAP = 600.0, 96.0, 4.0
LEAST = 2.0  # a bar of something is never invisible


@dataclass(frozen=True, slots=True)
class Bar:
    """One day. x, y, width and height are within WIDTH × HEIGHT."""

    day: str
    account: CallTotals | None
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Bars:
    """Every day, oldest first; what their height stands for, and that of the highest."""

    of: str  # dollars, or calls where no price is known
    highest: float
    bars: tuple[Bar, ...]


def cost_bars(accounts: Sequence[CallTotals], today: date, days: int) -> Bars:
    """The last days, those without a call too."""
    by_day = {one.name: one for one in accounts}
    priced = any(one.cost for one in accounts)
    amounts = {name: (one.cost or 0.0) if priced else float(one.calls) for name, one in by_day.items()}
    highest = max(amounts.values(), default=0.0)
    step = WIDTH / days
    drawn = []
    for number in range(days):
        day = (today - timedelta(days=days - 1 - number)).isoformat()
        amount = amounts.get(day, 0.0)
        height = max(LEAST, HEIGHT * amount / highest) if amount else 0.0
        place = round(number * step + GAP / 2, 1), round(HEIGHT - height, 1), round(step - GAP, 1), round(height, 1)
        drawn.append(Bar(day, by_day.get(day), *place))
    return Bars("dollars" if priced else "calls", highest, tuple(drawn))
