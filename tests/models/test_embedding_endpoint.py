"""Texts embedded by a service: in few requests, each paid for once, and every answer is checked."""

from __future__ import annotations

import json
import math
import socket
import threading
from array import array
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from embedding_server import SIZE, embeds, texts_of, vector_of, with_first
from free_calls import FreeCalls
from model_server import Answer, Asked, ModelServer, fails, hangs, raw, resets
from waiting import AMPLE

from chyme.errors import (
    BudgetSpent,
    Category,
    ContentBlocked,
    DigestError,
    EngineUnavailable,
    NetworkFailed,
    QuotaSpent,
    RateLimited,
    TimedOut,
    UnreadableFile,
)
from chyme.models.embedding.passage_embedder import PassageEmbedding
from chyme.models.embedding.remote_service import BATCH_CHARACTERS, BATCH_TEXTS, embed_remotely
from chyme.models.providers.cancellation import CallStopped, cancel_calls
from chyme.models.providers.endpoints import Endpoint
from chyme.models.providers.usage import usage_of

pytestmark = pytest.mark.slow

KEY = "sk-secret-4711"
MANY = [f"passage number {number}" for number in range(2 * BATCH_TEXTS + 3)]


def settings(url: str, **changes: Any) -> PassageEmbedding:
    return replace(PassageEmbedding("openai", url=url, model="small-embed", key=KEY, seconds=20.0), **changes)


def rows_of(data: bytes, count: int) -> list[list[float]]:
    row = array("f", data)
    size = len(row) // count
    assert size * count == len(row)
    return [row[at : at + size].tolist() for at in range(0, len(row), size)]


def points_as(vector: list[float], expected: list[float]) -> bool:
    """Whether a vector has the direction of the expected one, and length 1."""
    length = math.hypot(*expected)
    return math.isclose(math.hypot(*vector), 1.0, abs_tol=1e-5) and all(
        math.isclose(number, expected_number / length, abs_tol=1e-6)
        for number, expected_number in zip(vector, expected, strict=True)
    )


def test_each_text_gets_its_vector_of_length_one_in_its_order() -> None:
    with ModelServer(embeds()) as server:
        found = rows_of(embed_remotely(settings(server.url), MANY, FreeCalls()), len(MANY))
    assert all(points_as(row, vector_of(text)) for row, text in zip(found, MANY, strict=True))


def test_the_order_follows_the_index_and_not_the_position() -> None:
    with ModelServer(embeds(lambda data: data[::-1])) as server:
        found = rows_of(embed_remotely(settings(server.url), MANY[:3], FreeCalls()), 3)
    assert all(points_as(row, vector_of(text)) for row, text in zip(found, MANY, strict=False))


def test_a_request_contains_the_texts_and_not_the_file_name() -> None:
    with ModelServer(embeds()) as server:
        embed_remotely(settings(server.url), ["Die Miete", "half \ud800"], FreeCalls(), name="tenancy/secret name.pdf")
    (request,) = server.requests
    assert request.path == "/v1/embeddings"
    assert request.body == {"model": "small-embed", "encoding_format": "float", "input": ["Die Miete", "half ?"]}
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert "secret name" not in json.dumps([request.body, request.headers])


def test_a_dimension_is_asked_for_where_it_is_set() -> None:
    with ModelServer(embeds()) as server:
        data = embed_remotely(settings(server.url, dimension=5), ["rent"], FreeCalls())
    assert server.requests[0].body["dimensions"] == 5
    assert len(data) == 4 * 5


def test_without_texts_no_request_is_sent() -> None:
    with ModelServer(embeds()) as server:
        assert embed_remotely(settings(server.url), [], FreeCalls()) == b""
    assert server.count == 0


