"""Requests to the models of every provider in its own protocol, also when the provider misbehaves."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest
from free_calls import FreeCalls
from model_server import (
    Answer,
    ModelServer,
    blocks,
    cuts,
    drips,
    fails,
    hangs,
    raw,
    resets,
    says,
)
from other_protocols import (
    anthropic_fails,
    anthropic_fills_in,
    anthropic_says,
    google_blocks,
    google_fails,
    google_says,
)
from pydantic import BaseModel
from waiting import AMPLE

from chyme.errors import (
    ContentBlocked,
    DigestError,
    EngineUnavailable,
    NetworkFailed,
    QuotaSpent,
    RateLimited,
    TimedOut,
)
from chyme.models.providers.endpoints import ADDRESSES, Endpoint
from chyme.models.providers.model_clients import add_schema
from chyme.models.providers.service_faults import InvalidAnswer, KeyRefused
from chyme.models.providers.structured_request import ask

pytestmark = pytest.mark.slow  # each takes little time, but there are many

KEY = "sk-very-secret"
GOOD: dict[str, Any] = {"title": "Lease", "tags": ["flat"]}
NULL: dict[str, Any] = {"title": None, "tags": []}
MODELS = {"openai": "wordy", "google": "gemini-2.5-flash", "anthropic": "claude-haiku-4-5", "form": "behind-a-proxy"}
ANSWERS: dict[str, Callable[[object], Answer]] = {
    "openai": says,
    "google": google_says,
    "anthropic": anthropic_says,
    "form": anthropic_fills_in,
}
every_provider = pytest.mark.parametrize("way", list(MODELS))


class Found(BaseModel):
    title: str
    tags: list[str]


def endpoint_at(server: ModelServer, way: str, seconds: float = 20.0) -> Endpoint:
    """`form` is an Anthropic model that cannot answer by a schema and gets a form to fill in."""
    provider = "anthropic" if way == "form" else way
    url = server.url if provider == "openai" else server.url.removesuffix("/v1")
    return Endpoint(url, MODELS[way], KEY, seconds, "llm", "text", provider)


def ask_model(server: ModelServer, way: str, calls: FreeCalls | None = None, **options: Any) -> Found:
    endpoint = endpoint_at(server, way, options.pop("seconds", 20.0))
    return ask(endpoint, calls or FreeCalls(), "flat.txt", "Tell what it is.", "A lease.", Found, **options)


@every_provider
def test_the_model_answers_by_the_schema_and_the_key_is_in_one_header_only(way: str) -> None:
    with ModelServer([ANSWERS[way](GOOD)]) as server:
        assert ask_model(server, way) == Found(**GOOD)
    (request,) = server.requests
    body = json.dumps(request.body)
    assert "A lease." in body
    assert "Tell what it is." in body
    assert "flat.txt" not in body
    assert '"title"' in body
    assert KEY not in body + request.path
    headers_with_key = {name for name, value in request.headers.items() if KEY in value}
    assert headers_with_key == {{"openai": "authorization", "google": "x-goog-api-key"}.get(way, "x-api-key")}
    always = {"host", "accept", "content-type", "user-agent", "content-length", "accept-encoding"}
    assert request.headers.keys() - always - headers_with_key <= {"anthropic-version"}


def test_each_provider_is_called_at_the_path_of_its_protocol() -> None:
    paths = {}
    for way in MODELS:
        with ModelServer([ANSWERS[way](GOOD)]) as server:
            ask_model(server, way)
        paths[way] = server.requests[0].path.partition("?")[0]
    assert paths == {
        "openai": "/v1/chat/completions",
        "google": "/v1/models/gemini-2.5-flash:generateContent",
        "anthropic": "/v1/messages",
        "form": "/v1/messages",
    }


def test_no_model_gets_tools_except_a_form_to_fill_in() -> None:
    tools = {}
    for way in MODELS:
        with ModelServer([ANSWERS[way](GOOD)]) as server:
            ask_model(server, way)
        tools[way] = [tool["name"] for tool in server.requests[0].body.get("tools", [])]
    assert tools == {"openai": [], "google": [], "anthropic": [], "form": ["answer"]}


def test_the_instructions_contain_the_schema_unless_the_provider_shows_it_to_the_model() -> None:
    with ModelServer([says(GOOD)]) as server:
        ask_model(server, "openai")
    roles = [message["role"] for message in server.requests[0].body["messages"]]
    assert roles == ["system", "user"]
    instructions = server.requests[0].body["messages"][0]["content"]
    assert instructions.startswith("Tell what it is.\n")
    assert json.loads(instructions.splitlines()[-1])["required"] == ["title", "tags"]
    assert server.requests[0].schema is not None
    at_home = Endpoint("https://api.openai.com/v1", "m", KEY)
    assert add_schema(at_home, "Tell.", Found) == add_schema(Endpoint("", "m", provider="google"), "Tell.", Found)


@every_provider
def test_after_an_answer_that_does_not_fit_the_model_is_asked_again_in_a_separate_call(way: str) -> None:
    calls = FreeCalls()
    with ModelServer([ANSWERS[way](NULL), ANSWERS[way](GOOD)]) as server:
        assert ask_model(server, way, calls) == Found(**GOOD)
    first, second = (json.dumps(request.body) for request in server.requests)
    assert len(second) > len(first)
    assert len({question.hash for question in calls.questions}) == 2
    assert [end.outcome for end in calls.ends] == ["answered", "answered"]
    assert calls.well == ["llm"]


@every_provider
def test_a_second_answer_that_does_not_fit_is_final_and_no_fault_of_the_provider(way: str) -> None:
    calls = FreeCalls()
    with ModelServer([ANSWERS[way](NULL)]) as server, pytest.raises(InvalidAnswer, match=r"^flat\.txt: .*llm_model"):
        ask_model(server, way, calls)
    assert server.count == 2
    assert (calls.well, calls.ill) == (["llm"], [])


@every_provider
def test_the_same_question_has_the_same_bytes_also_in_the_second_attempt(way: str) -> None:
    first, second, cached = FreeCalls(), FreeCalls(), FreeCalls()
    with ModelServer([ANSWERS[way](NULL), ANSWERS[way](GOOD), ANSWERS[way](NULL), ANSWERS[way](GOOD)]) as server:
        ask_model(server, way, first)
        ask_model(server, way, second)
        assert [question.hash for question in first.questions] == [question.hash for question in second.questions]
        cached.kept = dict(first.kept)
        assert ask_model(server, way, cached) == Found(**GOOD)
        assert server.count == 4
    assert (cached.questions, cached.ends, cached.well) == ([], [], [])


@every_provider
def test_tokens_are_counted(way: str) -> None:
    calls = FreeCalls()
    with ModelServer([ANSWERS[way](GOOD)]) as server:
        ask_model(server, way, calls)
    (end,) = calls.ends
    assert (end.outcome, end.status, end.tokens_in, end.tokens_out) == ("answered", 200, 7, 3)
    assert end.cost is None
    assert end.reply is not None
    assert end.reply.body == ANSWERS[way](GOOD).body


SOON = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34s"}
NO_SUCH_KEY = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}
OUTAGE, FAULT, WELL = "outage", "fault", "well"
FAULTS: list[tuple[str, Answer, type[DigestError], str, float | None]] = [
    ("openai", fails(429, retry_after="7"), RateLimited, OUTAGE, 7.0),
    ("openai", fails(429, retry_after="7.5"), RateLimited, OUTAGE, 7.5),
    ("openai", fails(429), RateLimited, OUTAGE, None),
    ("openai", fails(429, retry_after="soon"), RateLimited, OUTAGE, None),
    ("openai", fails(429, retry_after="-3"), RateLimited, OUTAGE, 0.0),
    ("openai", fails(429, retry_after="99999999"), RateLimited, OUTAGE, 86_400.0),
    ("openai", fails(429, "insufficient_quota"), QuotaSpent, OUTAGE, None),
    ("openai", fails(402), QuotaSpent, OUTAGE, None),
    ("openai", fails(500), NetworkFailed, FAULT, None),
    ("openai", fails(502), NetworkFailed, OUTAGE, None),
    ("openai", fails(503), NetworkFailed, OUTAGE, None),
    ("openai", fails(503, "overloaded"), QuotaSpent, OUTAGE, None),
    ("openai", fails(504), NetworkFailed, OUTAGE, None),
    ("openai", fails(401), KeyRefused, OUTAGE, None),
    ("openai", fails(404, "model_not_found"), EngineUnavailable, OUTAGE, None),
    ("openai", fails(400), EngineUnavailable, WELL, None),
    ("openai", fails(422), EngineUnavailable, WELL, None),
    ("openai", fails(308, location="http://127.0.0.1:9/"), EngineUnavailable, OUTAGE, None),
    ("openai", fails(400, "context_length_exceeded"), EngineUnavailable, WELL, None),
    ("openai", fails(400, "content_filter"), ContentBlocked, WELL, None),
    ("openai", blocks(), ContentBlocked, WELL, None),
    ("openai", says(None, refusal="I will not."), ContentBlocked, WELL, None),
    ("openai", raw(b"<html>Welcome!", "text/html"), EngineUnavailable, OUTAGE, None),
    ("openai", raw(b"{}"), EngineUnavailable, OUTAGE, None),
    ("openai", raw(b'{"choices": 7}'), EngineUnavailable, OUTAGE, None),
    ("openai", cuts(GOOD), NetworkFailed, FAULT, None),
    ("openai", resets(), NetworkFailed, FAULT, None),
    ("google", google_fails(429, "RESOURCE_EXHAUSTED", SOON), RateLimited, OUTAGE, 34.0),
    ("google", google_fails(429, "RESOURCE_EXHAUSTED", retry_after="7"), RateLimited, OUTAGE, 7.0),
    ("google", google_fails(500, "INTERNAL"), NetworkFailed, FAULT, None),
    ("google", google_fails(503, "UNAVAILABLE"), NetworkFailed, OUTAGE, None),
    ("google", google_fails(403, "PERMISSION_DENIED"), KeyRefused, OUTAGE, None),
    ("google", google_fails(400, "INVALID_ARGUMENT", NO_SUCH_KEY), KeyRefused, OUTAGE, None),
    ("google", google_fails(400, "INVALID_ARGUMENT"), EngineUnavailable, WELL, None),
    ("google", google_fails(404, "NOT_FOUND"), EngineUnavailable, OUTAGE, None),
    ("google", google_blocks(), ContentBlocked, WELL, None),
    ("google", google_says(None, finish="SAFETY"), ContentBlocked, WELL, None),
    ("google", raw(b"<html>Welcome!", "text/html"), EngineUnavailable, OUTAGE, None),
    ("google", raw(b'{"candidates": 7}'), EngineUnavailable, OUTAGE, None),
    ("google", cuts(GOOD), NetworkFailed, FAULT, None),
    ("google", resets(), NetworkFailed, FAULT, None),
    ("anthropic", anthropic_fails(429, "rate_limit_error", retry_after="7"), RateLimited, OUTAGE, 7.0),
    ("anthropic", anthropic_fails(529, "overloaded_error"), QuotaSpent, OUTAGE, None),
    ("anthropic", anthropic_fails(402, "billing_error"), QuotaSpent, OUTAGE, None),
    ("anthropic", anthropic_fails(500, "api_error"), NetworkFailed, FAULT, None),
    ("anthropic", anthropic_fails(401, "authentication_error"), KeyRefused, OUTAGE, None),
    ("anthropic", anthropic_fails(400, "invalid_request_error"), EngineUnavailable, WELL, None),
    ("anthropic", anthropic_fails(404, "not_found_error"), EngineUnavailable, OUTAGE, None),
    ("anthropic", anthropic_says("", stop="refusal"), ContentBlocked, WELL, None),
    ("anthropic", raw(b"<html>Welcome!", "text/html"), EngineUnavailable, OUTAGE, None),
    ("anthropic", raw(b'{"content": 7}'), EngineUnavailable, OUTAGE, None),
    ("anthropic", cuts(GOOD), NetworkFailed, FAULT, None),
    ("anthropic", resets(), NetworkFailed, FAULT, None),
]


@pytest.mark.parametrize(("way", "answer", "expected", "report", "wait"), FAULTS)
def test_a_fault_means_the_same_for_every_provider(
    way: str, answer: Answer, expected: type[DigestError], report: str, wait: float | None
) -> None:
    calls = FreeCalls()
    with ModelServer([answer]) as server, pytest.raises(DigestError) as caught:
        ask_model(server, way, calls)
    error = caught.value
    assert (type(error), error.retry_after, server.count) == (expected, wait, 1)
    assert error.tried
    assert str(error).startswith("flat.txt: ")
    assert KEY not in str(error)
    reported = {OUTAGE: [("llm", error, True)], FAULT: [("llm", error, False)]}
    assert calls.ill == reported.get(report, [])
    assert calls.well == (["llm"] if report == WELL else [])
    assert len(calls.ends) == 1
    if issubclass(expected, EngineUnavailable):
        assert "llm_" in str(error)


def test_every_provider_names_a_bad_key() -> None:
    bad = {
        "openai": fails(401),
        "google": google_fails(400, "INVALID_ARGUMENT", NO_SUCH_KEY),
        "anthropic": anthropic_fails(401, "authentication_error"),
    }
    for way, answer in bad.items():
        with ModelServer([answer]) as server, pytest.raises(EngineUnavailable, match="llm_key"):
            ask_model(server, way)


@pytest.mark.parametrize("way", ["openai", "google", "anthropic"])
@pytest.mark.parametrize("half", ["\ud800", '{"title": "\udc00", "tags": []}'], ids=["alone", "inside"])
def test_an_answer_with_half_a_surrogate_pair_does_not_fit(way: str, half: str) -> None:
    calls = FreeCalls()
    with ModelServer([ANSWERS[way](half)]) as server, pytest.raises(InvalidAnswer, match=r"^flat\.txt: .*llm_model"):
        ask_model(server, way, calls)
    assert (calls.well, calls.ill) == (["llm"], [])


def test_a_text_too_long_for_our_own_model_says_what_to_lower() -> None:
    llama = {"code": 400, "message": "too long", "type": "exceed_context_size_error", "n_ctx": 8192}
    for own, setting in ((True, "lower local_characters$"), (False, "lower llm_characters")):
        with ModelServer([raw(json.dumps({"error": llama}).encode(), status=400)]) as server:
            there = Endpoint(server.url, "wordy", prefix="llm", takes="text", own=own)
            with pytest.raises(EngineUnavailable, match=setting):
                ask(there, FreeCalls(), "flat.txt", "Tell what it is.", "A lease.", Found)


def test_retry_after_may_be_a_date() -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=120), usegmt=True)
    with ModelServer([fails(429, retry_after=later)]) as server, pytest.raises(RateLimited) as caught:
        ask_model(server, "openai")
    assert caught.value.retry_after == pytest.approx(120, abs=10)


@every_provider
@pytest.mark.parametrize("answer", [hangs(), drips()], ids=["hangs", "drips"])
def test_a_model_that_takes_too_long_is_left_in_time_and_its_connection_closed(way: str, answer: Answer) -> None:
    calls = FreeCalls()
    with ModelServer([answer]) as server:
        with pytest.raises(TimedOut, match=r"within 2(\.0)? seconds; llm_seconds"):
            ask_model(server, way, calls, seconds=2.0)
        assert server.requests[0].hung_up.wait(AMPLE)
    (end,) = calls.ends
    assert (end.outcome, end.reply) == ("cancelled", None)
    assert end.seconds > 0.3
    assert [(provider, outage) for provider, _, outage in calls.ill] == [("llm", False)]


@every_provider
def test_an_unreachable_provider_is_an_outage(way: str) -> None:
    calls = FreeCalls()
    with ModelServer([ANSWERS[way](GOOD)]) as server:
        pass
    with pytest.raises(NetworkFailed) as caught:
        ask_model(server, way, calls)
    assert [end.outcome for end in calls.ends] == ["unreachable"]
    assert calls.ill == [("llm", caught.value, True)]


@pytest.mark.parametrize("provider", ["google", "anthropic"])
def test_some_providers_have_a_fixed_address_and_require_a_key(provider: str) -> None:
    at_home = Endpoint("", "m", KEY, prefix="llm", provider=provider)
    assert at_home.address == ADDRESSES[provider]
    assert at_home.host in at_home.fingerprint
    assert provider in at_home.fingerprint
    with pytest.raises(EngineUnavailable, match=r"^flat\.txt: .*set llm_key"):
        ask(Endpoint("", "m", "", prefix="llm", provider=provider), FreeCalls(), "flat.txt", "", "", Found)


@pytest.mark.parametrize(
    ("endpoint", "setting"),
    [
        (Endpoint("http://h/v1", "m", prefix="llm", provider="acme"), "llm_provider"),
        (Endpoint("", "m", prefix="llm"), "llm_url"),
        (Endpoint("http://h/v1", "m", "sk \u00e9", prefix="llm"), "llm_key"),
        (Endpoint("http://h/v1", "m", "sk\n", prefix="llm"), "llm_key"),
        (Endpoint("http://h/v1", "", prefix="llm"), "llm_model"),
    ],
)
def test_settings_that_cannot_work_are_named_and_no_model_is_called(endpoint: Endpoint, setting: str) -> None:
    calls = FreeCalls()
    with pytest.raises(EngineUnavailable, match=rf"^flat\.txt: {setting} "):
        ask(endpoint, calls, "flat.txt", "", "", Found)
    assert calls.questions == []


@pytest.mark.parametrize("way", ["google", "anthropic"])
def test_the_environment_has_no_influence(way: str) -> None:
    """Runs in a separate process, because its environment is changed."""
    code = (
        "import sys; from pydantic import BaseModel; from free_calls import FreeCalls\n"
        "from chyme.models.providers.structured_request import ask\n"
        "from chyme.models.providers.endpoints import Endpoint\n"
        "class Found(BaseModel):\n    title: str\n"
        "there = Endpoint(sys.argv[1], sys.argv[2], 'mine', prefix='llm', provider=sys.argv[3])\n"
        "print(ask(there, FreeCalls(), 'a', 'b', 'c', Found).title)"
    )
    with ModelServer([fails(500)]) as trap, ModelServer([ANSWERS[way](GOOD)]) as server:
        away = trap.url.removesuffix("/v1")
        environment = {
            **{name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")},
            "PYTHONPATH": str(Path(__file__).parents[1] / "support"),
            **dict.fromkeys(("http_proxy", "HTTP_PROXY", "all_proxy", "HTTPS_PROXY"), away),
            **dict.fromkeys(("GOOGLE_API_KEY", "GEMINI_API_KEY", "ANTHROPIC_API_KEY"), "environment"),
            **dict.fromkeys(("GOOGLE_GEMINI_BASE_URL", "ANTHROPIC_BASE_URL"), away),
            "ANTHROPIC_AUTH_TOKEN": "environment",
            "ANTHROPIC_CUSTOM_HEADERS": "x-api-key: environment\nX-More: environment",
            "GOOGLE_GENAI_USE_VERTEXAI": "true",
            "GOOGLE_GENAI_API_VERSION": "environment",
            "GOOGLE_CLOUD_PROJECT": "environment",
        }
        output = subprocess.run(
            [sys.executable, "-c", code, server.url.removesuffix("/v1"), MODELS[way], way],
            capture_output=True,
            text=True,
            check=True,
            env=environment,
        ).stdout
    assert output.strip() == "Lease"
    assert trap.count == 0
    (request,) = server.requests
    assert "environment" not in f"{request.path} {request.headers}"
    assert "mine" in request.headers.values()


@pytest.mark.parametrize("way", ["openai", "google", "anthropic"])
def test_no_content_of_a_file_is_logged_whatever_the_environment_says(way: str) -> None:
    """Runs in a separate process, because the clients read the environment when they are loaded."""
    code = (
        "import logging, sys; logging.basicConfig(level=logging.DEBUG)\n"
        "from pydantic import BaseModel; from free_calls import FreeCalls\n"
        "from chyme.models.providers.structured_request import ask\n"
        "from chyme.models.providers.endpoints import Endpoint\n"
        "class Found(BaseModel):\n    title: str\n"
        "there = Endpoint(sys.argv[1], sys.argv[2], 'mine', prefix='llm', provider=sys.argv[3])\n"
        "print(ask(there, FreeCalls(), 'a', 'Be brief.', 'The heir is Ada.', Found).title)"
    )
    with ModelServer([ANSWERS[way](GOOD)]) as server:
        there = endpoint_at(server, way)
        ended = subprocess.run(
            [sys.executable, "-c", code, there.url, there.model, there.provider],
            capture_output=True,
            text=True,
            check=True,
            env={
                **os.environ,
                "PYTHONPATH": str(Path(__file__).parents[1] / "support"),
                **dict.fromkeys(("ANTHROPIC_LOG", "OPENAI_LOG"), "debug"),
                "GOOGLE_SDK_PYTHON_LOGGING_SCOPE": "google",
            },
        )
    assert ended.stdout.strip() == "Lease"
    assert not any(word in ended.stderr for word in ("heir", "brief", "Lease", "mine"))


@pytest.mark.parametrize("provider", ["google", "anthropic"])
def test_only_the_client_of_the_provider_is_loaded(provider: str) -> None:
    code = (
        "import sys; from chyme.models.providers.endpoints import LanguageSettings, VisionSettings\n"
        "from free_calls import FreeCalls; from chyme.errors import NetworkFailed\n"
        "import chyme.understanding.classification.model_question as classify, chyme.webpages.summary_prompt as pages\n"
        "import chyme.speech.transcripts.language_model as speech, chyme.pictures.vision_model as vision\n"
        "words = LanguageSettings(sys.argv[1], 'm', 'k', provider=sys.argv[2])\n"
        "sees = VisionSettings(sys.argv[1], 'm', 'k', provider=sys.argv[2])\n"
        "fine, calls = (lambda _: None), FreeCalls()\n"
        "for asks in (\n"
        "    lambda: classify.ask_about_document(calls, 'a', 'b', None, words, fine),\n"
        "    lambda: classify.ask_about_picture(calls, 'a', b'b', '', sees, fine),\n"
        "    lambda: pages.ask_for_points(calls, 'a', 'b', None, words, fine),\n"
        "    lambda: speech.ask_for_corrections(calls, 'a', ['b'], ('', ''), None, words, fine),\n"
        "    lambda: speech.ask_for_summary(calls, 'a', 'b', None, words, fine),\n"
        "    lambda: vision.ask_for_objects(calls, 'a', b'b', sees),\n"
        "    lambda: vision.ask_for_caption(calls, 'a', b'b', sees),\n"
        "):\n"
        "    try:\n        asks()\n"
        "    except NetworkFailed:\n        pass\n"
        "print(len(calls.questions), sorted({'openai', 'anthropic', 'google.genai'} & sys.modules.keys()))"
    )
    with ModelServer([fails(500)]) as server:
        output = subprocess.run(
            [sys.executable, "-c", code, server.url.removesuffix("/v1"), provider],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1] / "support")},
        ).stdout
    assert output.strip() == f"7 {[{'google': 'google.genai'}.get(provider, provider)]}"
