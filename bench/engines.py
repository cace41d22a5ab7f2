"""The same search on Meilisearch and Qdrant: as good on Cranfield, and how fast with many passages."""

from __future__ import annotations

import array
import csv
import importlib.util
import json
import math
import os
import random
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from sqlite3 import Connection
from types import ModuleType

from bench.figures import Figure, Sizes, Tell, percentile, remark, warn
from bench.notes import Notes
from bench.retrieval import ndcg
from bench.vaults import CORPUS
from chyme.core.clock import now
from chyme.core.store import files
from chyme.core.store.sqlite.database import Database
from chyme.model import Kind, Passage, Place, Seen, Stamp, iso
from chyme.search.engines.meilisearch import Meilisearch
from chyme.search.engines.pusher import Pusher
from chyme.search.engines.qdrant import Qdrant
from chyme.search.engines.remote_index import RemoteIndex
from chyme.search.engines.vault_engines import VaultEngines, vault_name
from chyme.search.index import Index
from chyme.search.query.conditions import conditions_of
from chyme.search.query.parser import parse
from chyme.search.query.spelling import words_of
from chyme.search.searchable_texts import name_terms
from chyme.search.sqlite_index import SqliteIndex
from chyme.search.tables import embedders, passages, vectors
from chyme.text.passages import cut_passages
from chyme.text.unspaced_scripts import segment

PER_FILE, BATCH, DEPTH, DIMENSION = 5, 200, 10, 384


def measure(sizes: Sizes, folder: Path, tell: Tell) -> None:
    """Real servers on loopback, told by the pusher; questions asked of the index itself, before any fusion."""
    starter = _starter()
    why_not = starter.absent()
    if why_not:
        warn(f"{why_not}; skipped")
        return
    servers = {name: starter.Server(name, folder) for name in ("meilisearch", "qdrant")}
    try:
        for server in servers.values():
            server.start()
        words, meaning = (servers[name].url for name in ("meilisearch", "qdrant"))
        _tell_quality(folder / "cranfield", words, meaning, starter.KEY, tell)
        _tell_speed(sizes, folder / "many", words, meaning, starter.KEY, tell)
        for name, server in servers.items():
            tell(Figure(f"{name}, memory", _resident(server.pid), "MB", "resident, mapped files counted"))
    finally:
        for server in servers.values():
            server.kill()


@contextmanager
def _told(folder: Path, words: str, meaning: str, key: str, fill: Callable[[Database], int]) -> Iterator[_Vault]:
    database = Database(folder)
    engines = VaultEngines(Meilisearch(words, key), Qdrant(meaning, key), vault_name(database))
    try:
        count = fill(database)
        began = time.perf_counter()
        Pusher(database, engines, now).push_all()
        remark(f"pushed {count} passages in {time.perf_counter() - began:.1f} s")
        local = SqliteIndex(database.read)
        yield _Vault(database, local, RemoteIndex(database.read, local, engines))
    finally:
        engines.close()
        database.close()


class _Vault:
    def __init__(self, database: Database, local: Index, remote: Index) -> None:
        self.database = database
        self.local = local
        self.remote = remote

    def names(self, index: Index, question: str) -> list[str]:
        db = self.database.read()
        query = parse(question)
        worded = index.find_by_words(query, conditions_of(db, query)[0], DEPTH)
        if worded.notes:
            raise RuntimeError(worded.notes[0])
        found = [files.by_id(db, file.file_id) for file in worded.files]
        return [file.path.removesuffix(".txt") for file in found if file]


