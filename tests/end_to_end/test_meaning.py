"""Search by meaning through the real command and over HTTP, and changing the embedder while it answers."""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
from typing import Any

import pytest
from embedding_server import texts_of
from model_server import Answer, Asked, ModelServer
from running_chyme import RunningChyme, Server, wait_until

from chyme.models.weights.catalog import EMBEDDING
from chyme.models.weights.folder import path_of

pytestmark = pytest.mark.slow

NOTES = {
    "flat/lease.txt": "The tenancy agreement may be terminated by either party with three months' written notice.",
    "kitchen/bread.txt": "Knead the dough for ten minutes, let it rise overnight and bake it in a hot oven.",
    "garden/tomatoes.md": "# Tomatoes\n\nSow in March, plant out after the last frost, and water them every morning.",
    "car/brakes.txt": "The mechanic replaced the front brake discs and the pads, and filled up the fluid.",
}
WORDS = 64  # length of the second embedder's vectors: each number counts the words of one bucket


@pytest.fixture(autouse=True)
def with_weights() -> None:
    if path_of(EMBEDDING) is None:
        pytest.skip("needs the weights for embedding: run 'chyme weights embedding'")


@pytest.fixture
def notes(chyme: RunningChyme) -> RunningChyme:
    for name, text in NOTES.items():
        chyme.drop(name, text)
    assert chyme.run("digest").code == 0
    return chyme


def by_words(request: Asked) -> Answer:
    """An embedder that only counts words: good enough to distinguish it from another one, and from nonsense."""
    rows = []
    for index, text in enumerate(texts_of(request)):
        counts = [0.01] * WORDS
        for word in re.findall(r"\w+", text.lower()):
            counts[hashlib.sha256(word.encode()).digest()[0] % WORDS] += 1.0
        rows.append({"object": "embedding", "index": index, "embedding": counts})
    payload = {"object": "list", "data": rows, "model": "words", "usage": {"prompt_tokens": 1, "total_tokens": 1}}
    return Answer(body=json.dumps(payload).encode())


def search_until_complete(chyme: RunningChyme, *question: str) -> Any:
    """The search result; repeated while a loaded machine takes longer than the time allowed for an answer."""
    answers: list[Any] = []

    def complete() -> bool:
        answers.append(chyme.run("search", *question, "--json").json)
        return not answers[-1]["notes"]

    wait_until(complete)
    return answers[-1]


def test_a_question_in_other_words_finds_the_passage_that_answers_it(notes: RunningChyme) -> None:
    found = search_until_complete(notes, "leaving a rented apartment")
    first = found["hits"][0]
    assert first["path"] == "flat/lease.txt"
    assert first["why"] == ["meaning"]
    assert "terminated" in first["snippet"]
    assert first["place"] == {"start": 0, "end": len(NOTES["flat/lease.txt"])}
    assert not found["notes"]
    assert notes.run("search", "leaving a rented apartment", "--mode", "words", "--json").json["total"] == 0
    first = re.compile(r"car/brakes\.txt.*by meaning", re.DOTALL)
    wait_until(lambda: first.match(notes.run("search", "repairing an automobile").out))


def test_words_and_meaning_are_one_list_and_filters_hold_for_both(notes: RunningChyme) -> None:
    found = search_until_complete(notes, "dough", "baking", "loaves", "--facets")
    assert found["hits"][0]["path"] == "kitchen/bread.txt"
    assert set(found["hits"][0]["why"]) >= {"words", "meaning"}
    assert found["facets"]["folder"]["kitchen"] == 1
    elsewhere = notes.run("search", "baking loaves in:garden", "--json").json
    assert elsewhere["dropped"] or all(hit["path"].startswith("garden/") for hit in elsewhere["hits"])
    without = notes.run("search", "baking loaves -dough", "--json").json
    assert without["dropped"] or all(hit["path"] != "kitchen/bread.txt" for hit in without["hits"])


def test_a_question_without_an_answer_finds_nothing(notes: RunningChyme) -> None:
    assert notes.run("search", "quarterly earnings of a shipping company", "--json").json["total"] == 0


