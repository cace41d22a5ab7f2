"""PATCH /api/settings, its trial, and /api/private: what is stored or refused, and that no key ever comes back."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from embedding_server import embeds
from fastapi.testclient import TestClient
from model_server import ModelServer, fails, hangs, says
from test_settings_page import _reader

from chyme.application.app import App
from chyme.doors.http.vault_api import create_vault_api

pytestmark = pytest.mark.slow

KEY = "sk-never-comes-back-77"
GET_ADDRESSES = ("/settings", "/ui/settings/forms", "/api/settings", "/api/ai", "/ui/settings/doctor", "/activity")


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer([says({"color": "blue"})]) as server:
        yield server


def change(http: TestClient, values: dict[str, Any], **more: Any) -> Any:
    return http.patch("/api/settings", json={"values": values, **more})


def named(model: ModelServer, **more: Any) -> dict[str, Any]:
    return {"llm_url": model.url, "llm_model": "m", "llm_key": KEY, **more}


def try_model(http: TestClient, values: dict[str, Any]) -> Any:
    return http.post("/api/settings/try", json={"model": "llm", "values": values}).json()


def test_a_model_is_set_and_used_without_a_restart(app: App, http: TestClient, model: ModelServer) -> None:
    answer = change(http, named(model, llm_calls_per_day=3))
    assert answer.status_code == 200, answer.text
    assert answer.json()["after_restart"] == []
    assert http.get("/api/ai").json()["providers"][0]["allowance"]["calls"] == 3
    assert [digester.provider for digester in app.list_digesters() if digester.provider == "llm"] != []
    change(http, {"llm_url": None, "llm_model": None, "llm_key": None})
    assert http.get("/api/ai").json()["providers"] == []
    assert [digester.provider for digester in app.list_digesters() if digester.provider == "llm"] == []


def test_a_key_never_appears_in_a_response_a_page_or_the_log(
    http: TestClient, model: ModelServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    model.script([fails(401, message=f"no such key {KEY}")])
    stored = change(http, named(model))
    answers = [
        *(stored, http.post("/api/settings/try", json={"model": "llm"})),
        *(change(http, {"llm_key": KEY, "concurrency": 0}), change(http, {"llm_key": KEY + "\n"})),
        *(change(http, {"llm_key": [KEY]}), change(http, {"llm_key": KEY}, etag="old")),
        *(http.get(address) for address in GET_ADDRESSES),
    ]
    assert [answer.status_code for answer in answers[:6]] == [200, 200, 422, 422, 422, 409]
    assert [answer.url for answer in answers if KEY in answer.text] == []
    assert KEY not in caplog.text
    listed = {setting["name"]: setting for setting in http.get("/api/settings").json()["settings"]}
    assert (listed["llm_key"]["value"], listed["llm_key"]["given"]) == (None, True)


def test_what_is_refused_is_named_and_nothing_is_stored(app: App, http: TestClient) -> None:
    before = http.get("/api/settings").json()["etag"]
    answer = change(http, {"web_robots": True, "office": "/bin/sh", "web_delay": "soon"})
    assert answer.status_code == 422
    assert set(answer.json()["problems"]) == {"office", "web_delay"}
    assert http.get("/api/settings").json()["etag"] == before
    assert app.settings.web_robots is False


@pytest.mark.parametrize(
    "body",
    [{}, {"values": {}}, {"values": {"x" * 200: 1}}, {"values": {"web_robots": True}, "file": "/etc/x"},
     {"web_robots": True}, {"values": {"web_robots": {"a": 1}}}, [], None],
)  # fmt: skip
def test_other_bodies_are_refused(http: TestClient, body: Any) -> None:
    assert http.patch("/api/settings", json=body).status_code == 422


def test_the_second_of_two_people_is_told(http: TestClient) -> None:
    seen = http.get("/api/settings").json()["etag"]
    assert change(http, {"web_delay": 2}, etag=seen).status_code == 200
    assert change(http, {"web_delay": 3}, etag=seen).status_code == 409


def test_a_trial_asks_once_counts_and_stores_nothing(app: App, http: TestClient, model: ModelServer) -> None:
    tried = try_model(http, named(model))
    assert tried["ok"], tried
    assert model.count == 1
    assert model.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert app.settings.llm_model == ""
    spent = http.get("/api/ai/spend?by=digester").json()["spend"]
    assert [(row["name"], row["calls"], row["tokens_in"]) for row in spent] == [("settings", 1, 7)]


def test_a_trial_that_fails_says_why_and_changes_nothing_for_others(
    app: App, http: TestClient, model: ModelServer
) -> None:
    change(http, named(model))
    model.script([fails(401)])
    tried = try_model(http, {"llm_key": "wrong"})
    assert (tried["ok"], "does not accept the key" in tried["message"]) == (False, True)
    assert http.get("/api/ai").json()["providers"][0]["state"] == "ready"
    model.script([says("no JSON at all")])
    assert "wrong format" in try_model(http, {"llm_key": "other"})["message"]
    model.script([hangs()])
    assert "llm_seconds" in try_model(http, {"llm_seconds": 0.5})["message"]
    assert model.count == 3
    assert http.get("/api/ai").json()["providers"][0]["state"] == "ready"


def test_a_trial_obeys_the_budget_and_the_pause(http: TestClient, model: ModelServer) -> None:
    change(http, named(model, llm_calls_per_day=1))
    assert try_model(http, {})["ok"]
    assert "budget" in try_model(http, {})["message"]
    change(http, {"llm_calls_per_day": 0})
    http.post("/api/ai/pause")
    assert "paused" in try_model(http, {})["message"]
    assert model.count == 1


def test_a_stored_key_is_not_tried_elsewhere(http: TestClient, model: ModelServer) -> None:
    change(http, {"llm_url": "http://127.0.0.1:9/v1", "llm_model": "m", "llm_key": KEY})
    answer = http.post("/api/settings/try", json={"model": "llm", "values": {"llm_url": model.url}})
    assert (answer.status_code, set(answer.json()["problems"])) == (422, {"llm_key"})
    assert model.count == 0


def test_pictures_and_passages_are_tried_too(http: TestClient, model: ModelServer) -> None:
    values = {"vision_url": model.url, "vision_model": "m"}
    assert http.post("/api/settings/try", json={"model": "vision", "values": values}).json()["ok"]
    assert model.requests[0].pictures[0].startswith(b"\xff\xd8")
    with ModelServer(embeds()) as server:
        values = {"embedding_provider": "openai", "embedding_url": server.url, "embedding_model": "e"}
        tried = http.post("/api/settings/try", json={"model": "embedding", "values": values}).json()
    assert tried["ok"], tried


def test_a_model_that_is_not_named_cannot_be_tried(http: TestClient) -> None:
    assert http.post("/api/settings/try", json={"model": "llm"}).status_code == 400
    assert http.post("/api/settings/try", json={"model": "x"}).status_code == 422


def test_private_patterns_are_counted_stored_and_used_at_once(app: App, http: TestClient) -> None:
    for name in ("letters/a.txt", "letters/b.txt", "notes.txt"):
        (app.vault.root / name).parent.mkdir(exist_ok=True)
        (app.vault.root / name).write_text(name)
    app.scan_and_settle()
    counted = http.post("/api/private/preview", json={"text": "letters/\n"}).json()
    assert (counted["files"], counted["of"], counted["disclosed"]) == (2, 3, 0)
    seen = http.get("/api/private").json()["etag"]
    stored = http.put("/api/private", json={"text": "letters/\n", "etag": seen})
    assert stored.json()["patterns"] == 1
    assert app.private("letters/a.txt") and not app.private("notes.txt")
    assert http.put("/api/private", json={"text": "", "etag": seen}).status_code == 409
    assert http.post("/api/private/preview", json={"text": ""}).json()["disclosed"] == 2


@pytest.mark.parametrize("text", ["!\n", "a\0b", "x" * 1_100_000])
def test_patterns_that_are_unclear_are_not_stored(app: App, http: TestClient, text: str) -> None:
    assert http.put("/api/private", json={"text": text}).status_code in (400, 422)
    assert not (app.vault.root / ".chymeprivate").exists()


def test_patterns_behind_a_link_are_neither_shown_nor_replaced(app: App, http: TestClient, tmp_path: Path) -> None:
    secret = tmp_path / "elsewhere"
    secret.write_text("root:x:0:0\n")
    (app.vault.root / ".chymeprivate").symlink_to(secret)
    assert "root:x" not in http.get("/api/private").text + http.get("/settings").text
    assert http.put("/api/private", json={"text": "a\n"}).status_code == 400
    assert secret.read_text() == "root:x:0:0\n"


def test_readers_may_neither_see_nor_set_nor_try(app: App) -> None:
    body = {"values": {"web_robots": True}, "model": "llm", "text": ""}
    with TestClient(_reader(create_vault_api(app)), base_url="http://localhost") as http:
        assert http.patch("/api/settings", json={"values": body["values"]}).status_code == 403
        assert http.post("/api/settings/try", json={"model": "llm"}).status_code == 403
        assert http.get("/api/private").status_code == 403
        assert http.put("/api/private", json={"text": ""}).status_code == 403
        assert http.post("/api/private/preview", json={"text": ""}).status_code == 403
        assert http.get("/ui/settings/forms").status_code == 403
    assert app.settings.web_robots is False
    assert not os.path.exists(app.vault.root / ".chymeprivate")
