"""The whole state machine: every status × outcome × attempts, and no state outside the diagram."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from chyme.core.pipeline.digest_state import (
    NOT_APPLICABLE,
    NOT_PRODUCED,
    Failed,
    Interrupted,
    NotApplicable,
    Outcome,
    Produced,
    Unreadable,
    Verdict,
    Waiting,
    judge,
)
from chyme.core.pipeline.retry_policy import RetryPolicy
from chyme.errors import Category
from chyme.model import Output, Status, Without, iso

NOW = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)
STEADY = RetryPolicy(jitter=0)
RETRIED = {
    Category.AI_QUOTA: 60,
    Category.RATE_LIMIT: 30,
    Category.TIMEOUT: 5,
    Category.NETWORK: 5,
    Category.CRASH: 5,
}
FINAL = {Category.AI_CONTENT_BLOCKED, Category.VALIDATION, Category.UNSUPPORTED_FILE_TYPE}
FREE = {Category.UNAVAILABLE, Category.BUDGET}
ATTEMPTS = (1, 2, 3, 4)


def verdict(outcome: Outcome, attempts: int) -> Verdict:
    return judge(outcome, "words", attempts, NOW, STEADY)


@pytest.mark.parametrize("attempts", ATTEMPTS)
@pytest.mark.parametrize("content", ["text", "", None])
def test_a_produced_output_is_completed_even_when_nothing_was_found(content: str | None, attempts: int) -> None:
    made = Output("words", content)
    assert verdict(Produced((made,)), attempts) == Verdict(Status.COMPLETED, True, attempts, output=made)


@pytest.mark.parametrize("attempts", ATTEMPTS)
def test_a_missing_output_is_skipped(attempts: int) -> None:
    other = Produced((Output("pictures", "p"),))
    assert verdict(other, attempts) == Verdict(Status.SKIPPED, True, attempts, error=NOT_PRODUCED)


@pytest.mark.parametrize("attempts", (0, *ATTEMPTS))
def test_a_digest_that_does_not_apply_is_skipped(attempts: int) -> None:
    assert verdict(NotApplicable(), attempts) == Verdict(Status.SKIPPED, True, attempts, error=NOT_APPLICABLE)


@pytest.mark.parametrize("attempts", (0, *ATTEMPTS))
def test_waiting_is_not_failing(attempts: int) -> None:
    expected = Verdict(Status.FAILED, False, attempts, "waiting for speech", Category.DEPENDENCY)
    assert verdict(Waiting("speech"), attempts) == expected


@pytest.mark.parametrize("attempts", ATTEMPTS)
def test_an_unreadable_file_waits_and_gives_its_attempt_back(attempts: int) -> None:
    judged = verdict(Unreadable("Permission denied"), attempts)
    assert (judged.status, judged.settled, judged.attempts, judged.category, judged.retry_at) == (
        Status.FAILED, False, attempts - 1, Category.DEPENDENCY, None,
    )  # fmt: skip


@pytest.mark.parametrize("attempts", ATTEMPTS)
def test_an_interruption_gives_the_attempt_back(attempts: int) -> None:
    assert verdict(Interrupted(), attempts) == Verdict(Status.TODO, False, attempts - 1)


@pytest.mark.parametrize("attempts", ATTEMPTS)
@pytest.mark.parametrize("category", Category)
def test_every_category_at_every_attempt(category: Category, attempts: int) -> None:
    judged = verdict(Failed(category, "why"), attempts)
    assert (judged.status, judged.error, judged.category) == (Status.FAILED, "why", category)
    if category in RETRIED and attempts < 3:
        delay = timedelta(seconds=RETRIED[category] * 2 ** (attempts - 1))
        assert (judged.settled, judged.attempts, judged.retry_at) == (False, attempts, iso(NOW + delay))
    elif category in RETRIED or category in FINAL:
        assert (judged.settled, judged.attempts, judged.retry_at) == (True, attempts, None)
    elif category in FREE:
        assert (judged.settled, judged.attempts, judged.retry_at) == (True, attempts - 1, None)
    else:
        assert category is Category.DEPENDENCY
        assert (judged.settled, judged.attempts, judged.retry_at) == (False, attempts - 1, None)


def test_the_provider_may_ask_for_a_longer_wait_but_not_for_a_shorter_wait() -> None:
    patient = verdict(Failed(Category.RATE_LIMIT, "429", retry_after=300), 1)
    hasty = verdict(Failed(Category.RATE_LIMIT, "429", retry_after=1), 1)
    assert (patient.retry_at, hasty.retry_at) == (iso(NOW + timedelta(seconds=300)), iso(NOW + timedelta(seconds=30)))


def test_a_postponed_digest_that_was_not_tried_costs_no_attempt() -> None:
    put_off = verdict(Failed(Category.RATE_LIMIT, "the host asked for a pause", retry_after=60, tried=False), 3)

    assert (put_off.status, put_off.settled, put_off.attempts) == (Status.FAILED, False, 2)
    soon = verdict(Failed(Category.RATE_LIMIT, "others come first", retry_after=2, tried=False), 1)
    assert (put_off.retry_at, soon.retry_at) == (iso(NOW + timedelta(seconds=60)), iso(NOW + timedelta(seconds=2)))


@given(st.sampled_from(sorted(RETRIED)), st.integers(1, 30), st.floats(0, 1))
def test_delays_grow_to_ten_minutes_and_are_spread(category: Category, attempts: int, chance: float) -> None:
    policy = RetryPolicy(max_attempts=100)
    judged = judge(Failed(category, "why"), "words", attempts, NOW, policy, chance)
    assert judged.retry_at is not None
    delay = (datetime.fromisoformat(judged.retry_at) - NOW).total_seconds()
    plain = min(600, RETRIED[category] * 2 ** (attempts - 1))
    assert 0.9 * plain - 0.001 <= delay <= 1.1 * plain + 0.001


PROVIDER_FAULTS = [category for category in Category if category not in (Category.DEPENDENCY, Category.CRASH)]


def made_without(category: Category, retry_after: float | None, tried: bool) -> Produced:
    return Produced((Output("words", "w", without=Without("llm", "why", category, retry_after, tried)),))


class Life(RuleBasedStateMachine):
    """A digest goes through any sequence of events: it never leaves the diagram and never exceeds its attempts."""

    status = Status.TODO
    settled = False
    attempts = 0
    retry_at: str | None = None
    category: Category | None = None
    burnt = 0

    @initialize()
    def register(self) -> None:
        self.now = NOW

    @rule(seconds=st.integers(0, 1200))
    def time_passes(self, seconds: int) -> None:
        self.now += timedelta(seconds=seconds)

    @rule(outcome=st.sampled_from([NotApplicable(), Waiting("speech")]))
    def judged_without_running(self, outcome: Outcome) -> None:
        if self.status is Status.TODO:
            self._take(judge(outcome, "words", self.attempts, self.now, RetryPolicy()))

    @rule(
        outcome=st.one_of(
            st.just(Produced((Output("words", "w"),))),
            st.just(Produced(())),
            st.just(Interrupted()),
            st.just(Unreadable("gone")),
            st.builds(Failed, st.sampled_from(Category), st.just("why"), st.none() | st.floats(0, 100)),
            st.builds(made_without, st.sampled_from(PROVIDER_FAULTS), st.none() | st.floats(0, 100), st.booleans()),
        ),
        chance=st.floats(0, 1),
    )
    def attempted(self, outcome: Outcome, chance: float) -> None:
        again = (
            self.status is Status.FAILED
            and not self.settled
            and self.retry_at is not None
            and self.retry_at <= iso(self.now)
        )
        if self.status is Status.TODO or again:
            assert self.attempts < 3, "started a fourth time"
            self.status, self.attempts = Status.IN_PROGRESS, self.attempts + 1
            before = self.attempts
            self._take(judge(outcome, "words", self.attempts, self.now, RetryPolicy(), chance))
            assert self.attempts in (before, before - 1)

    @rule()
    def model_becomes_available(self) -> None:
        due = self.retry_at is not None and self.retry_at <= iso(self.now)
        if self.settled and due and self.attempts < 3:
            self.status, self.settled, self.retry_at = Status.TODO, False, None

    @rule()
    def upstream_settles(self) -> None:
        if self.status is Status.FAILED and not self.settled and self.retry_at is None:
            self.status = Status.TODO

    @rule()
    def upstream_changes(self) -> None:
        if self.status in (Status.COMPLETED, Status.FAILED) or self.status is Status.SKIPPED:
            self.status, self.settled, self.attempts, self.retry_at = Status.TODO, False, 0, None

    def _take(self, verdict: Verdict) -> None:
        self.status, self.settled, self.attempts, self.retry_at = (
            verdict.status, verdict.settled, verdict.attempts, verdict.retry_at,
        )  # fmt: skip
        self.category = verdict.category
        if self.status is Status.FAILED:
            assert verdict.error and verdict.category

    @invariant()
    def is_in_the_diagram(self) -> None:
        assert 0 <= self.attempts <= 3
        assert self.status is not Status.IN_PROGRESS
        if self.status in (Status.COMPLETED, Status.SKIPPED):
            assert self.settled
        if self.status is Status.TODO:
            assert not self.settled and self.attempts < 3
        if self.retry_at is not None:
            assert self.attempts < 3
            assert self.status is Status.COMPLETED or self.settled == (self.category is Category.BUDGET)


TestLife: Callable[[], None] = Life.TestCase  # type: ignore[assignment]
