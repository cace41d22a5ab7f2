"""Every call of a model needs permission, is recorded, and is paid for once."""

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

pytestmark = pytest.mark.slow

GOOD, NULL = {"title": "Lease"}, {"title": None}


class Found(BaseModel):
    title: str


def ask_model(url: str, calls: FreeCalls, seconds: float = 20.0, own: bool = False) -> Found:
    return ask(Endpoint(url, "wordy", "", seconds, "llm", "text", own=own), calls, "a.txt", "b", "c", Found)


def test_a_refused_call_raises_the_refusal_itself_and_nothing_is_sent() -> None:
    refusal = BudgetSpent("a.txt: the day's budget is spent", retry_after=60.0, tried=False)
    calls = FreeCalls(refusal)
    with ModelServer([says(GOOD)]) as server, pytest.raises(BudgetSpent) as caught:
        ask_model(server.url, calls)
    assert caught.value is refusal
    assert server.count == 0
    assert (calls.ends, calls.well, calls.ill) == ([], [], [])


@dataclass
class Spent(FreeCalls):
    """A budget for a number of calls."""

    budget: int = 1

    def begin(self, question: Question) -> Ticket | Reply:
        known = question.hash in self.kept
        if not known and len(self.questions) >= self.budget:
            raise BudgetSpent("spent", tried=False)
        return super().begin(question)


def test_a_budget_that_ends_before_the_second_attempt_loses_nothing() -> None:
    calls = Spent()
    with ModelServer([says(NULL), says(GOOD)]) as server:
        with pytest.raises(BudgetSpent):
            ask_model(server.url, calls)
        assert server.count == 1
        calls.budget = 2
        assert ask_model(server.url, calls).title == "Lease"
        assert server.count == 2
    assert len(calls.ends) == 2


@dataclass
class Full(FreeCalls):
    """Nothing can be recorded any more."""

    def end(self, ticket: Ticket, end: CallEnd) -> None:
        raise DiskFull("no room")


def test_an_answer_that_could_not_be_recorded_is_not_used() -> None:
    with ModelServer([says(GOOD)]) as server, pytest.raises(DiskFull, match="no room"):
        ask_model(server.url, Full())
    with ModelServer([fails(500)]) as server, pytest.raises(DiskFull, match="no room"):
        ask_model(server.url, Full())


@dataclass
class Slow(FreeCalls):
    """Calls must have a distance in time."""

    wait: float = 3.0
    slow: float = 0.0  # seconds it takes to decide

    def begin(self, question: Question) -> Ticket | Reply:
        time.sleep(self.slow)
        ticket = super().begin(question)
        return replace(ticket, wait=self.wait) if isinstance(ticket, Ticket) else ticket


@pytest.mark.parametrize("calls", [Slow(), Slow(wait=0.0, slow=3.0)], ids=["apart", "undecided"])
def test_waiting_for_permission_does_not_reduce_the_time_for_the_answer(calls: Slow) -> None:
    with ModelServer([late(0.2, says(GOOD))]) as server:
        began = time.monotonic()
        assert ask_model(server.url, calls, seconds=2.5).title == "Lease"
        total = time.monotonic() - began
    assert server.requests[0].at - began >= 3.0
    assert calls.ends[0].seconds <= total - 3.0, "the wait for permission was counted"


def test_after_waiting_the_time_is_still_bounded() -> None:
    with ModelServer([hangs()]) as server:
        began = time.monotonic()
        with pytest.raises(TimedOut):
            ask_model(server.url, Slow(wait=0.8), seconds=0.5)
        assert time.monotonic() - began >= 1.3
        assert server.requests[0].hung_up.wait(AMPLE)


def test_the_same_question_elsewhere_is_another_one_but_our_own_model_may_move() -> None:
    hashes = {}
    for own in (False, True):
        calls = FreeCalls()
        for _ in range(2):
            with ModelServer([says(GOOD)]) as server:
                ask_model(server.url, calls, own=own)
        assert {question.own for question in calls.questions} == {own}
        hashes[own] = len({question.hash for question in calls.questions})
    assert hashes == {False: 2, True: 1}


def test_an_invalid_reply_is_not_recorded_as_an_answer() -> None:
    calls = FreeCalls()
    with ModelServer([raw(b"<html>Welcome", "text/html"), says(GOOD)]) as server:
        with pytest.raises(EngineUnavailable):
            ask_model(server.url, calls)
        assert ask_model(server.url, calls).title == "Lease"
    assert [(end.outcome, end.status, end.reply is None) for end in calls.ends] == [
        ("refused", 200, True),
        ("answered", 200, False),
    ]


def test_a_reply_that_breaks_off_was_no_answer() -> None:
    calls = FreeCalls()
    with ModelServer([replace(says(GOOD), cut=True)]) as server, pytest.raises(NetworkFailed):
        ask_model(server.url, calls)
    assert [(end.outcome, end.status, end.reply) for end in calls.ends] == [("broken", 200, None)]


def test_an_exception_in_the_check_of_an_answer_is_no_fault_of_the_provider() -> None:
    class Mistake(Exception):
        pass

    def check(_answer: Found) -> str | None:
        raise Mistake

    calls = FreeCalls()
    with ModelServer([says(GOOD)]) as server, pytest.raises(Mistake):
        ask(Endpoint(server.url, "wordy", prefix="llm"), calls, "a.txt", "b", "c", Found, check)
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


def test_the_cost_of_a_call_is_known_for_addresses_and_models_with_a_known_price() -> None:
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
    ("response", "tokens"),
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
def test_tokens_are_read_in_the_format_of_each_provider(
    response: dict[str, object], tokens: tuple[int | None, int | None]
) -> None:
    assert usage_of(Endpoint("http://h/v1", "m"), response)[:2] == tokens
