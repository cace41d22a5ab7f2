"""/api/people and the pages of people: who speaks in recordings, and what users know about them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from described_vault import complete, put
from fastapi.testclient import TestClient

from chyme.application.app import App, open_app
from chyme.core.clock import now
from chyme.model import Output, Segment, Transcript, Voice, Word
from chyme.search.tables import file_terms
from chyme.speech.people.names import SPEAKERS
from chyme.speech.people.voice_recorder import store_voices
from chyme.speech.transcripts import json_format

pytestmark = pytest.mark.slow  # each takes little time, but there are many

SOUNDS = {"ada": (1.0, 0.0), "bob": (0.0, 1.0)}
WORDS = (Word("Good", 4.0, 4.4, 1.0), Word("<morning>.", 4.4, 5.0, 1.0))


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    with open_app(tmp_path) as opened:
        for path, speakers in (("talk.mp3", ("ada", "bob")), ("sub/call.mp3", ("ada",))):
            file = put(opened, path, "ID3 sound of " + path)
            labels = [(f"speaker-{number}", who) for number, who in enumerate(speakers, 1)]
            segments = tuple(Segment(4.0, 5.0, "Good <morning>.", label, WORDS) for label, _ in labels)
            complete(opened, file, "speech-recognition", json_format.as_json(Transcript("en", "ear", 9.0, segments)))
            sounds = tuple(Voice(label, 70.0, "ear", SOUNDS[who]) for label, who in labels)
            output = Output(SPEAKERS, "{}", voices=sounds)
            content = opened.database.write(
                lambda db, file=file, output=output: store_voices(
                    db, file, output, 0.75, str(now()), file_terms.rewrite
                )  # type: ignore[misc]
            )
            complete(opened, file, SPEAKERS, content)
        yield opened


def list_people(http: TestClient) -> list[tuple[int, str, int]]:
    return [(person["id"], person["called"], person["voices"]) for person in http.get("/api/people").json()["people"]]


def done(answer: Any) -> str:
    assert answer.status_code == 200, answer.text
    return str(answer.json()["done"])


def test_people_are_listed_and_each_is_shown_with_their_words_and_times(http: TestClient) -> None:
    assert list_people(http) == [(1, "Person 1", 2), (2, "Person 2", 1)]
    payload = http.get("/api/people/1").json()
    assert payload["person"]["files"] == 2
    assert payload["voices"][0] == {
        "id": 3, "path": "sub/call.mp3", "speaker": "speaker-1", "seconds": 70.0, "words": "Good <morning>.",
        "start": 4.0, "end": 5.0,
    }  # fmt: skip


def test_every_decision_can_be_made_and_undone(http: TestClient) -> None:
    assert done(http.patch("/api/people/1", json={"name": "Ada"})) == "named Person 1 Ada"
    assert done(http.post("/api/people/1/merge", json={"others": [2]})) == "merged Person 2 into Ada"
    assert list_people(http) == [(1, "Ada", 3)]
    assert done(http.post("/api/people/undo")) == "undone: merged Person 2 into Ada"
    assert list_people(http) == [(1, "Ada", 2), (2, "Person 2", 1)]
    assert done(http.post("/api/people/1/split", json={"voices": [3]})) == "split a voice of Ada off as Person 3"
    assert done(http.post("/api/voices/3/move", json={"person": 2})) == "moved voice 3 from Person 3 to Person 2"
    assert done(http.post("/api/voices/1/move", json={"person": None})) == "moved voice 1 from Ada to Person 4"
    assert done(http.delete("/api/people/1")) == "removed Ada"
    assert done(http.post("/api/people/undo")) == "undone: removed Ada"
    assert done(http.patch("/api/people/1", json={"name": None})) == "took the name of Ada away from Person 1"


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PATCH", "/api/people/1", {"name": "   "}),
        ("PATCH", "/api/people/1", {"name": "Person 7"}),
        ("PATCH", "/api/people/1", {"name": "a\u0000b"}),
        ("PATCH", "/api/people/1", {"name": None}),
        ("POST", "/api/people/1/merge", {"others": [1]}),
        ("POST", "/api/people/1/merge", {"others": [99]}),
        ("POST", "/api/people/1/split", {"voices": [2]}),
        ("POST", "/api/people/1/split", {"voices": [1, 3]}),
        ("POST", "/api/voices/99/move", {"person": 1}),
        ("POST", "/api/voices/1/move", {"person": 1}),
        ("DELETE", "/api/people/1", None),
        ("POST", "/api/people/undo", None),
    ],
)
def test_nonsense_is_refused_with_a_sentence(
    http: TestClient, method: str, path: str, body: dict[str, object] | None
) -> None:
    answer = http.request(method, path, json=body)
    assert answer.status_code == 400 and len(answer.json()["detail"].split()) > 3, answer.text
    assert list_people(http) == [(1, "Person 1", 2), (2, "Person 2", 1)]


@pytest.mark.parametrize("number", ["99", "9007199254740992"])
def test_an_unknown_number_finds_no_person(http: TestClient, number: str) -> None:
    for answer in (
        http.get(f"/api/people/{number}"),
        http.patch(f"/api/people/{number}", json={"name": "Ada"}),
        http.delete(f"/api/people/{number}"),
        http.post(f"/api/people/{number}/merge", json={"others": [1]}),
    ):
        assert answer.status_code == 404
    page = http.get(f"/people/{number}")
    assert page.status_code == 404 and "There is no person" in page.text


@pytest.mark.parametrize("number", ["0", "-1", "x", "9" * 40])
def test_a_number_of_the_wrong_form_is_refused(http: TestClient, number: str) -> None:
    assert http.get(f"/api/people/{number}").status_code == 422


@pytest.mark.parametrize("body", [{}, {"name": 7}, {"name": "Ada", "id": 3}, []])
def test_nothing_else_of_a_person_can_be_set(http: TestClient, body: object) -> None:
    assert http.patch("/api/people/1", json=body).status_code == 422


def test_hostile_names_and_words_are_shown_as_they_are(http: TestClient) -> None:
    name = 'Ada <script>alert(1)</script> "O\'Neil"'
    assert http.patch("/api/people/1", json={"name": name}).status_code == 200
    for address in ("/people", "/people/1", "/ui/people", "/ui/people/2", "/file/talk.mp3"):
        html = http.get(address).text
        assert "<script>alert" not in html and "<morning>" not in html
        assert "Ada &lt;script&gt;" in html


def test_subtitles_name_people_and_escape_what_they_say(http: TestClient) -> None:
    http.patch("/api/people/1", json={"name": "Ada"})
    answer = http.get("/api/subtitles/talk.mp3.vtt")
    assert answer.headers["content-type"].startswith("text/vtt")
    assert answer.text.startswith("WEBVTT") and "<v Ada>Good &lt;morning&gt;." in answer.text


def test_a_file_without_a_transcript_has_no_subtitles(app: App, http: TestClient) -> None:
    put(app, "letter.txt")
    assert http.get("/api/subtitles/letter.txt.vtt").status_code == 404
    assert http.get("/api/subtitles/nope.mp3.vtt").status_code == 404


def test_the_transcript_leads_to_its_people_and_knows_the_second_of_each_word(http: TestClient) -> None:
    html = http.get("/file/talk.mp3").text
    assert '<a href="/people/1">Person 1</a>' in html and 'data-words="[[0,4,4.0,4.4],[5,15,4.4,5.0]]"' in html