def test_similar_files_are_found_by_the_command_and_over_http(notes: RunningChyme) -> None:
    notes.drop("kitchen/rolls.txt", "Shape the dough into small rolls and bake them until the crust is golden.")
    assert notes.run("digest").code == 0
    found = notes.run("similar", "kitchen/bread.txt", "--json").json
    assert found["hits"][0]["path"] == "kitchen/rolls.txt"
    assert all(hit["path"] != "kitchen/bread.txt" for hit in found["hits"])
    server = notes.serve()
    over_http = server.http.get("/api/similar/kitchen/bread.txt").json()
    assert [hit["path"] for hit in over_http["hits"]] == [hit["path"] for hit in found["hits"]]
    assert server.http.get("/api/similar/nowhere.txt").status_code == 404
    answer = server.http.get("/api/search", params={"q": "ending a tenancy", "mode": "meaning"}).json()
    assert answer["hits"][0]["path"] == "flat/lease.txt"
    assert server.http.get("/api/search", params={"q": "x", "mode": "magic"}).status_code == 422
    assert server.end(signal.SIGTERM) == 0


def test_a_new_note_is_found_by_meaning_while_serving_and_gone_when_it_is_deleted(notes: RunningChyme) -> None:
    server = notes.serve()

    def found() -> bool:
        answer = server.http.get("/api/search", params={"q": "a leaking faucet", "mode": "meaning"}).json()
        return any(hit["path"] == "tap.txt" for hit in answer["hits"])

    assert not found()
    path = notes.drop("tap.txt", "The tap in the bathroom drips and wants a new washer.", still=False)
    wait_until(found)
    path.unlink()
    wait_until(lambda: not found())
    assert server.end(signal.SIGTERM) == 0


def test_without_weights_words_are_searched_and_the_answer_says_why(chyme: RunningChyme) -> None:
    for name, text in NOTES.items():
        chyme.drop(name, text)
    chyme.settings["CHYME_WEIGHTS_DIR"] = os.fspath(chyme.folder / "nothing")
    assert chyme.run("digest").code == 0
    found = chyme.run("search", "dough", "--json").json
    assert [hit["path"] for hit in found["hits"]] == ["kitchen/bread.txt"]
    assert chyme.run("show", "kitchen/bread.txt", "--json").json["document"]["state"] == "completed"


def test_another_embedder_takes_over_once_it_has_read_every_file(notes: RunningChyme) -> None:
    for number in range(60):
        notes.drop(f"many/note {number:02}.txt", f"Note {number} is about subject {number % 7} and about brakes.")
    assert notes.run("digest").code == 0
    ((before, size),) = notes.rows("SELECT model, dimension FROM embedders")
    with ModelServer(by_words) as away:
        notes.settings |= {
            "CHYME_EMBEDDING_PROVIDER": "openai",
            "CHYME_EMBEDDING_URL": away.url,
            "CHYME_EMBEDDING_MODEL": "words",
        }
        server = notes.serve()
        served: list[str] = []

        def switched() -> bool:
            _assert_answered(server)
            rows = notes.rows("SELECT model, serves FROM embedders")
            served.extend(model for model, serves in rows if serves)
            return len(rows) == 1 and rows[0][0] != before

        wait_until(switched)
        assert served[0] == before, "the old embedder serves until the new one has read everything"
        sizes = notes.rows("SELECT DISTINCT length(vector) FROM vectors")
        assert sizes == [(4 * WORDS,)] != [(4 * size,)]
        assert server.http.get("/api/search", params={"q": "brake discs", "mode": "meaning"}).json()["hits"]
        assert server.end(signal.SIGTERM) == 0
    assert notes.run("verify").code == 0
    assert notes.run("status", "--json").json["outdated"] == 0


def _assert_answered(server: Server) -> None:
    """A question is answered at every moment of the change, by words and by meaning."""
    answer: dict[str, Any] = server.http.get("/api/search", params={"q": "brake discs of the car"}).json()
    first = answer["hits"][0]
    assert first["path"] == "car/brakes.txt"
    assert {"words", "meaning"} <= set(first["why"]), answer["notes"]
