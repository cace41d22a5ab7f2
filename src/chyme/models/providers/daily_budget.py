"""The daily budget for calls to a provider, and whether it is spent: the call ledger asks before each call."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from chyme.core.store.models.calls import Spending


@dataclass(frozen=True, slots=True)
class Allowance:
    """What may be spent on one provider. Zero means no limit."""

    calls: int = 0  # per day
    tokens: int = 0  # per day, in and out
    cost: float = 0.0  # US dollars per day
    per_second: float = 20.0  # calls


def budget_day(now: datetime) -> tuple[datetime, datetime]:
    """When the current budget day began and when the next one begins, in local time."""
    today = now.astimezone().date()
    began, ends = (datetime(day.year, day.month, day.day).astimezone() for day in (today, today + timedelta(days=1)))
    return began, ends


def find_spent_budget(allowance: Allowance, spending: Spending) -> str | None:
    """Name the day's budget that is spent; None if there is no budget or some of it is left."""
    if allowance.calls and spending.calls >= allowance.calls:
        return f"{allowance.calls:,} calls"
    if allowance.tokens and spending.tokens >= allowance.tokens:
        return f"{allowance.tokens:,} tokens"
    if allowance.cost and spending.cost >= allowance.cost:
        return f"{allowance.cost:g} dollars"
    return None
