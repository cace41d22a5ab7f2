"""PATCH /api/files and GET /api/ai: editing documents by hand, and the models in use."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from described_vault import classify, named, put
from fastapi.testclient import TestClient

from chyme.application.app import App, open_app
from chyme.application.settings import Settings
from chyme.doors.cli.commands.ai import ai
from chyme.doors.cli.main import Chyme
from chyme.understanding.tables import edits

pytestmark = pytest.mark.slow  # each takes little time, but there are many

MODEL = Settings(llm_url="http://127.0.0.1:9/v1", llm_model="scripted")


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    with open_app(tmp_path, MODEL) as opened:
        classify(opened, put(opened, "in/letter.txt"), "A letter", "2026-04-03", "letter", "dog")
        yield opened


def edit(http: TestClient, body: object) -> tuple[int, Any]:
    answer = http.patch("/api/files/in/letter.txt", json=body)
    return answer.status_code, answer.json()


def test_several_fields_are_set_together_and_undone_together(app: App, http: TestClient) -> None:
    code, payload = edit(http, {"title": "My heating", "date": "2026-04", "tags": ["heating"]})
    assert code == 200
    assert [payload["document"][field] for field in ("title", "date", "tags")] == ["My heating", "2026-04", ["heating"]]
    app.edits.undo()
    assert app.edits.get("in/letter.txt").edits == {}
    assert edits.last_change(app.database.read()) is None


@pytest.mark.parametrize("wrong", [{"date": "tomorrow"}, {"tags": ["a, b"]}])
def test_nothing_is_set_when_one_field_makes_no_sense(app: App, http: TestClient, wrong: dict[str, object]) -> None:
    code, payload = edit(http, {"title": "My heating", **wrong})
    assert code == 400 and " is no " in payload["detail"]
    assert app.edits.get("in/letter.txt").edits == {}


@pytest.mark.parametrize("body", [{"title": "My heating"}, {"tags": ["heating"]}, {"date": None, "tags": None}])
def test_repeating_an_edit_is_fine_and_not_recorded(app: App, http: TestClient, body: dict[str, object]) -> None:
    first, again = edit(http, body), edit(http, body)
    assert first == again and again[0] == 200
    app.edits.undo()
    assert edits.last_change(app.database.read()) is None


@pytest.mark.parametrize(
    "body", [{"title": "x" * 10_001}, {"date": "2" * 101}, {"tags": ["x" * 1001]}, {"add_tags": ["x" * 1001]}]
)
def test_values_that_are_far_too_long_are_refused(http: TestClient, body: dict[str, object]) -> None:
    assert edit(http, body)[0] == 422


def test_an_empty_edit_changes_nothing(app: App, http: TestClient) -> None:
    code, payload = edit(http, {})
    assert (code, payload["document"]["title"]) == (200, "A letter")
    assert edits.last_change(app.database.read()) is None


def test_null_means_that_there_is_no_value(app: App, http: TestClient) -> None:
    _, payload = edit(http, {"title": None, "tags": None})
    # The file name is shown instead of the title.
    assert (payload["document"]["title"], payload["document"]["tags"]) == ("letter.txt", [])
    seen = app.edits.get("in/letter.txt").document
    assert (seen.title, seen.tags, seen.date) == (None, (), "2026-04-03")


@pytest.mark.parametrize(
    ("body", "about"),
    [({"titel": "x"}, "“titel”"), ({"tags": "x"}, "“tags”"), ({"tags": [1, 2, 3]}, "“tags.0”"), ([], "the body")],
)
def test_a_body_of_the_wrong_form_is_refused_with_a_sentence(http: TestClient, body: object, about: str) -> None:
    code, payload = edit(http, body)
    assert code == 422
    assert payload["detail"].startswith(f"{about} has the wrong form: ")
    assert payload["detail"].endswith("; openapi.json describes the right one")


def test_wrong_parameters_and_broken_json_are_refused_with_a_sentence(http: TestClient) -> None:
    limit = http.get("/api/search", params={"q": "x", "limit": "many"})
    assert (limit.status_code, limit.json()["detail"].partition(":")[0]) == (422, "“limit” has the wrong form")
    missing = http.get("/api/search")
    assert (missing.status_code, missing.json()["detail"].partition(":")[0]) == (422, "“q” has the wrong form")
    broken = http.patch("/api/files/in/letter.txt", content=b"{no", headers={"Content-Type": "application/json"})
    assert (broken.status_code, broken.json()["detail"].partition(":")[0]) == (422, "the body has the wrong form")
    long = http.patch("/api/files/in/letter.txt", json={"x" * 10_000: 1})
    assert len(long.json()["detail"]) < 300


def test_openapi_says_that_errors_are_a_sentence(http: TestClient) -> None:
    contract = http.get("/openapi.json").json()
    assert "HTTPValidationError" not in contract["components"]["schemas"]
    (content,) = contract["paths"]["/api/search"]["get"]["responses"]["default"]["content"].items()
    assert content[0] == "application/problem+json"
    assert content[1]["schema"]["properties"]["detail"]["type"] == "string"


def test_models_are_described_as_on_the_command_line(
    app: App, http: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    (app.vault.root / ".chymeprivate").write_text("*.key\ndiary/\n")
    for name, value in (("CHYME_LLM_URL", MODEL.llm_url), ("CHYME_LLM_MODEL", MODEL.llm_model)):
        monkeypatch.setenv(name, value)
    typed = CliRunner().invoke(Chyme("chyme", {"ai": ai}), ["ai", "--vault", os.fspath(app.vault.root), "--json"])
    payload = http.get("/api/ai").json()
    assert payload == json.loads(typed.stdout)
    assert payload["private_patterns"] == 2
    assert [provider["name"] for provider in payload["providers"]] == ["llm"]


def test_tags_are_added_and_removed_and_those_of_the_machine_stay(app: App, http: TestClient) -> None:
    _, payload = edit(http, {"add_tags": ["Heating"], "remove_tags": ["dog"]})
    assert payload["document"]["tags"] == ["letter", "heating"]
    assert app.edits.get("in/letter.txt").edits == {"tags": {"added": ["heating"], "removed": ["dog"]}}
    assert edit(http, {"remove_tags": ["cat"]})[0] == 400


def test_edits_are_undone_by_http_step_by_step(http: TestClient) -> None:
    edit(http, {"title": "One"})
    edit(http, {"title": "Two"})
    undone = http.post("/api/files/in/letter.txt/undo")
    assert undone.json() == {"undone": "in/letter.txt: set the title to “Two”"}
    assert http.get("/api/digest/in/letter.txt").json()["document"]["title"] == "One"
    http.post("/api/files/in/letter.txt/undo")
    assert http.get("/api/digest/in/letter.txt").json()["document"]["title"] == "A letter"
    nothing = http.post("/api/files/in/letter.txt/undo")
    assert (nothing.status_code, nothing.json()["detail"]) == (400, "in/letter.txt: nothing to undo")


def test_a_cleared_field_has_the_value_of_the_machine_again(http: TestClient) -> None:
    edit(http, {"title": "Mine", "date": "2020"})
    cleared = http.post("/api/files/in/letter.txt/clear", json={"field": "title"})
    assert cleared.json()["document"]["title"] == "A letter" and cleared.json()["document"]["date"] == "2020"
    assert http.post("/api/files/in/letter.txt/clear", json={"field": "title"}).status_code == 200
    assert http.post("/api/files/in/letter.txt/clear", json={"field": "size"}).status_code == 422


def test_a_proposed_name_is_accepted_and_undone(app: App, http: TestClient) -> None:
    named(app, "in/IMG_0412.jpg", "the-harbour.jpg")
    there = http.post("/api/files/in/IMG_0412.jpg/rename")
    assert there.json() == {"path": "in/the-harbour.jpg", "was": "in/IMG_0412.jpg"}
    assert (app.vault.root / "in/the-harbour.jpg").exists()
    back = http.post("/api/files/in/the-harbour.jpg/rename-back")
    assert back.json() == {"path": "in/IMG_0412.jpg", "was": "in/the-harbour.jpg"}
    assert (app.vault.root / "in/IMG_0412.jpg").exists()


@pytest.mark.parametrize("what", ["undo", "clear", "rename", "rename-back"])
def test_nothing_is_done_to_a_file_that_is_not_there(http: TestClient, what: str) -> None:
    assert http.post(f"/api/files/nope.txt/{what}", json={"field": "title"}).status_code == 404


@pytest.mark.parametrize("what", ["rename", "rename-back"])
def test_a_file_whose_name_is_good_keeps_it(http: TestClient, what: str) -> None:
    answer = http.post(f"/api/files/in/letter.txt/{what}")
    assert answer.status_code == 400 and " name" in answer.json()["detail"]
