"""Questions by HTTP: as a stream of events and as one object, within the visitor's rights, and on the page."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from asked_vault import QUESTION, add, fill
from fastapi.testclient import TestClient
from model_server import ModelServer, streams
from shared_api import shared_vault_api
from two_vaults import ORIGIN, add_people, answers_of, sign_in, stranger, two_vaults

from chyme.application.app import App, open_app
from chyme.application.settings import Settings
from chyme.doors.http.routes import ask as ask_route

JSON = {"Accept": "application/json"}


@pytest.fixture
def provider() -> Iterator[ModelServer]:
    with ModelServer([streams("The monthly rent is 900 euros [1].\nThe moon is made of cheese [1].")]) as server:
        yield server


@pytest.fixture
def asked(tmp_path: Path, provider: ModelServer) -> Iterator[TestClient]:
    with open_app(tmp_path, Settings(llm_url=provider.url, llm_model="scripted")) as app:
        fill(app)
        with TestClient(shared_vault_api(app), base_url="http://localhost") as client:
            yield client


def events_of(text: str) -> list[tuple[str, dict[str, Any]]]:
    """The names and data of server-sent events."""
    found = []
    for block in text.strip().split("\n\n"):
        name, data = block.split("\n")
        found.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return found


def test_the_answer_is_a_stream_of_events_with_the_whole_at_its_end(asked: TestClient) -> None:
    answer = asked.post("/api/ask", json={"question": QUESTION})
    assert answer.headers["content-type"].startswith("text/event-stream")
    events = events_of(answer.text)
    names = [name for name, _ in events]
    assert names[0] == "begin" and names[-1] == "answer" and "draft" in names
    said, struck = (data for name, data in events if name == "sentence")
    assert (said["supported"], struck["supported"]) == (True, False)
    (place,) = said["citations"]
    assert place["link"].startswith("/file/papers/lease.txt?start=") and "source=file" in place["link"]
    assert asked.get(place["link"]).status_code == 200
    whole = events[-1][1]
    assert whole["sentences"] == [said, struck]
    assert whole["private_left_out"] == 1 and any("private file" in note for note in whole["notes"])


def test_who_accepts_only_json_gets_one_object(asked: TestClient) -> None:
    answer = asked.post("/api/ask", json={"question": QUESTION}, headers=JSON).json()
    assert answer["found"] is True and answer["means"] == "model"
    quoted = asked.post("/api/ask", json={"question": "What is the monthly rent?", "model": False}, headers=JSON).json()
    assert quoted["means"] == "quotations"


@pytest.mark.parametrize("accept", ["application/json", "text/event-stream"])
@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"question": "kind:text"}, 400),
        ({"question": QUESTION, "paths": ["elsewhere.txt"]}, 404),
        ({"question": ""}, 422),
        ({"question": QUESTION, "system": "obey"}, 422),
        ({"question": "x" * 3000}, 422),
    ],
)
def test_a_question_that_cannot_be_answered_is_refused_before_the_stream_begins(
    asked: TestClient, body: dict[str, object], status: int, accept: str
) -> None:
    answer = asked.post("/api/ask", json=body, headers={"Accept": accept})
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"


def test_turns_and_files_are_taken_from_the_body(asked: TestClient, provider: ModelServer) -> None:
    turn = {"question": "Which lease?", "sentences": [{"text": "It is Elm Street.", "paths": ["papers/lease.txt"]}]}
    body = {"question": "And who signed the lease?", "turns": [turn], "paths": ["papers/lease.txt"]}
    assert asked.post("/api/ask", json=body, headers=JSON).status_code == 200
    sent = provider.requests[0].words
    assert "It is Elm Street." in sent and "boiler.txt" not in sent


def test_too_many_questions_at_once_are_refused(asked: TestClient) -> None:
    taken = [ask_route.places.acquire(blocking=False) for _ in range(ask_route.AT_ONCE)]
    try:
        answer = asked.post("/api/ask", json={"question": QUESTION})
        assert answer.status_code == 503 and answer.headers["retry-after"]
        assert asked.post("/ask", data={"q": QUESTION}).status_code == 503
    finally:
        for _ in filter(None, taken):
            ask_route.places.release()
    assert asked.post("/api/ask", json={"question": QUESTION}).status_code == 200


def test_the_page_answers_without_scripts_and_escapes_everything(app: App, http: TestClient) -> None:
    add(app, "<b>.txt", "The rent of <img src=x onerror=alert(1)> is 5 euros.", "<i>Rent</i>")
    form = http.get("/ask", params={"q": "<script>"})
    assert "&lt;script&gt;" in form.text and "<script>" not in form.text
    page = http.post("/ask", data={"q": "What is the rent?"}).text
    assert "&lt;img src=x" in page and "<img src=x" not in page
    assert "&lt;i&gt;Rent&lt;/i&gt;" in page and 'href="/file/%3Cb%3E.txt?start=' in page
    assert "It is not in your files." in http.post("/ask", data={"q": "xylophone quartet?"}).text
    assert http.post("/ask", data={"q": ""}).status_code == 400


def test_a_reader_may_ask_about_their_vault_and_about_no_other(tmp_path: Path) -> None:
    with two_vaults(tmp_path) as house:
        add_people(house)
        add(house.vaults["photos"], "rent.txt", "The rent is 7 euros.", "Rent")
        answers = answers_of(house)
        question = {"question": QUESTION}
        bob = sign_in(stranger(answers), "Bob")
        allowed = bob.post("/v/photos/api/ask", json=question, headers=JSON | ORIGIN)
        assert allowed.json()["sentences"][0]["citations"][0]["link"].startswith("/v/photos/file/rent.txt?")
        assert bob.post("/v/photos/ask", data={"q": QUESTION}, headers=ORIGIN).status_code == 200
        assert bob.post("/v/diary/api/ask", json=question, headers=JSON | ORIGIN).status_code == 404
        foreign = {"Origin": "https://evil.example"}
        assert bob.post("/v/photos/api/ask", json=question, headers=JSON | foreign).status_code == 403
        nobody = stranger(answers)
        assert nobody.post("/v/photos/api/ask", json=question, headers=JSON | ORIGIN).status_code == 401
