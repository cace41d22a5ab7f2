"""Every call of a model is asked for, told of, and paid for once."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import pytest
from free_calls import FreeCalls
from model_server import ModelServer, fails, hangs, late, raw, says
from pydantic import BaseModel
from waiting import AMPLE

from chyme.errors import BudgetSpent, DiskFull, EngineUnavailable, NetworkFailed, TimedOut
from chyme.model import CallEnd, Question, Reply, Ticket
from chyme.models.providers.endpoints import Endpoint
from chyme.models.providers.structured_request import ask
from chyme.models.providers.usage import usage_of

GOOD, NULL = {"title": "Lease"}, {"title": None}


class Found(BaseModel):
    title: str


def asked(url: str, calls: FreeCalls, seconds: float = 20.0, own: bool = False) -> Found:
    return ask(Endpoint(url, "wordy", "", seconds, "llm", "text", own=own), calls, "a.txt", "b", "c", Found)


def test_who_may_not_call_hears_the_very_reason_and_nothing_is_sent() -> None:
    refusal = BudgetSpent("a.txt: the day's budget is spent", retry_after=60.0, tried=False)
    calls = FreeCalls(refusal)
    with ModelServer([says(GOOD)]) as server, pytest.raises(BudgetSpent) as caught:
        asked(server.url, calls)
    assert caught.value is refusal
    assert server.count == 0
    assert (calls.ends, calls.well, calls.ill) == ([], [], [])


@dataclass
class Spent(FreeCalls):
    """A budget of so many calls."""

    budget: int = 1

    def begin(self, question: Question) -> Ticket | Reply:
        known = question.hash in self.kept
        if not known and len(self.questions) >= self.budget:
            raise BudgetSpent("spent", tried=False)
        return super().begin(question)


def test_a_budget_that_ends_before_the_second_asking_loses_nothing() -> None:
    calls = Spent()
    with ModelServer([says(NULL), says(GOOD)]) as server:
        with pytest.raises(BudgetSpent):
            asked(server.url, calls)
        assert server.count == 1
        calls.budget = 2
        assert asked(server.url, calls).title == "Lease"
        assert server.count == 2
    assert len(calls.ends) == 2


@dataclass
class Full(FreeCalls):
    """Nothing can be written down any more."""

    def end(self, ticket: Ticket, end: CallEnd) -> None:
        raise DiskFull("no room")


def test_an_answer_that_could_not_be_kept_is_not_used() -> None:
    with ModelServer([says(GOOD)]) as server, pytest.raises(DiskFull, match="no room"):
        asked(server.url, Full())
    with ModelServer([fails(500)]) as server, pytest.raises(DiskFull, match="no room"):
        asked(server.url, Full())


@dataclass
class Slow(FreeCalls):
    """Calls must be apart."""

    wait: float = 3.0
    slow: float = 0.0  # seconds it takes to decide

    def begin(self, question: Question) -> Ticket | Reply:
        time.sleep(self.slow)
        leave = super().begin(question)
        return replace(leave, wait=self.wait) if isinstance(leave, Ticket) else leave


@pytest.mark.parametrize("calls", [Slow(), Slow(wait=0.0, slow=3.0)], ids=["apart", "undecided"])
def test_waiting_for_leave_costs_nothing_of_the_answers_time(calls: Slow) -> None:
    with ModelServer([late(0.2, says(GOOD))]) as server:
        began = time.monotonic()
        assert asked(server.url, calls, seconds=2.5).title == "Lease"
        in_all = time.monotonic() - began
    assert server.requests[0].at - began >= 3.0
    assert calls.ends[0].seconds <= in_all - 3.0, "what was waited for leave is not counted"


def test_after_waiting_the_time_is_still_bounded() -> None:
    with ModelServer([hangs()]) as server:
        began = time.monotonic()
        with pytest.raises(TimedOut):
            asked(server.url, Slow(wait=0.8), seconds=0.5)
        assert time.monotonic() - began >= 1.3
        assert server.requests[0].hung_up.wait(AMPLE)


def test_the_same_question_elsewhere_is_another_one_but_our_own_model_may_move() -> None:
    hashes = {}
    for own in (False, True):
        calls = FreeCalls()
        for _ in range(2):
            with ModelServer([says(GOOD)]) as server:
                asked(server.url, calls, own=own)
        assert {question.own for question in calls.questions} == {own}
        hashes[own] = len({question.hash for question in calls.questions})
    assert hashes == {False: 2, True: 1}


def test_what_is_no_answer_is_not_kept_as_one() -> None:
    calls = FreeCalls()
    with ModelServer([raw(b"<html>Welcome", "text/html"), says(GOOD)]) as server:
        with pytest.raises(EngineUnavailable):
            asked(server.url, calls)
        assert asked(server.url, calls).title == "Lease"
    assert [(end.outcome, end.status, end.reply is None) for end in calls.ends] == [
        ("refused", 200, True),
        ("answered", 200, False),
    ]


def test_a_reply_that_breaks_off_was_no_answer() -> None:
    calls = FreeCalls()
    with ModelServer([replace(says(GOOD), cut=True)]) as server, pytest.raises(NetworkFailed):
        asked(server.url, calls)
    assert [(end.outcome, end.status, end.reply) for end in calls.ends] == [("broken", 200, None)]


def test_whoever_checks_an_answer_may_fail_by_their_own_fault() -> None:
    class Mistake(Exception):
        pass

    def wrong(_answer: Found) -> str | None:
        raise Mistake

    calls = FreeCalls()
    with ModelServer([says(GOOD)]) as server, pytest.raises(Mistake):
        ask(Endpoint(server.url, "wordy", prefix="llm"), calls, "a.txt", "b", "c", Found, wrong)
    assert server.count == 1
    assert calls.ill == []


OPENAI = {"choices": [], "usage": {"prompt_tokens": 1_000_000, "completion_tokens": 0}}
ANTHROPIC = {
    "content": [],
    "usage": {"input_tokens": 10, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 30, "output_tokens": 5},
}
GOOGLE = {
    "candidates": [],
    "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5, "thoughtsTokenCount": 7},
}


def test_what_a_call_costs_is_told_where_address_and_model_have_a_known_price() -> None:
    at_home = Endpoint("https://api.openai.com/v1", "gpt-4o-mini")
    tokens_in, tokens_out, dollars = usage_of(at_home, OPENAI)
    assert (tokens_in, tokens_out) == (1_000_000, 0)
    assert dollars is not None
    assert 0.01 < dollars < 10
    for unknown in (replace(at_home, url="http://localhost:1/v1"), replace(at_home, model="no-such-model")):
        assert usage_of(unknown, OPENAI) == (1_000_000, 0, None)
    assert usage_of(replace(at_home, own=True), OPENAI) == (1_000_000, 0, None)
    assert usage_of(Endpoint("", "claude-haiku-4-5", provider="anthropic"), ANTHROPIC)[2]
    assert usage_of(Endpoint("", "gemini-2.5-flash", provider="google"), GOOGLE)[2]


@pytest.mark.parametrize(
    ("told", "tokens"),
    [
        (ANTHROPIC, (60, 5)),
        (GOOGLE, (10, 12)),
        ({"usage": None}, (None, None)),
        ({"usage": {"prompt_tokens": "7", "completion_tokens": True}}, (None, None)),
        ({"usage": {"prompt_tokens": -1, "completion_tokens": 10**30}}, (None, None)),
        ({"usageMetadata": []}, (None, None)),
        ({}, (None, None)),
    ],
)
def test_tokens_are_read_as_each_provider_tells_them(
    told: dict[str, object], tokens: tuple[int | None, int | None]
) -> None:
    assert usage_of(Endpoint("http://h/v1", "m"), told)[:2] == tokens
