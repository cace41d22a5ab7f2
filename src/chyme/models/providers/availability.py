"""Rules for when a model provider may be called: pauses, budgets, spacing of calls, and rest after failures."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from chyme.core.store.models.providers import Provider
from chyme.errors import Category
from chyme.model import iso

MAX_REST = 600.0
SHORTEST_REST = 1.0
PROBE = 120.0  # seconds during which one question may test whether a provider is back; then another may
SUSPICIOUS = 3  # failures in a row, of more than one file, after which the question is not to blame
LONGEST_WAIT = 10.0  # seconds a call may wait for its turn; a call that would wait longer is retried later


@dataclass(frozen=True, slots=True)
class Allowance:
    """What may be spent on one provider. Zero means no limit."""

    calls: int = 0  # per day
    tokens: int = 0  # per day, in and out
    cost: float = 0.0  # US dollars per day
    per_second: float = 20.0  # calls


RESTS: dict[Category, float] = {
    Category.NETWORK: 5.0,
    Category.TIMEOUT: 5.0,
    Category.RATE_LIMIT: 30.0,
    Category.AI_QUOTA: 60.0,
    Category.UNAVAILABLE: 60.0,
}


@dataclass(frozen=True, slots=True)
class RestPeriods:
    """How long a provider rests after its first failure; each further failure doubles it."""

    seconds: dict[Category, float] = field(default_factory=lambda: dict(RESTS))
    longest: float = MAX_REST


def after_failure(
    provider: Provider,
    category: Category,
    reason: str,
    retry_after: float | None,
    outage: bool,
    file_id: int,
    now: datetime,
    rests: RestPeriods,
) -> Provider:
    """The provider's state after a failure. Calls already under way when its rest began change nothing."""
    requested_until = iso(now + timedelta(seconds=retry_after)) if retry_after is not None else ""
    if rest_seconds(provider, now) is not None and provider.file_id != file_id:
        return replace(provider, until=max(provider.until or "", requested_until))
    other_file = provider.file_id is not None and provider.file_id != file_id
    counted = replace(
        provider,
        failures=provider.failures + 1,
        since=provider.since or iso(now),
        file_id=file_id,
        category=str(category),
        reason=reason,
    )
    if not (outage or provider.open or (counted.failures >= SUSPICIOUS and other_file)):
        return counted
    rest = min(rests.longest, rests.seconds.get(category, 5.0) * 2 ** min(provider.trips, 20))
    if retry_after is not None:
        rest = max(retry_after, SHORTEST_REST)  # the provider knows best, whether that is a second or a day
    return replace(counted, open=True, trips=provider.trips + 1, until=iso(now + timedelta(seconds=rest)))


def after_answer(provider: Provider) -> Provider:
    """The provider's state after an answer: all failures are forgotten."""
    return Provider(provider.name, paused_at=provider.paused_at, next_at=provider.next_at)


def rest_seconds(provider: Provider, now: datetime) -> float | None:
    """Seconds the provider still rests; None if it may be called."""
    if not provider.open or provider.until is None or provider.until <= iso(now):
        return None
    return (datetime.fromisoformat(provider.until) - now).total_seconds()


def start_probe(provider: Provider, file_id: int, now: datetime) -> Provider:
    """Let one question through to a resting provider; the others wait for its result."""
    if not provider.open:
        return provider
    return replace(provider, until=iso(now + timedelta(seconds=PROBE)), file_id=file_id)


def schedule_call(provider: Provider, per_second: float, now: datetime) -> tuple[Provider, float]:
    """Return the provider with its next call scheduled, and the seconds until this call may be made."""
    if per_second <= 0:
        return provider, 0.0
    call_time = max(now, datetime.fromisoformat(provider.next_at)) if provider.next_at else now
    following = iso(call_time + timedelta(seconds=1 / per_second))
    return replace(provider, next_at=following), (call_time - now).total_seconds()


def budget_day(now: datetime) -> tuple[datetime, datetime]:
    """When the current budget day began and when the next one begins, in local time."""
    today = now.astimezone().date()
    began, ends = (datetime(day.year, day.month, day.day).astimezone() for day in (today, today + timedelta(days=1)))
    return began, ends


def find_spent_budget(allowance: Allowance, calls: int, tokens: int, cost: float) -> str | None:
    """Name the budget that is spent; None if none is."""
    if allowance.calls and calls >= allowance.calls:
        return f"{allowance.calls:,} calls"
    if allowance.tokens and tokens >= allowance.tokens:
        return f"{allowance.tokens:,} tokens"
    if allowance.cost and cost >= allowance.cost:
        return f"{allowance.cost:g} dollars"
    return None