def test_requests_have_a_limit_of_texts_and_of_characters() -> None:
    long = ["x" * (BATCH_CHARACTERS // 2), "y" * (BATCH_CHARACTERS // 2), "z", "w" * (BATCH_CHARACTERS + 1), "v"]
    with ModelServer(embeds()) as server:
        embed_remotely(settings(server.url), MANY, FreeCalls())
        assert [len(texts_of(request)) for request in server.requests] == [BATCH_TEXTS, BATCH_TEXTS, 3]
        embed_remotely(settings(server.url), long, FreeCalls())
    assert [[text[0] for text in texts_of(request)] for request in server.requests[3:]] == [
        ["x", "y"],
        ["z"],
        ["w"],
        ["v"],
    ]


def test_progress_is_reported_after_each_request() -> None:
    fractions: list[float] = []
    with ModelServer(embeds()) as server:
        embed_remotely(settings(server.url), MANY, FreeCalls(), progress=fractions.append)
    assert fractions == [pytest.approx(1 / 3), pytest.approx(2 / 3), 1.0]


def test_texts_that_were_answered_before_are_not_sent_again() -> None:
    calls = FreeCalls()
    with ModelServer([embeds(), embeds(), fails(503), embeds()]) as server:
        with pytest.raises(NetworkFailed):
            embed_remotely(settings(server.url), MANY, calls)
        data = embed_remotely(settings(server.url), MANY, calls)
    assert [texts_of(request)[0] for request in server.requests] == [
        MANY[0],
        MANY[BATCH_TEXTS],
        MANY[2 * BATCH_TEXTS],
        MANY[2 * BATCH_TEXTS],
    ]
    found = rows_of(data, len(MANY))
    assert all(points_as(row, vector_of(text)) for row, text in zip(found, MANY, strict=True))


def test_a_refused_call_raises_the_refusal_itself_and_nothing_is_sent() -> None:
    refusal = BudgetSpent("spent", tried=False)
    with ModelServer(embeds()) as server, pytest.raises(BudgetSpent) as caught:
        embed_remotely(settings(server.url), ["rent"], FreeCalls(refusal))
    assert caught.value is refusal
    assert server.count == 0


def test_calls_are_counted_with_what_they_used() -> None:
    calls = FreeCalls()
    with ModelServer(embeds(tokens=1234)) as server:
        embed_remotely(settings(server.url), ["rent"], calls)
    (end,) = calls.ends
    assert (end.outcome, end.tokens_in, end.tokens_out, end.cost) == ("answered", 1234, 0, None)
    (question,) = calls.questions
    assert (question.provider, question.model, question.own) == ("embedding", "small-embed", False)
    assert calls.well == ["embedding"]


def test_a_price_is_known_for_models_that_are_listed() -> None:
    response = {"data": [{"embedding": [1.0]}], "usage": {"prompt_tokens": 1_000_000, "total_tokens": 1_000_000}}
    there = Endpoint("https://api.openai.com/v1", "text-embedding-3-small")
    tokens_in, tokens_out, cost = usage_of(there, response)
    assert (tokens_in, tokens_out) == (1_000_000, 0)
    assert cost


def _missing(data: list[dict[str, Any]]) -> object:
    return data[1:]


def _twice(data: list[dict[str, Any]]) -> object:
    return [data[0], data[0]]


def _indexed(index: object) -> Callable[[list[dict[str, Any]]], object]:
    return lambda data: [{**data[0], "index": index}, data[1]]


def _shorter(data: list[dict[str, Any]]) -> object:
    return [{**data[0], "embedding": data[0]["embedding"][1:]}, data[1]]


def _first_is(vector: object) -> Callable[[list[dict[str, Any]]], object]:
    return lambda data: [{**data[0], "embedding": vector}, data[1]]


@pytest.mark.parametrize(
    "answer",
    [
        embeds(_missing),
        embeds(_twice),
        embeds(lambda _data: []),
        embeds(_indexed(2)),
        embeds(_indexed(-1)),
        embeds(_indexed("0")),
        embeds(_indexed(True)),
        embeds(_shorter),
        embeds(_first_is([0.0] * SIZE)),
        embeds(_first_is([])),
        embeds(_first_is([0.5] * 10_000)),
        embeds(_first_is("AACAPwAAgD8=")),
        embeds(_first_is([[1.0] * SIZE])),
        with_first(math.nan),
        with_first(math.inf),
        with_first(-math.inf),
        with_first(10**400),
        with_first("0.5"),
        with_first(None),
        with_first(True),
    ],
)
def test_an_answer_that_does_not_match_the_request_is_a_validation_error(answer: Callable[[Asked], Answer]) -> None:
    calls = FreeCalls()
    with ModelServer(answer) as server, pytest.raises(UnreadableFile, match=r"a\.txt: the model small-embed") as caught:
        embed_remotely(settings(server.url), ["rent", "heating"], calls, name="a.txt")
    assert caught.value.category is Category.VALIDATION
    assert calls.well == ["embedding"]


def test_vectors_of_another_length_than_the_configured_one_are_refused() -> None:
    ignores_dimension = embeds(lambda data: [{**item, "embedding": item["embedding"] * 2} for item in data])
    with ModelServer(ignores_dimension) as server, pytest.raises(UnreadableFile, match="other lengths than 6"):
        embed_remotely(settings(server.url, dimension=6), ["rent"], FreeCalls())


def test_vectors_of_another_length_in_the_second_request_are_refused() -> None:
    with ModelServer([embeds(), embeds(size=SIZE + 1)]) as server, pytest.raises(UnreadableFile, match="other lengths"):
        embed_remotely(settings(server.url), MANY, FreeCalls())


@pytest.mark.parametrize(
    ("answer", "kind", "message"),
    [
        (fails(429, retry_after="7"), RateLimited, "slow down"),
        (fails(429, "insufficient_quota"), QuotaSpent, "quota"),
        (fails(503, "overloaded"), QuotaSpent, "overloaded"),
        (fails(500), NetworkFailed, "HTTP 500"),
        (fails(500, message="input is too large to process"), EngineUnavailable, "lower embedding_window"),
        (fails(502, message="the upstream's header is too large"), NetworkFailed, "HTTP 502"),
        (fails(400, message="This model's maximum context length is 512"), EngineUnavailable, "embedding_window"),
        (fails(413), EngineUnavailable, "embedding_window"),
        (fails(400), EngineUnavailable, "embeds texts"),
        (fails(400, "content_filter"), ContentBlocked, "refused"),
        (fails(401, message=f"wrong key {KEY}"), EngineUnavailable, "embedding_key"),
        (fails(404), EngineUnavailable, "embedding_model"),
        (fails(408), TimedOut, "gave up"),
        (raw(b"<html>Welcome</html>", "text/html"), EngineUnavailable, "embedding_url"),
        (raw(b'{"choices": []}'), EngineUnavailable, "embedding_url"),
        (raw(b"[" * 100_000), EngineUnavailable, "embedding_url"),
        (raw(b"", status=301), EngineUnavailable, "embedding_url"),
        (resets(), NetworkFailed, "cannot be reached"),
    ],
)
def test_every_fault_of_the_service_has_its_category(answer: Answer, kind: type[DigestError], message: str) -> None:
    calls = FreeCalls()
    with ModelServer([answer]) as server, pytest.raises(kind, match=message) as caught:
        embed_remotely(settings(server.url), ["rent"], calls, name="a.txt")
    assert str(caught.value).startswith("a.txt: ")
    assert KEY not in str(caught.value)
    assert server.count == 1


def test_the_pause_a_service_asks_for_is_passed_on() -> None:
    calls = FreeCalls()
    with ModelServer([fails(429, retry_after="7")]) as server, pytest.raises(RateLimited) as caught:
        embed_remotely(settings(server.url), ["rent"], calls)
    assert caught.value.retry_after == 7.0
    ((provider, error, outage),) = calls.ill
    assert (provider, error, outage) == ("embedding", caught.value, True)


def test_a_service_that_says_nothing_is_not_waited_for_any_longer() -> None:
    with ModelServer([hangs()]) as server:
        with pytest.raises(TimedOut, match=r"within 0\.3 seconds; embedding_seconds allows more"):
            embed_remotely(settings(server.url, seconds=0.3), ["rent"], FreeCalls())
        assert server.requests[0].hung_up.wait(AMPLE)


def test_an_unreachable_service_is_a_network_failure() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(NetworkFailed):
        embed_remotely(settings(f"http://127.0.0.1:{port}/v1"), ["rent"], FreeCalls())


@pytest.mark.parametrize(
    ("changes", "setting"),
    [({"url": "localhost"}, "embedding_url"), ({"model": ""}, "embedding_model"), ({"key": "a b"}, "embedding_key")],
)
def test_the_error_for_unusable_settings_says_what_to_correct(changes: dict[str, Any], setting: str) -> None:
    with pytest.raises(EngineUnavailable, match=setting):
        embed_remotely(replace(settings("http://127.0.0.1:9/v1"), **changes), ["rent"], FreeCalls())


def test_when_chyme_stops_the_answer_is_not_waited_for() -> None:
    ended: list[BaseException] = []
    with ModelServer([hangs()]) as server:

        def embed() -> None:
            try:
                embed_remotely(settings(server.url), ["rent"], FreeCalls())
            except BaseException as error:
                ended.append(error)

        thread = threading.Thread(target=embed)
        thread.start()
        assert server.wait_for(1)
        with cancel_calls():
            thread.join()
    assert [type(error) for error in ended] == [CallStopped]
