"""Search on Meilisearch and Qdrant through commands and HTTP: the same answers, and nothing lost when anything dies."""

from __future__ import annotations

import json
import random
import signal
import subprocess
from collections.abc import Iterator, Mapping
from typing import Any

import engine_servers
import pytest
from running_chyme import RunningChyme, Server, wait_until

from chyme.models.weights.catalog import EMBEDDING
from chyme.models.weights.folder import path_of

pytestmark = pytest.mark.slow

PATIENCE = 300.0
INSTEAD = "the vault's own index answered"
NOTES = {
    "flat/lease.txt": "The tenancy agreement may be terminated by either party with three months' written notice.",
    "flat/rent.md": "# Rent\n\nThe rent is due on the third of each month; heating and water are paid with it.",
    "flat/neighbours.txt": "The neighbours upstairs play the drums at night. Write to the landlord about the noise.",
    "kitchen/bread.txt": "Knead the dough for ten minutes, let it rise overnight and bake it in a hot oven.",
    "kitchen/rolls.txt": "Shape the dough into small rolls and bake them until the crust is golden.",
    "kitchen/soup.md": "# Soup\n\nFry onions, add lentils and stock, and let it simmer for an hour.",
    "garden/tomatoes.md": "# Tomatoes\n\nSow in March, plant out after the last frost, and water them every morning.",
    "garden/roses.txt": "Prune the roses before the last frost, and feed them with compost in May.",
    "car/brakes.txt": "The mechanic replaced the front brake discs and the pads, and filled up the fluid.",
    "car/tyres.txt": "The winter tyres are in the cellar; the garage changes them in October. Zürich, im März.",
    "travel/tokyo.txt": "東京タワーは東京都港区にある電波塔です。",
}
WORDS = [
    "dough oven", "brake discs of the car", '"last frost"', "plant* -roses", "tomatos", "東京", "zurich marz",
    "name:rent", "kind:text folder:kitchen", "frost in:garden", "bicycle",
]  # fmt: skip
SENSE = ["leaving a rented apartment", "repairing an automobile", "baking loaves", "a loud flat", "growing vegetables"]
QUESTIONS = [(mode, question) for question in SENSE for mode in ("both", "meaning")] + [
    (mode, question) for question in WORDS for mode in ("both", "words")
]


@pytest.fixture(autouse=True)
def with_weights() -> None:
    if path_of(EMBEDDING) is None:
        pytest.skip("needs the weights for embedding: run 'chyme weights embedding'")


@pytest.fixture
def servers() -> Iterator[dict[str, engine_servers.Server]]:
    why_not = engine_servers.absent()
    if why_not:
        pytest.skip(f"NOT TESTED on the larger engines: {why_not}")
    with engine_servers.both_running() as servers:
        yield servers


@pytest.fixture
def engines(servers: Mapping[str, engine_servers.Server]) -> dict[str, str]:
    """The settings that make chyme search there."""
    return {
        "CHYME_SEARCH_ENGINE": "meilisearch",
        "CHYME_MEILISEARCH_URL": servers["meilisearch"].url,
        "CHYME_MEILISEARCH_KEY": engine_servers.KEY,
        "CHYME_QDRANT_URL": servers["qdrant"].url,
        "CHYME_QDRANT_KEY": engine_servers.KEY,
    }


def test_every_question_is_answered_as_by_the_vaults_own_index(
    chyme: RunningChyme, servers: Mapping[str, engine_servers.Server], engines: Mapping[str, str]
) -> None:
    for name, text in NOTES.items():
        chyme.drop(name, text)
    own = chyme.serve()
    wait_until(lambda: _digested(chyme, len(NOTES)), PATIENCE)
    expected = _answers(own)
    assert own.end(signal.SIGTERM) == 0
    assert not chyme.rows("SELECT 1 FROM outbox_state WHERE active"), "no engine is to be updated"

    chyme.settings |= engines
    server = chyme.serve()
    wait_until(lambda: _engines_up_to_date(chyme), PATIENCE)
    questions_before = _questions_to(servers["qdrant"])
    answers = _answers(server)
    assert answers == expected
    assert not [note for answer in answers.values() for note in answer["notes"] if INSTEAD in note]
    assert _questions_to(servers["qdrant"]) > questions_before, "meaning was searched there"
    found = chyme.run("search", "baking loaves", "--facets", "--json").json
    assert _comparable(found) == expected["both baking loaves"]
    assert (
        _comparable(chyme.run("similar", "kitchen/bread.txt", "--json").json) == expected["similar kitchen/bread.txt"]
    )

    (chyme.vault / "kitchen/rolls.txt").unlink()
    wait_until(lambda: not _finds(server, "kitchen/rolls.txt", "golden crust"), PATIENCE)
    wait_until(lambda: _engines_up_to_date(chyme), PATIENCE)
    assert not _finds(server, "kitchen/rolls.txt", NOTES["kitchen/rolls.txt"], "meaning")
    checked = chyme.run("index", "--check")
    assert (checked.code, checked.out) == (0, "the index agrees with the texts\n"), checked.err
    assert chyme.run("status", "--json").json["search"]["engines"] == {"behind": 0, "since": None, "reason": None}
    assert server.end(signal.SIGTERM) == 0


