"""chyme finds everything by meaning after repeated kills during embedding and after the loss of its cache."""

from __future__ import annotations

import itertools
import os
import random
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from sqlite3 import Connection
from typing import Any

import numpy
import pytest
from running_chyme import RunningChyme, Server, wait_until

from chyme.core.store import files
from chyme.core.store.sqlite.database import Database
from chyme.model import Passage, Place
from chyme.models.weights.catalog import EMBEDDING
from chyme.models.weights.folder import path_of
from chyme.search.tables import embedders, vectors

pytestmark = pytest.mark.slow

PATIENCE = 300.0
THINGS = (
    "violin",
    "lawnmower",
    "telescope",
    "passport",
    "toaster",
    "sledge",
    "aquarium",
    "typewriter",
    "kayak",
    "quilt",
)
PEOPLE = ("grandmother", "the dentist", "a sailor")
FATES = ("was stolen", "wants repair", "is for sale", "hangs on the wall", "was a present for the wedding")
NOTES = {
    f"notes/{number}.txt": f"The {thing} of {owner} {fate}."
    for number, (thing, owner, fate) in enumerate(itertools.product(THINGS, PEOPLE, FATES))
}
SENTENCE = "Chapter {}: in the year {} the {} was carried over the mountains, and {} wrote a long letter about it."
LONG = "\n\n".join(SENTENCE.format(n, 1500 + n, THINGS[n % 10], PEOPLE[n % 3]) for n in range(800))
QUESTIONS = ("music", "a boat", "cutting the grass", "looking at the stars", "crossing the border", "breakfast", "fish")
KILLS = (1, 40, 20)  # each kill happens once so many more files have vectors
SPREAD = 2400  # number of vectors: more than are stored in memory only


@pytest.fixture(autouse=True)
def with_weights() -> None:
    if path_of(EMBEDDING) is None:
        pytest.skip("needs the weights for embedding: run 'chyme weights embedding'")


def test_kills_while_embedding_leave_every_passage_once(chyme: RunningChyme) -> None:
    for name, text in NOTES.items():
        chyme.drop(name, text)
    chyme.drop("long.txt", LONG)
    for new_files in KILLS:
        enough = _embedded(chyme) + new_files
        _kill_when(chyme, lambda enough=enough: _embedded(chyme) >= enough)  # type: ignore[misc]
    for _ in range(2):  # chyme gives up a file that is interrupted more often
        _kill_when(chyme, lambda: _reads_the_long_text(chyme))
    ended = chyme.run("digest")
    assert ended.code == 0, ended.out + ended.err
    verified = chyme.run("verify")
    assert verified.code == 0, verified.out

    _each_passage_is_there_once(chyme)
    server = chyme.serve()
    _wait_for_meaning(server)
    for path, text in NOTES.items():
        assert path in [hit["path"] for hit in _ask(server, text)["hits"][:5]], text
    assert server.end(signal.SIGTERM) == 0


