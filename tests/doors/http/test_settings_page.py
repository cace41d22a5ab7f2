"""/settings, /api/settings and /api/doctor: they show everything except secrets."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from starlette.types import ASGIApp, Receive, Scope, Send

from chyme.application.app import App, open_app
from chyme.application.settings import Settings, read_settings
from chyme.application.settings_view import REST, is_secret, view_settings, without_password
from chyme.doors.http.vault_api import create_vault_api

pytestmark = pytest.mark.slow  # each takes little time, but there are many

SECRET, PASSWORD = "sk-very-secret-1234", "hunter2"
EVIL = "<script>alert(1)</script>"
GIVEN = Settings(
    llm_url=f"https://ada:{PASSWORD}@models.invalid/v1?api_key={SECRET}",
    llm_model=EVIL,
    llm_key=SECRET,
    meilisearch_key=SECRET,
    search_engine="meilisearch",
    meilisearch_url="http://127.0.0.1:9",
    qdrant_url="http://127.0.0.1:9",
    crawl=False,
)
ADDRESSES = ("/settings", "/api/settings", "/api/doctor", "/ui/settings/doctor", "/ui/settings/vault")


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    with open_app(tmp_path, GIVEN) as opened:
        yield opened


def settings_by_name(http: TestClient) -> dict[str, Any]:
    return {setting["name"]: setting for setting in http.get("/api/settings").json()["settings"]}


def test_every_setting_is_listed_with_its_topic_and_its_line(http: TestClient) -> None:
    found = settings_by_name(http)
    assert set(found) == {field.name for field in fields(Settings)}
    assert {setting["topic"] for setting in found.values()} - {REST} >= {"Server", "Search", "Web pages"}
    assert found["web_delay"]["line"] == "web_delay = 1.0"
    assert found["crawl"]["line"] == "crawl = false"
    assert found["llm_key"] | {"told": "", "topic": ""} == {
        "name": "llm_key", "told": "", "topic": "", "value": None, "default": "", "source": "start", "secret": True,
        "given": True, "after_restart": None, "line": 'llm_key = "…"',
        "effect": "at once", "locked": None,
    }  # fmt: skip


@pytest.mark.parametrize("address", ADDRESSES)
def test_no_secret_is_shown_anywhere(http: TestClient, address: str) -> None:
    answer = http.get(address)
    assert answer.status_code == 200
    assert SECRET not in answer.text
    assert PASSWORD not in answer.text


@pytest.mark.parametrize("address", ["/settings", "/ui/settings/doctor"])
def test_values_of_settings_do_not_run_in_the_page(http: TestClient, address: str) -> None:
    answer = http.get(address)
    assert EVIL not in answer.text
    assert "&lt;script&gt;" in answer.text


def test_a_password_is_left_out_of_an_address() -> None:
    assert without_password("https://me:x@host:8/v1?key=y#z") == "https://…@host:8/v1?…#…"
    assert without_password("http://127.0.0.1:7700") == "http://127.0.0.1:7700"
    assert without_password("http://[broken") == "…"


def test_keys_are_secret_whatever_they_are_for() -> None:
    assert {field.name for field in fields(Settings) if is_secret(field.name)} >= {
        "llm_key", "vision_key", "speech_key", "embedding_key", "meilisearch_key", "qdrant_key",
    }  # fmt: skip


def test_the_source_of_a_value_is_shown(tmp_path: Path) -> None:
    (tmp_path / "settings.toml").write_text('port = 9000\nconcurrency = 3\nlocal_model = "llm"\n')
    environment = {"CHYME_PORT": "9001"}
    found = {
        setting.name: setting
        for setting in view_settings(read_settings(tmp_path, environment), tmp_path, environment).settings
    }
    assert (found["port"].value, found["port"].source) == (9001, "environment")
    assert (found["concurrency"].value, found["concurrency"].source) == (3, "settings.toml")
    assert (found["local_model"].source, found["local_model"].given) == ("settings.toml", False)
    assert found["web_delay"].source == "default"


def test_a_value_changed_since_the_start_is_shown_as_upcoming(tmp_path: Path) -> None:
    (tmp_path / "settings.toml").write_text("concurrency = 3\n")
    at_start = read_settings(tmp_path, {})
    (tmp_path / "settings.toml").write_text(f'concurrency = 4\nllm_key = "{SECRET}"\n')
    found = {setting.name: setting for setting in view_settings(at_start, tmp_path, {}).settings}
    assert (found["concurrency"].value, found["concurrency"].after_restart) == (3, 4)
    assert found["llm_key"].after_restart is None


@pytest.mark.parametrize("wrong", ["port = ", f'llm_kee = "{SECRET}"', f"[llm_key]\n{SECRET} = 1", "port = true"])
def test_a_broken_file_is_reported_without_its_content(tmp_path: Path, wrong: str) -> None:
    (tmp_path / "settings.toml").write_text(wrong)
    found = view_settings(Settings(), tmp_path, {})
    assert found.problem is not None and SECRET not in found.problem
    assert len(found.settings) == len(fields(Settings))


def test_the_doctor_says_the_same_as_the_command(http: TestClient) -> None:
    engines = http.get("/api/doctor").json()["engines"]
    assert {"capability", "engine", "ok", "how"} == set(engines[0])
    search = next(engine for engine in engines if engine["capability"] == "search")
    assert (search["ok"], "Meilisearch at http://127.0.0.1:9" in search["engine"]) == (False, True)
    html = http.get("/ui/settings/doctor").text
    assert 'aria-label="missing"' in html and 'aria-label="ok"' in html


def test_the_vault_is_described_by_its_folder_its_size_and_its_last_scan(app: App, http: TestClient) -> None:
    assert "not yet" in http.get("/ui/settings/vault").text
    app.scan()
    html = http.get("/ui/settings/vault").text
    assert os.fspath(app.vault.root) in html
    assert "just now" in html and "database" in html


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_settings_are_set_by_patch_alone(http: TestClient, method: str) -> None:
    assert http.request(method, "/api/settings", json={"port": 1}).status_code == 405


def test_readers_learn_nothing_about_this_machine(app: App) -> None:
    with TestClient(_reader(create_vault_api(app)), base_url="http://localhost") as http:
        assert [http.get(address).status_code for address in ADDRESSES[1:]] == [403, 403, 403, 403]
        page = http.get("/settings")
        assert page.status_code == 200
        assert os.fspath(app.vault.root) not in page.text
        assert "llm_model" not in page.text


def _reader(inside: ASGIApp) -> ASGIApp:
    """The application as it receives requests of a client that may only read."""

    async def read_only(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scope.setdefault("state", {})["may_write"] = False
        await inside(scope, receive, send)

    return read_only
