"""Questions about speech to a language model behind HTTP, also when it misbehaves."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from free_calls import FreeCalls
from vision_server import Reply, fails, says, serving
from waiting import AMPLE

from chyme.errors import (
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
from chyme.models.providers.endpoints import LanguageSettings, VisionSettings
from chyme.models.providers.service_faults import InvalidAnswer, KeyRefused
from chyme.speech.transcripts.language_model import AnswerCache, TimeBudget, ask_for_corrections, ask_for_summary
from chyme.speech.transcripts.language_model_schemas import CorrectedSegments

pytestmark = pytest.mark.slow

KEY = "sk-very-secret"
JSON = (("Content-Type", "application/json"),)
GOOD = {"segments": [{"index": 1, "text": "Hello."}]}
SUMMARY = {
    "takeaway": "Somebody said hello.",
    "topics": [{"text": "Greetings", "time": "0:01", "speaker": None}],
    "actions": [],
    "questions": [],
}


def settings(url: str, seconds: float = 20.0) -> LanguageSettings:
    return LanguageSettings(url, "wordy", KEY, seconds)


def ask(url: str, seconds: float = 20.0) -> CorrectedSegments:
    return ask_for_corrections(
        FreeCalls(), "talk.mp3", ["hello"], ("", ""), "en", settings(url, seconds), lambda _: None
    )


def test_the_model_gets_the_segments_the_context_the_language_and_a_schema() -> None:
    with serving([says(GOOD)]) as provider:
        around = ("before\nit", 'after "it"')
        answer = ask_for_corrections(
            FreeCalls(), "talk.mp3", ["hello"], around, "en", settings(provider.url), lambda _: None
        )
    (request,) = provider.asked
    assert [(segment.index, segment.text) for segment in answer.segments] == [(1, "Hello.")]
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.body["model"] == "wordy"
    assert "tools" not in request.body
    assert set(request.body["response_format"]["json_schema"]["schema"]["properties"]) == {"segments"}
    question = request.body["messages"][-1]["content"].splitlines()
    assert "'en'" in question[0]
    assert [json.loads(line) for line in question[2:-1]] == [
        {"context": "before\nit"},
        {"index": 1, "text": "hello"},
        {"context": 'after "it"'},
    ]
    assert "talk.mp3" not in request.words


def test_a_summary_comes_in_its_parts() -> None:
    with serving([says(SUMMARY)]) as provider:
        answer = ask_for_summary(
            FreeCalls(), "talk.mp3", '{"text": "hello"}', None, settings(provider.url), lambda _: None
        )
    assert answer.takeaway == "Somebody said hello."
    assert [(point.text, point.time) for point in answer.topics] == [("Greetings", "0:01")]
    assert "The language is" not in provider.asked[0].words


def test_the_marks_around_the_data_change_with_it() -> None:
    with serving([says(SUMMARY)]) as provider:
        for transcript in ("one", "two"):
            ask_for_summary(FreeCalls(), "talk.mp3", transcript, "en", settings(provider.url), lambda _: None)
    marks = [request.body["messages"][-1]["content"].splitlines()[-1] for request in provider.asked]
    assert marks[0] != marks[1]
    assert all(mark.startswith("END ") and len(mark) == 20 for mark in marks)


def test_the_caller_may_refuse_an_answer_once_with_the_reason() -> None:
    worse = {"segments": [{"index": 1, "text": "worse"}]}
    with serving([says(worse), says(GOOD)]) as provider:
        answer = ask_for_corrections(
            FreeCalls(),
            "talk.mp3",
            ["hello"],
            ("", ""),
            "en",
            settings(provider.url),
            lambda given: "that was the worse one" if given.segments[0].text == "worse" else None,
        )
    assert answer.segments[0].text == "Hello."
    assert "that was the worse one" in provider.asked[1].words


@pytest.mark.parametrize(
    "misfit", [says("no"), says({"segments": 7}), says(""), says("{" * 2000), says(GOOD, "length")]
)
def test_a_second_answer_that_does_not_fit_is_invalid(misfit: Reply) -> None:
    with serving([misfit]) as provider, pytest.raises(InvalidAnswer, match=r"^talk\.mp3: .*llm_model") as caught:
        ask_for_corrections(
            FreeCalls(), "talk.mp3", ["hello"], ("", ""), "en", settings(provider.url), lambda _: "not good enough"
        )
    assert isinstance(caught.value, UnreadableFile)
    assert caught.value.category is Category.VALIDATION
    assert len(provider.asked) == 2


@pytest.mark.parametrize(
    ("reply", "expected", "way_out"),
    [
        (fails(429, Retry_After="7"), RateLimited, "slow down"),
        (fails(429, code="insufficient_quota"), QuotaSpent, "quota"),
        (fails(402), QuotaSpent, "quota"),
        (fails(503, code="overloaded"), QuotaSpent, "overloaded"),
        (fails(500), NetworkFailed, "500"),
        (fails(401), KeyRefused, "llm_key"),
        (fails(404, code="model_not_found"), EngineUnavailable, "llm_model"),
        (fails(400), EngineUnavailable, "must take a text"),
        (fails(400, code="content_filter"), ContentBlocked, "refused this text"),
        (says("", finish="content_filter"), ContentBlocked, "refused this text"),
        (says(None, refusal="I will not."), ContentBlocked, "refused this text"),
        (Reply(body=b"{{{", headers=JSON), EngineUnavailable, "llm_url"),
        (Reply(body=says(GOOD).body, headers=JSON, cut=True), NetworkFailed, "cannot be reached"),
    ],
)
def test_a_providers_fault_names_the_settings_of_this_model(
    reply: Reply, expected: type[DigestError], way_out: str
) -> None:
    with serving([reply]) as provider, pytest.raises(expected) as caught:
        ask(provider.url)
    assert type(caught.value) is expected
    assert str(caught.value).startswith("talk.mp3: ")
    assert way_out in str(caught.value)
    assert "vision" not in str(caught.value)
    assert KEY not in str(caught.value)
    assert len(provider.asked) == 1
    assert caught.value.retry_after == (7.0 if expected is RateLimited else None)


def test_a_model_that_hangs_is_left_in_time_and_its_connection_closed() -> None:
    with serving([Reply(hang=True)]) as provider:
        with pytest.raises(TimedOut, match="llm_seconds"):
            ask(provider.url, seconds=0.5)
        assert provider.hung_up.wait(AMPLE)


def test_an_unreachable_server_is_a_network_failure() -> None:
    with serving([says(GOOD)]) as provider:
        pass
    with pytest.raises(NetworkFailed):
        ask(provider.url)


def test_the_error_for_an_invalid_address_names_the_setting_to_correct() -> None:
    with pytest.raises(EngineUnavailable, match=r"^talk\.mp3: llm_url "):
        ask("h/v1")
    with pytest.raises(EngineUnavailable, match=r"^talk\.mp3: llm_model "):
        ask_for_corrections(
            FreeCalls(), "talk.mp3", ["a"], ("", ""), None, LanguageSettings("http://h/v1", ""), lambda _: None
        )


def test_the_key_is_in_no_description() -> None:
    mine = settings("http://h:1/v1")
    assert KEY not in repr(mine) + repr(mine.endpoint) + mine.fingerprint
    others = [replace(mine, model="b"), replace(mine, url="http://h:2/v1"), replace(mine, key="")]
    assert len({variant.fingerprint for variant in (mine, *others)}) == 4
    assert (mine.endpoint.prefix, VisionSettings("u", "m").endpoint.prefix) == ("llm", "vision")


def test_the_first_question_is_always_asked_and_later_ones_while_there_is_time() -> None:
    patience = TimeBudget(100.0)
    slow = replace(settings("http://h/v1"), seconds=101.0)
    patience.require_time_for_question("talk.mp3", slow, "the rest")
    with pytest.raises(TimedOut, match=r"^talk\.mp3: 100 seconds were not enough for the rest; "):
        patience.require_time_for_question("talk.mp3", slow, "the rest")
    patience.require_time_for_question("talk.mp3", replace(slow, seconds=99.0), "the rest")


def test_answers_are_cached_whole_or_not_at_all(tmp_path: Path) -> None:
    cache = AnswerCache(tmp_path)
    assert cache.read("a") is None
    cache.write("a", ["\u00e9", "\ud800"])
    cache.write("b", "why")
    assert (cache.read("a"), cache.read("b")) == (["\u00e9", "\ud800"], "why")
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".json", ".json"]
    (tmp_path / "a.json").write_bytes((tmp_path / "a.json").read_bytes()[:5])
    (tmp_path / "b.json").write_bytes(b"\xff\xfe")
    (tmp_path / "c.json").write_text("[" * 100_000)
    assert [cache.read(key) for key in "abc"] == [None, None, None]


def test_the_client_is_loaded_only_when_a_model_is_asked() -> None:
    code = (
        "import sys, chyme.speech.transcripts.language_model, chyme.speech.speech_recognition_cleanup\n"
        "import chyme.speech.speech_recognition_summary\n"
        "print([name for name in ('pydantic', 'pydantic_ai', 'openai', 'httpx2', 'numpy') if name in sys.modules])"
    )
    output = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ}
    ).stdout
    assert output.strip() == "[]"
