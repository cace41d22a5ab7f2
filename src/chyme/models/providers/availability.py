"""Rules for when a model provider may be called: spacing of calls, rest after failures, and the end of it."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from chyme.core.store.models.providers import Provider
from chyme.errors import Category
from chyme.model import iso

MAX_REST = 600.0
SHORTEST_REST = 1.0
PROBE = 120.0  # seconds during which one question may test whether a provider is back; then another may
SUSPICIOUS = 3  # failures in a row, of more than one file, after which the question is not to blame
LONGEST_WAIT = 10.0  # seconds a call may wait for its turn; a call that would wait longer is retried later
# Seconds a provider rests after its first failure; each further failure doubles them.
RESTS: dict[Category, float] = {
    Category.NETWORK: 5.0,
    Category.TIMEOUT: 5.0,
    Category.RATE_LIMIT: 30.0,
    Category.AI_QUOTA: 60.0,
    Category.UNAVAILABLE: 60.0,
}


def after_failure(
    provider: Provider,
    category: Category,
    reason: str,
    retry_after: float | None,
    outage: bool,
    file_id: int,
    now: datetime,
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
    rest = min(MAX_REST, RESTS.get(category, 5.0) * 2 ** min(provider.trips, 20))
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
