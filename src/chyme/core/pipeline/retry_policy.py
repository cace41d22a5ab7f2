"""The retry policy: how often, and after how long, a failed digest is tried again.

What it costs a digest that chyme itself died is decided by `give_back` in core/store/digest_queue.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from chyme.errors import Category
from chyme.model import Without, iso

# Retried after an event; they use up no attempt.
UNCOUNTED_CATEGORIES = frozenset({Category.DEPENDENCY, Category.UNAVAILABLE, Category.BUDGET})
# Without a delay of their own: retried only at the time that the error gives.
_NO_OWN_DELAY = frozenset({Category.BUDGET, Category.UNAVAILABLE})
# How a model fails. Any other failure of a digest that asks one is no reason to wait for the model.
MODEL_FAILURE_CATEGORIES = frozenset(
    {Category.NETWORK, Category.RATE_LIMIT, Category.AI_QUOTA, Category.BUDGET, Category.UNAVAILABLE}
)


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how soon a failure is tried again. Categories without a delay are not retried automatically."""

    max_attempts: int = 3
    max_delay: float = 600.0
    jitter: float = 0.1  # a fraction of the delay
    delays: dict[Category, float] = field(
        default_factory=lambda: {
            Category.AI_QUOTA: 60.0,
            Category.RATE_LIMIT: 30.0,
            Category.TIMEOUT: 5.0,
            Category.NETWORK: 5.0,
            Category.CRASH: 5.0,
        }
    )

    def delay(self, category: Category, attempts: int, retry_after: float | None, chance: float) -> float | None:
        """Seconds until the next attempt: doubled with each attempt, and not less than a provider asks for.

        None: it is not tried again.
        """
        first = self.delays.get(category)
        if first is None or attempts >= self.max_attempts:
            return None
        delay: float = min(self.max_delay, first * 2 ** max(0, attempts - 1))
        delay *= 1 + self.jitter * (2 * chance - 1)
        return delay if retry_after is None else max(delay, retry_after)


@dataclass(frozen=True, slots=True)
class Retry:
    """What follows from a failure."""

    settled: bool  # True: it is not tried again until something happens
    attempts: int  # that count
    at: str | None = None  # when it is tried again; None: never, or after an event


def after_failure(
    category: Category,
    retry_after: float | None,
    tried: bool,
    attempts: int,
    now: datetime,
    policy: RetryPolicy,
    chance: float,
) -> Retry:
    """The retry of a failed attempt. `attempts` includes it; `chance` in 0..1 spreads retries."""
    if not tried and retry_after is not None:  # only postponed
        return Retry(False, max(0, attempts - 1), _later(now, retry_after * (1 + policy.jitter * chance)))
    if category in UNCOUNTED_CATEGORIES:
        at = _later(now, retry_after) if category is Category.BUDGET else None
        return Retry(category is not Category.DEPENDENCY, max(0, attempts - 1), at)
    delay = policy.delay(category, attempts, retry_after, chance)
    return Retry(delay is None, attempts, _later(now, delay))


def after_fallback(why: Without, attempts: int, now: datetime, policy: RetryPolicy, chance: float) -> Retry:
    """When a digest that was made without its model is made again: at a given time, or after an event."""
    category = Category(why.category)
    counts = why.tried and category not in UNCOUNTED_CATEGORIES
    attempts = attempts if counts else max(0, attempts - 1)
    if category in _NO_OWN_DELAY or not why.tried:
        return Retry(True, attempts, _later(now, why.retry_after))
    return Retry(True, attempts, after_failure(category, why.retry_after, True, attempts, now, policy, chance).at)


def _later(now: datetime, seconds: float | None) -> str | None:
    return None if seconds is None else iso(now + timedelta(seconds=seconds))
