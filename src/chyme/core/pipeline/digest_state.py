"""The state machine of a digest: turns the outcome of an attempt into the next state.

todo ─► in-progress ─► completed            terminal
                    ─► skipped              terminal: "not applicable" or "output not produced"
                    ─► failed ─► (retry_at reached, attempts < 3) ─► in-progress
                              ─► terminal after 3 attempts, or for a category that retrying cannot help
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from chyme.errors import Category
from chyme.model import Output, Status, Without, iso

NOT_APPLICABLE = "not applicable"
NOT_PRODUCED = "output not produced"


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how soon a failure is tried again."""

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


PRIVATE = "private"  # why a model was not asked: the file must not leave this machine
_NO_KNOWN_DELAY = frozenset({Category.BUDGET, Category.UNAVAILABLE})  # retried only at a time that the error gives
UNCOUNTED_CATEGORIES = frozenset(
    {Category.DEPENDENCY, Category.UNAVAILABLE, Category.BUDGET}
)  # retried after an event; they use up no attempt


@dataclass(frozen=True, slots=True)
class Produced:
    """The digester returned these outputs."""

    outputs: tuple[Output, ...]


@dataclass(frozen=True, slots=True)
class Failed:
    """The digester, its child or its provider failed."""

    category: Category
    message: str
    retry_after: float | None = None
    tried: bool = True
    provider: str | None = None  # the provider, if its model failed


@dataclass(frozen=True, slots=True)
class Waiting:
    """An upstream is not settled yet."""

    upstream: str


@dataclass(frozen=True, slots=True)
class Unreadable:
    """The file cannot be opened now. It is digested once it can."""

    cause: str


@dataclass(frozen=True, slots=True)
class NotApplicable:
    """This kind of file never has this output."""


@dataclass(frozen=True, slots=True)
class Interrupted:
    """Not a failure: chyme stopped, or the file changed while it was read."""


Outcome = Produced | Failed | Waiting | Unreadable | NotApplicable | Interrupted


@dataclass(frozen=True, slots=True)
class Verdict:
    """The next state of a digest."""

    status: Status
    settled: bool
    attempts: int
    error: str | None = None
    category: Category | None = None
    retry_at: str | None = None
    output: Output | None = None
    provider: str | None = None  # the provider whose model should have made it


def judge(
    outcome: Outcome, name: str, attempts: int, now: datetime, policy: RetryPolicy, chance: float = 0.5
) -> Verdict:
    """The verdict on output `name`. `attempts` includes the current one; `chance` in 0..1 spreads retries."""
    match outcome:
        case Produced(outputs):
            made = next((output for output in outputs if output.name == name), None)
            if made is None:
                return Verdict(Status.SKIPPED, True, attempts, error=NOT_PRODUCED)
            if made.without is not None:
                return _without(made, made.without, attempts, now, policy, chance)
            return Verdict(Status.COMPLETED, True, attempts, output=made)
        case NotApplicable():
            return Verdict(Status.SKIPPED, True, attempts, error=NOT_APPLICABLE)
        case Waiting(upstream):
            return Verdict(Status.FAILED, False, attempts, f"waiting for {upstream}", Category.DEPENDENCY)
        case Unreadable(cause):
            message = f"waiting for the file to be readable: {cause}"
            return Verdict(Status.FAILED, False, max(0, attempts - 1), message, Category.DEPENDENCY)
        case Interrupted():
            return Verdict(Status.TODO, False, max(0, attempts - 1))
        case Failed(category, message, retry_after, tried, provider):
            if not tried and retry_after is not None:
                again = iso(now + timedelta(seconds=retry_after * (1 + policy.jitter * chance)))
                return Verdict(Status.FAILED, False, max(0, attempts - 1), message, category, again, None, provider)
            return replace(_failed(category, message, retry_after, attempts, now, policy, chance), provider=provider)


def _without(made: Output, why: Without, attempts: int, now: datetime, policy: RetryPolicy, chance: float) -> Verdict:
    """Completed without its model, and made again when the model may be asked: at a given time, or after an event."""
    if why.category == PRIVATE:
        return Verdict(Status.COMPLETED, True, attempts, why.reason, output=made)
    category = Category(why.category)
    spent = attempts if why.tried and category not in UNCOUNTED_CATEGORIES else max(0, attempts - 1)
    if category in _NO_KNOWN_DELAY or not why.tried:
        later = None if why.retry_after is None else iso(now + timedelta(seconds=why.retry_after))
    else:
        later = _failed(category, why.reason, why.retry_after, spent, now, policy, chance).retry_at
    return Verdict(Status.COMPLETED, True, spent, why.reason, category, later, made, why.provider)


def _failed(
    category: Category,
    message: str,
    retry_after: float | None,
    attempts: int,
    now: datetime,
    policy: RetryPolicy,
    chance: float,
) -> Verdict:
    if category in UNCOUNTED_CATEGORIES:
        settled = category is not Category.DEPENDENCY
        later = None
        if category is Category.BUDGET and retry_after is not None:
            later = iso(now + timedelta(seconds=retry_after))
        return Verdict(Status.FAILED, settled, max(0, attempts - 1), message, category, later)
    delay = policy.delays.get(category)
    if delay is None or attempts >= policy.max_attempts:
        return Verdict(Status.FAILED, True, attempts, message, category)
    delay = min(policy.max_delay, delay * 2 ** max(0, attempts - 1))
    delay *= 1 + policy.jitter * (2 * chance - 1)
    if retry_after is not None:
        delay = max(delay, retry_after)
    return Verdict(Status.FAILED, False, attempts, message, category, retry_at=iso(now + timedelta(seconds=delay)))