@pytest.mark.parametrize("loses", [False, True], ids=["keeping their data", "having lost everything"])
def test_servers_that_go_away_while_files_arrive_get_everything_when_they_are_back(
    chyme: RunningChyme, servers: Mapping[str, engine_servers.Server], engines: Mapping[str, str], loses: bool
) -> None:
    chyme.settings |= engines
    for name, text in NOTES.items():
        chyme.drop(name, text)
    server = chyme.serve()
    wait_until(lambda: _digested(chyme, len(NOTES)) and _engines_up_to_date(chyme), PATIENCE)

    for number in range(8):
        chyme.drop(f"arriving/{number}.txt", _arriving(number))
    wait_until(lambda: len(_files(chyme)) > len(NOTES), PATIENCE)
    for engine in servers.values():
        engine.kill()
    for number in range(8, 16):
        chyme.drop(f"arriving/{number}.txt", _arriving(number))
    (chyme.vault / "garden/roses.txt").unlink()

    wait_until(lambda: all(_finds(server, f"arriving/{n}.txt", _arriving(n), "meaning") for n in range(16)), PATIENCE)
    wait_until(lambda: not _finds(server, "garden/roses.txt", "prune roses"), PATIENCE)
    answer = _ask(server, "crate15", "words")
    assert [hit["path"] for hit in answer["hits"]] == ["arriving/15.txt"]
    assert any(INSTEAD in note for note in answer["notes"])
    away = server.http.get("/api/status").json()["search"]["engines"]
    assert away["behind"] > 0
    assert "reached" in away["reason"]

    for number in range(16, 24):
        chyme.drop(f"arriving/{number}.txt", _arriving(number))
    for engine in servers.values():
        if loses:
            engine.lose_everything()
        engine.start()
    wait_until(lambda: _digested(chyme, len(NOTES) - 1 + 24) and _engines_up_to_date(chyme), PATIENCE)
    wait_until(lambda: chyme.run("index", "--check").code == 0, PATIENCE)
    wait_until(lambda: not _ask(server, "crate15")["notes"], PATIENCE)
    for number in range(24):
        assert [hit["path"] for hit in _ask(server, f"crate{number}", "words")["hits"]] == [f"arriving/{number}.txt"]
        assert _finds(server, f"arriving/{number}.txt", _arriving(number), "meaning")
    assert not _finds(server, "garden/roses.txt", "prune roses")
    assert _finds(server, "kitchen/bread.txt", "dough oven")
    assert server.end(signal.SIGTERM) == 0


def test_a_kill_before_or_while_the_engines_are_updated_loses_nothing(
    chyme: RunningChyme, servers: Mapping[str, engine_servers.Server], engines: Mapping[str, str]
) -> None:
    chyme.settings |= {**engines, "CHYME_MEANING_PASSAGES": "5"}
    for name, text in NOTES.items():
        chyme.drop(name, text)
    assert chyme.run("digest").code == 0
    assert _engines_up_to_date(chyme)

    for engine in servers.values():
        engine.pause()
    chyme.drop("new/kettle.txt", "The kettle of the expedition is dented.")
    chyme.drop("new/book.txt", _book())
    chyme.drop("flat/rent.md", "# Rent\n\nNothing is paid any more: the house belongs to a cooperative.")
    (chyme.vault / "garden/roses.txt").unlink()
    process = chyme.start("digest")
    wait_until(lambda: _digested(chyme, len(NOTES) + 1) and len(_waiting(chyme)) == 4, PATIENCE)
    _kill(chyme, process)
    assert len(_waiting(chyme)) == 4
    for engine in servers.values():
        engine.go_on()

    process = chyme.start("digest")
    wait_until(lambda: _takes_in_the_book(servers["meilisearch"]), PATIENCE)
    servers["meilisearch"].pause()
    _kill(chyme, process)
    assert len(_waiting(chyme)) == 4, "Meilisearch has not confirmed that it is done"
    chyme.drop("new/book.txt", "There is nothing left of the book but a bookmark.")
    servers["meilisearch"].go_on()

    ended = chyme.run("digest")
    assert ended.code == 0, ended.out + ended.err
    assert not _waiting(chyme), ended.err
    checked = chyme.run("index", "--check")
    assert checked.code == 0, checked.out + checked.err
    for question, path in (
        ("kettle dented", "new/kettle.txt"),
        ("cooperative heating roses", "flat/rent.md"),
        ("page1500 bookmark", "new/book.txt"),
    ):
        found = chyme.run("search", question, "--mode", "words", "--json").json
        assert (_paths(found), found["notes"]) == ([path], []), question