def _tell_quality(folder: Path, words: str, meaning: str, key: str, tell: Tell) -> None:
    source = CORPUS / "retrieval" / "cranfield"
    if not source.is_dir():
        warn(f"{source} is absent; skipped")
        return
    judged: dict[str, dict[str, int]] = {}
    with (source / "qrels.tsv").open(encoding="utf-8") as stream:
        for row in csv.DictReader(stream, delimiter="\t"):
            judged.setdefault(row["query-id"], {})[row["corpus-id"]] = int(row["score"])

    def fill(database: Database) -> int:
        found = [(row["_id"], _pieces(f"{row['title']}\n\n{row['text']}\n")) for row in _rows(source / "corpus.jsonl")]
        for first in range(0, len(found), BATCH):
            database.write(_filling(found[first : first + BATCH]))
        return sum(len(texts) for _, texts in found)

    with _told(folder, words, meaning, key, fill) as vault:
        asked = [(row["text"], judged[row["_id"]]) for row in _rows(source / "queries.jsonl") if judged.get(row["_id"])]
        for name, index in (("SQLite", vault.local), ("Meilisearch", vault.remote)):
            scores = [ndcg(vault.names(index, question), wanted) for question, wanted in asked]
            tell(Figure(f"NDCG@10, words, {name}", sum(scores) / len(scores), "", f"{len(scores)} questions"))


def _tell_speed(sizes: Sizes, folder: Path, words: str, meaning: str, key: str, tell: Tell) -> None:
    notes = Notes()
    chance = random.Random(1)

    def fill(database: Database) -> int:
        embedder = database.write(lambda db: embedders.ensure(db, "synthetic", DIMENSION, iso(now())))
        for first in range(0, sizes.passages // PER_FILE, BATCH):
            some = [
                (f"note-{number}", [notes.note(number * PER_FILE + part) for part in range(PER_FILE)])
                for number in range(first, min(first + BATCH, sizes.passages // PER_FILE))
            ]
            database.write(_filling(some, embedder.id, chance))
        return sizes.passages

    with _told(folder, words, meaning, key, fill) as vault:
        questions = [question for _, question in notes.queries(sizes.queries)]
        for name, index in (("SQLite", vault.local), ("Meilisearch", vault.remote)):
            spent = [_seconds(partial(vault.names, index, question)) for question in questions]
            tell(_figure(f"words, {name}", spent, sizes))
        embedder = embedders.list_all(vault.database.read())[0]
        where, _ = conditions_of(vault.database.read(), parse(""))
        asked = [_vector(chance) for _ in range(sizes.queries)]
        spent = [_seconds(partial(vault.remote.find_by_meaning, one, embedder, where, 100)) for one in asked]
        tell(_figure("meaning, Qdrant", spent, sizes))


def _figure(what: str, spent: list[float], sizes: Sizes) -> Figure:
    how = f"median of {len(spent)} among {sizes.passages} passages; p99 {1000 * percentile(spent, 0.99):.1f} ms"
    return Figure(what, 1000 * percentile(spent, 0.5), "ms", how)


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _pieces(text: str) -> list[str]:
    return [text[piece.start : piece.end] for piece in cut_passages(text)]


def _filling(
    some: list[tuple[str, list[str]]], embedder_id: int | None = None, chance: random.Random | None = None
) -> Callable[[Connection], None]:
    moment = iso(now())

    def fill(db: Connection) -> None:
        for name, texts in some:
            found = [Passage("file", at, text, Place(0, len(text)), segment(text)) for at, text in enumerate(texts)]
            seen = Seen(f"{name}.txt", False, Kind.TEXT, "text/plain", Stamp("1", name, 1, 1), name)
            file_id = files.insert(db, seen, moment)
            passages.replace(db, file_id, "search-keyword", found, words_of(texts))
            terms = name_terms(f"{name}.txt", None, [], None)
            passages.write_names(db, file_id, terms)
            if embedder_id is not None and chance is not None:
                packed = b"".join(array.array("f", _vector(chance)).tobytes() for _ in found)
                vectors.replace(db, file_id, embedder_id, found, packed, DIMENSION, keep_others=True)

    return fill


def _rows(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]


def _vector(chance: random.Random) -> list[float]:
    numbers = [chance.gauss(0, 1) for _ in range(DIMENSION)]
    length = math.sqrt(sum(number * number for number in numbers))
    return [number / length for number in numbers]


def _resident(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def _starter() -> ModuleType:
    """What starts the servers for the tests."""
    path = Path(__file__).parents[1] / "tests" / "support" / "engine_servers.py"
    spec = importlib.util.spec_from_file_location("engine_servers", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
