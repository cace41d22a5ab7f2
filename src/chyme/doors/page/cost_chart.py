"""What models cost day by day, as a bar chart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from chyme.application.spending import CallTotals

WIDTH, HEIGHT, GAP = 600.0, 96.0, 4.0
MIN_HEIGHT = 2.0  # the bar of a day with calls is never invisible


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
    """All days, oldest first; what their height stands for, and the amount of the highest bar."""

    of: str  # dollars, or calls where no price is known
    highest: float
    bars: tuple[Bar, ...]


def cost_bars(accounts: Sequence[CallTotals], today: date, days: int) -> Bars:
    """Return bars for the last days, including days without a call."""
    by_day = {totals.name: totals for totals in accounts}
    priced = any(totals.cost for totals in accounts)
    amounts = {name: (totals.cost or 0.0) if priced else float(totals.calls) for name, totals in by_day.items()}
    highest = max(amounts.values(), default=0.0)
    step = WIDTH / days
    bars = []
    for number in range(days):
        day = (today - timedelta(days=days - 1 - number)).isoformat()
        amount = amounts.get(day, 0.0)
        height = max(MIN_HEIGHT, HEIGHT * amount / highest) if amount else 0.0
        geometry = round(number * step + GAP / 2, 1), round(HEIGHT - height, 1), round(step - GAP, 1), round(height, 1)
        bars.append(Bar(day, by_day.get(day), *geometry))
    return Bars("dollars" if priced else "calls", highest, tuple(bars))