def _book() -> str:
    """Long enough for Meilisearch to be busy with it for a moment."""
    dice = random.Random(7)
    words = ["".join(dice.choices("abcdefghijklmnopqrst", k=7)) for _ in range(20_000)]
    return "\n\n".join(f"Page{n} of it: {' '.join(dice.choices(words, k=100))}." for n in range(1600))


def _takes_in_the_book(meilisearch: engine_servers.Server) -> bool:
    tasks = json.loads(meilisearch.ask("/tasks?types=documentAdditionOrUpdate&statuses=enqueued,processing"))["results"]
    return any(task["details"]["receivedDocuments"] > 500 for task in tasks)


def _arriving(number: int) -> str:
    things = ("violin", "lawnmower", "telescope", "passport", "toaster", "sledge")
    return f"In crate{number} there is the {things[number % 6]} of aunt number {number}."


def _kill(chyme: RunningChyme, process: subprocess.Popen[bytes]) -> None:
    assert process.poll() is None, chyme.said(process)
    process.kill()
    process.wait(PATIENCE)
    wait_until(lambda: not chyme.alive(), PATIENCE)  # children end when their parent is gone


def _files(chyme: RunningChyme) -> list[str]:
    return [path for (path,) in chyme.rows("SELECT path FROM files WHERE vanished_at IS NULL")]


def _digested(chyme: RunningChyme, files: int) -> bool:
    """Whether exactly `files` files are known and nothing is left to do for them."""
    left = chyme.rows("SELECT 1 FROM digests WHERE status IN ('todo', 'in-progress') AND NOT held LIMIT 1")
    return len(_files(chyme)) == files and not left


def _waiting(chyme: RunningChyme) -> list[tuple[Any, ...]]:
    return chyme.rows("SELECT file_id FROM outbox")


def _engines_up_to_date(chyme: RunningChyme) -> bool:
    return bool(chyme.rows("SELECT 1 FROM outbox_state WHERE active AND NOT EXISTS (SELECT 1 FROM outbox)"))


def _questions_to(qdrant: engine_servers.Server) -> int:
    """How many queries for near vectors it has answered, by its own metrics."""
    counted = [line for line in qdrant.ask("/metrics").decode().splitlines() if "rest_responses_total" in line]
    return sum(int(line.rpartition(" ")[2]) for line in counted if "/points/query" in line)


def _ask(server: Server, question: str, mode: str = "both", facets: bool = False) -> dict[str, Any]:
    response = server.http.get("/api/search", params={"q": question, "mode": mode, "facets": facets})
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    return answer


def _finds(server: Server, path: str, question: str, mode: str = "both") -> bool:
    return path in _paths(_ask(server, question, mode))


def _paths(answer: Mapping[str, Any]) -> list[str]:
    return [hit["path"] for hit in answer["hits"]]


def _answers(server: Server) -> dict[str, dict[str, Any]]:
    """The complete answer to every question, and the similar files of every note."""
    wait_until(lambda: not _ask(server, "a warm welcome", "meaning")["notes"], PATIENCE)  # the model is being loaded
    answers = {f"{mode} {question}": _comparable(_ask(server, question, mode, True)) for mode, question in QUESTIONS}
    for path in NOTES:
        answers[f"similar {path}"] = _comparable(server.http.get(f"/api/similar/{path}").json())
    assert answers["meaning repairing an automobile"]["hits"], "search by meaning works"
    return answers


def _comparable(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer without the time and the scores, which may differ in the last digit."""
    hits = [{name: value for name, value in hit.items() if name != "score"} for hit in answer["hits"]]
    return {name: value for name, value in answer.items() if name != "ms"} | {"hits": hits}
