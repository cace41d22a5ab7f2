"""A served vault of 100 000 passages: what questions cost, what the server weighs, and what a storm of notes does."""

from __future__ import annotations

import os
import threading
import time
import urllib.parse
from collections.abc import Callable
from pathlib import Path
from sqlite3 import Connection

import numpy
from numpy.typing import NDArray

from bench.commands import digest
from bench.figures import Figure, Sizes, Tell, percentile, remark
from bench.notes import Notes
from bench.serving import Served, served
from chyme.core.store import files
from chyme.core.store.sqlite.database import Database
from chyme.model import Passage, Place
from chyme.search.tables import embedders, passages, vectors
from chyme.text.unspaced_scripts import segment

FILES = 1000
BATCH = 20  # files filled in one transaction
MB = 1e6
PRIVATE_LIMIT = 200 * 1.048576
MODES = ("words", "meaning", "both")
STORM_NOTES, STORM_SECONDS = 200, 20.0
NEW_NOTES = 5
SPREAD = 0.6  # how far made-up vectors lie from a real one
_Row = tuple[int, list[Passage], list[Passage], bytes, NDArray[numpy.float32]]  # file, new passages, its own, vectors


def measure(sizes: Sizes, folder: Path, tell: Tell) -> None:
    """Real notes, digested; many more passages of the same files straight into the store; then questions by HTTP."""
    vault, notes = folder / "vault", Notes()
    notes.write(vault, FILES)
    digest(vault).must_succeed()
    began = time.process_time()
    _fill(vault, notes, sizes.passages // FILES - 1)
    remark(f"{sizes.passages} passages filled in {time.process_time() - began:.0f} s CPU")
    questions = [f"{one} {other}" for one, other in zip(notes.words[50:], notes.words[400:], strict=False)]
    questions = questions[: sizes.queries]
    with served(vault) as server:
        _settle(server)
        os.sched_setaffinity(server.pid, {min(os.sched_getaffinity(0))})
        for mode in MODES:
            _asked(server, questions[:20], mode)  # the first ones map the cache and load the embedder
            cpu = server.cpu
            spent = _asked(server, questions, mode)
            cpu = 1000 * (server.cpu - cpu) / len(questions)
            how = f"{len(questions)} questions among {sizes.passages} passages, server held to one core"
            tell(Figure(f"{mode}, median", percentile(spent, 0.5), "ms", f"{how}, wall by HTTP"))
            tell(Figure(f"{mode}, p99", percentile(spent, 0.99), "ms", "wall by HTTP", at_most=100.0))
            tell(Figure(f"{mode}, CPU", cpu, "ms", "mean, server and its children, embedding the question included"))
        tell(Figure("private memory", server.private / MB, "MB", "of the server, after these", at_most=PRIVATE_LIMIT))
        _new_notes(server, vault, tell)
        _storm(server, vault, notes, questions, tell)


def _fill(vault: Path, notes: Notes, each: int) -> None:
    """Further passages for every file: words as in other notes, vectors scattered around the file's own."""
    database = Database(vault / ".chyme")
    dice = numpy.random.default_rng(7)
    try:
        known = files.below(database.read(), "")
        embedder = embedders.get_serving(database.read())
        assert embedder is not None, "no embedder serves: are its weights there?"
        for first in range(0, len(known), BATCH):
            rows = []
            for file in known[first : first + BATCH]:
                own = vectors.of_file(database.read(), file.id, embedder.id)
                texts = [notes.note(file.id * each + number + 1_000_000) for number in range(each)]
                cut = [
                    Passage("file", 1000 + at, text, Place(0, len(text)), segment(text))
                    for at, text in enumerate(texts)
                ]
                middle = numpy.frombuffer(own[0][2], "<f4") if own else dice.standard_normal(embedder.dimension)
                noise = dice.standard_normal((each, embedder.dimension)) / numpy.sqrt(embedder.dimension)
                made = middle + SPREAD * noise * (1 + 4 * dice.random((each, 1)))
                made = (made / numpy.linalg.norm(made, axis=1, keepdims=True)).astype("<f4")
                rows.append((file.id, cut, [passage for _, passage, _ in own], b"".join(v for _, _, v in own), made))
            database.write(_filling(rows, embedder))
        database.checkpoint()
    finally:
        database.close()


def _filling(rows: list[_Row], embedder: embedders.Embedder) -> Callable[[Connection], None]:
    def fill(db: Connection) -> None:
        for file_id, cut, own, own_vectors, made in rows:
            kept = [passage for _, passage in passages.of_file(db, file_id, "search-keyword")]
            passages.replace(db, file_id, "search-keyword", [*kept, *cut])
            vectors.replace(
                db, file_id, embedder.id, [*own, *cut], own_vectors + made.tobytes(), embedder.dimension, True
            )

    return fill


def _settle(server: Served) -> None:
    while server.left():
        time.sleep(0.2)
    time.sleep(2)  # the scan at the start


def _asked(server: Served, questions: list[str], mode: str) -> list[float]:
    spent = []
    for question in questions:
        began = time.perf_counter()
        server.ask(f"/api/search?mode={mode}&q=" + urllib.parse.quote(question))
        spent.append(1000 * (time.perf_counter() - began))
    return spent


def _new_notes(server: Served, vault: Path, tell: Tell) -> None:
    """A note that is found by its own word, and one that is found by other words for the same thing."""
    by_words, by_meaning = [], []
    for number in range(NEW_NOTES):
        word = f"freshly{'abcde'[number]}qx"
        path = vault / "box-0000" / f"new-{number}.md"
        path.write_text(f"# Plumber {number}\n\nThe {word} tap in the kitchen drips and must be repaired.\n")
        began = time.perf_counter()
        _until(lambda word=word: bool(server.search(f'"{word}"')["hits"]))  # type: ignore[misc]
        by_words.append(time.perf_counter() - began)
        asked = f"/api/search?mode=meaning&q=leaking+faucet+number+{number}"
        _until(lambda asked=asked, name=path.name: any(h["path"].endswith(name) for h in server.ask(asked)["hits"]))  # type: ignore[misc]
        by_meaning.append(time.perf_counter() - began)
    tell(
        Figure("new note found by words", percentile(by_words, 0.5), "s", "median; 0.5 s of it the file must be still")
    )
    tell(Figure("new note found by meaning", percentile(by_meaning, 0.5), "s", "median, the same notes"))


def _storm(server: Served, vault: Path, notes: Notes, questions: list[str], tell: Tell) -> None:
    """Ten notes a second arrive while questions are asked."""
    stop = threading.Event()

    def write() -> None:
        for number in range(STORM_NOTES):
            if stop.wait(STORM_SECONDS / STORM_NOTES):
                return
            (vault / "box-0001" / f"storm-{number}.md").write_text(notes.note(2_000_000 + number), encoding="utf-8")

    writer = threading.Thread(target=write)
    writer.start()
    spent: list[float] = []
    try:
        while writer.is_alive():
            spent += _asked(server, questions[len(spent) % len(questions) :][:10], "both")
    finally:
        stop.set()
        writer.join()
    how = f"{len(spent)} questions while {STORM_NOTES} notes arrive in {STORM_SECONDS:g} s and are digested"
    tell(Figure("both in a storm, median", percentile(spent, 0.5), "ms", how))
    tell(Figure("both in a storm, p99", percentile(spent, 0.99), "ms", "one core for the server, children elsewhere"))
    began = time.perf_counter()
    _until(lambda: not server.left(), 300)
    remark(f"all digested {time.perf_counter() - began:.1f} s after the last note")


def _until(done: Callable[[], bool], seconds: float = 60) -> None:
    began = time.perf_counter()
    while not done():
        if time.perf_counter() - began > seconds:
            raise RuntimeError(f"it did not happen within {seconds:g} s")
        time.sleep(0.01)
