"""The state machine of a digest: turns the outcome of an attempt into the next state.

todo ─► in-progress ─► completed            terminal
                    ─► skipped              terminal: "not applicable" or "output not produced"
                    ─► failed ─► (retry_at reached, attempts < 3) ─► in-progress
                              ─► terminal after 3 attempts, or for a category that retrying cannot help
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from chyme.core.pipeline.retry_policy import RetryPolicy, after_failure, after_fallback
from chyme.errors import Category
from chyme.model import Output, Status, Without

ENDLESS = "it makes one part after the other and does not come to an end"
NOT_APPLICABLE = "not applicable"
NOT_PRODUCED = "output not produced"
PRIVATE = "private"  # why a model was not asked: the file must not leave this machine


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

    lost: bool = False  # the worker on another machine that had it vanished


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

    @property
    def unfinished(self) -> bool:
        """Whether there is a result, and another attempt adds to it."""
        return self.status is Status.COMPLETED and not self.settled


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
                return _without_model(made, made.without, attempts, now, policy, chance)
            if made.unfinished and attempts > policy.max_attempts:  # a digester must come to an end
                return Verdict(Status.FAILED, True, attempts, ENDLESS, Category.CRASH)
            return Verdict(Status.COMPLETED, not made.unfinished, attempts, output=made)
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
            retry = after_failure(category, retry_after, tried, attempts, now, policy, chance)
            return Verdict(Status.FAILED, retry.settled, retry.attempts, message, category, retry.at, provider=provider)


def _without_model(
    made: Output, why: Without, attempts: int, now: datetime, policy: RetryPolicy, chance: float
) -> Verdict:
    """Completed without its model, and made again when the model may be asked."""
    if why.category == PRIVATE:
        return Verdict(Status.COMPLETED, True, attempts, why.reason, output=made)
    retry = after_fallback(why, attempts, now, policy, chance)
    return Verdict(
        Status.COMPLETED, True, retry.attempts, why.reason, Category(why.category), retry.at, made, why.provider
    )
