"""When a provider of models may be called."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from chyme.core.store.models.calls import Spending
from chyme.core.store.models.providers import Provider
from chyme.errors import Category
from chyme.model import iso
from chyme.models.providers.availability import after_answer, after_failure, rest_seconds, schedule_call, start_probe
from chyme.models.providers.daily_budget import Allowance, budget_day, find_spent_budget

NOW = datetime(2026, 3, 28, 12, 0, tzinfo=UTC)


def fail(
    provider: Provider,
    category: Category = Category.NETWORK,
    retry_after: float | None = None,
    outage: bool = True,
    file_id: int = 1,
    now: datetime = NOW,
) -> Provider:
    return after_failure(provider, category, "why", retry_after, outage, file_id, now)


@pytest.mark.parametrize(
    ("category", "retry_after", "seconds"),
    [
        (Category.NETWORK, None, 5),
        (Category.RATE_LIMIT, None, 30),
        (Category.RATE_LIMIT, 2, 2),
        (Category.RATE_LIMIT, 0, 1),
        (Category.RATE_LIMIT, 7200, 7200),
        (Category.AI_QUOTA, None, 60),
        (Category.UNAVAILABLE, None, 60),
    ],
)
def test_a_provider_rests_as_long_as_it_demands_or_as_its_fault_requires(
    category: Category, retry_after: float | None, seconds: float
) -> None:
    assert rest_seconds(fail(Provider("llm"), category, retry_after), NOW) == seconds


def test_each_probe_that_fails_doubles_the_rest_up_to_ten_minutes() -> None:
    provider, now, rests = Provider("llm"), NOW, []
    for _ in range(10):
        provider = fail(start_probe(provider, 1, now), now=now)
        rest = rest_seconds(provider, now)
        assert rest is not None
        rests.append(rest)
        now += timedelta(seconds=rest)
    assert rests == [5, 10, 20, 40, 80, 160, 320, 600, 600, 600]


def test_calls_that_were_under_way_do_not_make_the_rest_longer() -> None:
    provider = fail(Provider("llm"), file_id=1)
    for file_id in range(2, 10):
        provider = fail(provider, file_id=file_id)
    assert rest_seconds(provider, NOW) == 5


def test_only_several_files_in_a_row_make_time_outs_an_outage() -> None:
    alone = Provider("llm")
    for _ in range(10):
        alone = fail(alone, Category.TIMEOUT, outage=False)
    assert not alone.open
    several = Provider("llm")
    for file_id in (1, 2, 3):
        several = fail(several, Category.TIMEOUT, outage=False, file_id=file_id)
    assert several.open
    assert after_answer(several) == Provider("llm")


def test_other_calls_wait_during_a_probe() -> None:
    provider = fail(Provider("llm"))
    later = NOW + timedelta(seconds=6)
    assert rest_seconds(provider, later) is None
    assert rest_seconds(start_probe(provider, 7, later), later) == 120


def test_calls_keep_their_distance_whatever_came_before() -> None:
    provider, waits = Provider("llm"), []
    for _ in range(3):
        provider, wait = schedule_call(provider, 4, NOW)
        waits.append(wait)
    assert waits == [0, 0.25, 0.5]
    assert schedule_call(provider, 4, NOW + timedelta(hours=1))[1] == 0
    assert schedule_call(provider, 0, NOW)[1] == 0


def test_a_budget_is_spent_when_any_of_its_limits_is() -> None:
    assert find_spent_budget(Allowance(), Spending(10**6, 10**9, 10**6)) is None
    assert find_spent_budget(Allowance(calls=3), Spending(2)) is None
    assert find_spent_budget(Allowance(calls=3), Spending(3)) == "3 calls"
    assert find_spent_budget(Allowance(calls=3, tokens=1000), Spending(1, 1001)) == "1,000 tokens"
    assert find_spent_budget(Allowance(cost=0.5), Spending(1, 1, 0.51)) == "0.5 dollars"


@pytest.fixture
def in_berlin() -> Iterator[None]:
    before = os.environ.get("TZ")
    os.environ["TZ"] = "Europe/Berlin"
    time.tzset()
    yield
    if before is None:
        del os.environ["TZ"]
    else:
        os.environ["TZ"] = before
    time.tzset()


@pytest.mark.usefixtures("in_berlin")
def test_a_day_begins_at_midnight_here_also_when_clocks_change() -> None:
    began, ends = budget_day(datetime(2026, 3, 29, 12, 0, tzinfo=UTC))  # the day has 23 hours
    assert (iso(began), iso(ends)) == ("2026-03-28T23:00:00.000000Z", "2026-03-29T22:00:00.000000Z")