def test_a_lost_or_corrupted_vector_cache_changes_no_answer(chyme: RunningChyme) -> None:
    few = dict(list(NOTES.items())[::5])
    for name, text in few.items():
        chyme.drop(name, text)
    assert chyme.run("digest").code == 0
    _scatter(chyme.vault / ".chyme", SPREAD // len(few))
    cache = chyme.vault / ".chyme/vectors"

    answers = _answers(chyme, cache)
    shutil.rmtree(cache)
    assert _answers(chyme, cache) == answers
    _spoil(cache)
    assert _answers(chyme, cache) == answers
    shutil.rmtree(cache)
    cache.write_text("no folder at all")
    assert _answers(chyme, None) == answers


def _kill_when(chyme: RunningChyme, moment: Callable[[], bool]) -> None:
    process = chyme.start("digest")

    def reached() -> bool:
        assert process.poll() is None, chyme.said(process)
        return moment()

    wait_until(reached, PATIENCE)
    process.kill()
    process.wait(PATIENCE)
    wait_until(lambda: not chyme.alive(), PATIENCE)  # children end when their parent is gone


def _reads_the_long_text(chyme: RunningChyme) -> bool:
    return bool(
        chyme.rows(
            """
            SELECT 1 FROM digests
             WHERE file_path = 'long.txt' AND digester = 'search-semantic' AND status = 'in-progress'
            """
        )
    )


def _embedded(chyme: RunningChyme) -> int:
    """Files with vectors; 0 while there is no vault."""
    if not (chyme.vault / ".chyme/vault.db").exists():
        return 0
    if not chyme.rows("SELECT 1 FROM sqlite_schema WHERE name = 'semantic_passages'"):
        return 0
    ((count,),) = chyme.rows("SELECT count(DISTINCT file_id) FROM semantic_passages")
    return int(count)


def _each_passage_is_there_once(chyme: RunningChyme) -> None:
    ((embedder, size),) = chyme.rows("SELECT id, dimension FROM embedders")
    passages = chyme.rows(
        """
        SELECT f.path, p.embedder_id, p.ordinal, p.start, p."end", p.text, length(v.vector)
          FROM semantic_passages p JOIN files f ON f.id = p.file_id JOIN vectors v ON v.id = p.id
         ORDER BY f.path, p.ordinal
        """
    )
    by_path: dict[str, list[tuple[Any, ...]]] = {}
    for path, *passage in passages:
        by_path.setdefault(path, []).append(tuple(passage))
    assert by_path.keys() == {*NOTES, "long.txt"}
    for path, known in by_path.items():
        text = LONG if path == "long.txt" else NOTES[path]
        assert {(passage[0], passage[5]) for passage in known} == {(embedder, 4 * size)}
        assert [passage[1] for passage in known] == list(range(len(known)))
        assert len({passage[2] for passage in known}) == len(known), f"{path}: a passage is there twice"
        assert all(passage[4] == text[passage[2] : passage[3]] for passage in known)
    assert len(by_path["long.txt"]) > 50
    missing = set(range(800)) - {n for n in range(800) for passage in by_path["long.txt"] if f"er {n}:" in passage[4]}
    assert not missing, "all of the long text is embedded"


def _answers(chyme: RunningChyme, cache: Path | None) -> list[list[tuple[str, int | None, int]]]:
    """The hits by meaning from a newly started chyme; the same again once it has written its cache."""
    server = chyme.serve()
    _wait_for_meaning(server)
    found = [_found(server, question) for question in QUESTIONS]
    if cache is not None:
        wait_until(lambda: any(path.stat().st_size > 1000 for path in cache.rglob("*") if path.is_file()), PATIENCE)
    assert [_found(server, question) for question in QUESTIONS] == found
    assert all(found)
    assert server.end(signal.SIGTERM) == 0
    return found


def _found(server: Server, question: str) -> list[tuple[str, int | None, int]]:
    hits = _ask(server, question)["hits"]
    return [(hit["path"], (hit["place"] or {}).get("start"), round(hit["score"] * 1000)) for hit in hits]


def _wait_for_meaning(server: Server) -> None:
    wait_until(lambda: not _ask(server, "a warm welcome")["notes"], PATIENCE)  # the model is being loaded


def _ask(server: Server, question: str) -> dict[str, Any]:
    response = server.http.get("/api/search", params={"q": question, "mode": "meaning"})
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    return answer


def _scatter(state: Path, each: int) -> None:
    """Add passages to every file, with vectors near its own, as many long notes would."""
    dice = numpy.random.default_rng(7)
    database = Database(state)
    embedder = embedders.get_serving(database.read())
    assert embedder is not None

    def fill(db: Connection) -> None:
        for file in files.below(db, ""):
            own = vectors.of_file(db, file.id, embedder.id)
            middle = numpy.frombuffer(own[0][2], "<f4")
            noise = dice.standard_normal((each, embedder.dimension)) / numpy.sqrt(embedder.dimension)
            made = (middle + noise / numpy.linalg.norm(noise + middle, axis=1, keepdims=True)).astype("<f4")
            made /= numpy.linalg.norm(made, axis=1, keepdims=True)
            cut = [Passage("file", at, "a leaf", Place(at, at + 6), "a leaf") for at in range(each)]
            vectors.replace(db, file.id, embedder.id, cut, made.tobytes(), embedder.dimension, True)

    database.write(fill)
    database.close()


def _spoil(cache: Path) -> None:
    """Write nonsense over every file, and beside them."""
    dice = random.Random(7)
    known = [path for path in cache.rglob("*") if path.is_file()]
    for path in known:
        path.write_bytes(dice.randbytes(max(1, path.stat().st_size // 2)))
    for folder in {cache, *(path.parent for path in known)}:
        (folder / "nonsense").write_bytes(dice.randbytes(100))
        os.symlink("/nowhere", folder / "astray")
