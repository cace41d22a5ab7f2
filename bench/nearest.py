"""What finding the nearest vectors costs, and how many of them are found."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from sqlite3 import Connection

import numpy
from numpy.typing import NDArray

from bench.figures import Figure, Sizes, Tell, percentile, remark, warn
from bench.vaults import CORPUS
from chyme.core.clock import now
from chyme.core.store import files
from chyme.core.store.sqlite.database import Database
from chyme.errors import EngineUnavailable
from chyme.model import Kind, Passage, Place, Seen, Stamp, iso
from chyme.models.embedding.minilm import EmbeddingSettings, load_minilm
from chyme.search.sqlite_index import SqliteSemanticIndex
from chyme.search.tables import embedders, vectors
from chyme.search.tables.embedders import Embedder
from chyme.search.tables.keyword_queries import all_of, has_kind
from chyme.search.vectors import nearest_neighbours
from chyme.search.vectors.binary_codes import pack_signs
from chyme.search.vectors.cache import VectorCache
from chyme.search.vectors.segment import Piece

Floats = NDArray[numpy.float32]

DIMENSION = 384
PER_FILE = 5
BATCH = 400  # files written in one go
WANTED = 100
DOCS = Path(__file__).resolve().parents[1] / "docs"
WORDS = 50  # of a passage: short ones, so that there are many
# Opens the cache in a process of its own and tells its private memory in bytes: before, with numpy, after questions.
ALONE = """
import os, pathlib, random, sys
from bench.processes import private_bytes
from chyme.search.vectors.cache import VectorCache
from chyme.search.tables import embedders
from chyme.core.store.sqlite.database import connect
folder = pathlib.Path(sys.argv[1])
db = connect(folder / "vault.db")
embedder = embedders.get_serving(db)
told = [private_bytes(os.getpid())]
import numpy
told.append(private_bytes(os.getpid()))
cache = VectorCache(folder / "vectors", lambda: db, at_once=None, tended=False)
for _ in range(50):
    vector = [random.gauss(0, 0.05) for _ in range(embedder.dimension)]
    cache.nearest(vector, embedder, 200)
told.append(private_bytes(os.getpid()))
print(*told)
"""


def measure(sizes: Sizes, folder: Path, tell: Tell) -> None:
    """Real vectors for what is found, made-up ones for what it costs: a tenth of the passages, then all of them."""
    _tell_recall(tell)
    for count in (sizes.passages // 10, sizes.passages):
        remark(f"{count} vectors of {DIMENSION} numbers:")
        here = folder / str(count)
        here.mkdir()
        _tell_costs(here, count, sizes.queries, tell)


def _tell_recall(tell: Tell) -> None:
    """Whether signs lose what is near, on Cranfield and our own documentation as the embedder reads them."""
    try:
        embedder = load_minilm(EmbeddingSettings())
    except EngineUnavailable as error:
        warn(f"{error}; skipped")
        return
    source = CORPUS / "retrieval" / "cranfield"
    texts = [page.read_text(encoding="utf-8") for page in sorted(DOCS.rglob("*.md"))]
    questions = ["how is a vault restored from a backup?", "which files are never read?"]
    if source.is_dir():
        texts += [row["text"] for row in _rows(source / "corpus.jsonl")]
        questions += [row["text"] for row in _rows(source / "queries.jsonl")]
    cut = [part for text in texts for part in _cut(text)]
    known = numpy.array(embedder.embed(cut), numpy.float32)
    asked = numpy.array(embedder.embed(questions), numpy.float32)
    numbers = numpy.arange(len(known))
    pieces = [Piece(numbers, numbers, pack_signs(known), known)]
    for wanted in (10, WANTED):
        kept = [
            len(
                {id_ for id_, _ in nearest_neighbours.nearest(pieces, one, wanted, few=0)}
                & set(_exact(known, one, wanted))
            )
            for one in asked
        ]
        how = f"{len(asked)} questions among {len(known)} real vectors, against multiplying all"
        share = sum(kept) / wanted / len(asked)
        tell(Figure(f"found of the nearest {wanted}", 100 * share, "%", how, at_least=98.5))


def _exact(known: Floats, asked: Floats, wanted: int) -> list[int]:
    best: list[int] = numpy.argsort(-(known @ asked), kind="stable")[:wanted].tolist()
    return best


def _cut(text: str) -> Iterator[str]:
    words = text.split()
    yield from (" ".join(words[first : first + WORDS]) for first in range(0, len(words), WORDS))


def _rows(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]


def _tell_costs(folder: Path, count: int, queries: int, tell: Tell) -> None:
    random = numpy.random.default_rng(count)
    database = Database(folder)
    cache = VectorCache(folder / "vectors", database.read, at_once=None)
    before = os.sched_getaffinity(0)
    try:
        embedder = database.write(lambda db: embedders.ensure(db, "made up", DIMENSION, iso(now())))
        for first in range(0, count, BATCH * PER_FILE):
            database.write(_filling(embedder, random, first // PER_FILE, min(BATCH, (count - first) // PER_FILE)))
        database.checkpoint()
        os.sched_setaffinity(0, {min(before)})
        began, spent = time.perf_counter(), time.process_time()
        cache.refresh(embedder)
        how = f"{time.perf_counter() - began:.1f} s on the clock, from the database to the first answer"
        tell(Figure("building the cache, CPU", time.process_time() - spent, "s", how))
        spent = time.process_time()
        cache.compact()
        tell(Figure("joining its files, CPU", time.process_time() - spent, "s", "in the background"))
        _tell_searches(
            folder / "vectors", database, cache, embedder, [_vectors(random, 1)[0] for _ in range(queries)], tell
        )
        _tell_writing(database, cache, embedder, random, count, tell)
        _tell_memory(folder, tell)
    finally:
        os.sched_setaffinity(0, before)
        cache.close()
        database.close()


def _tell_searches(
    folder: Path, database: Database, cache: VectorCache, embedder: Embedder, asked: list[Floats], tell: Tell
) -> None:
    again = VectorCache(folder, database.read, at_once=None, tended=False)
    spent = time.process_time()
    again.refresh(embedder)
    tell(Figure("opening the cache, CPU", 1000 * (time.process_time() - spent), "ms", "as the next process does"))
    meaning = SqliteSemanticIndex(database.read, cache)
    anything, rare = all_of(()), has_kind(0, Kind.IMAGE)
    cases: list[tuple[str, Callable[[list[float]], object], float | None]] = [
        ("nothing new", lambda _: cache.refresh(embedder), 0.1),
        (f"nearest {2 * WANTED}", lambda one: cache.nearest(one, embedder, 2 * WANTED), 5.0),
        ("… and asked of the database", lambda one: meaning.find_by_meaning(one, embedder, anything, WANTED), 10.0),
        ("… in one file of a hundred", lambda one: meaning.find_by_meaning(one, embedder, rare, WANTED), None),
    ]
    for what, work, at_most in cases:
        for one in asked:
            work(one.tolist())  # pages come into memory once, which is not ours to measure
        times = [_cpu(work, one.tolist()) for one in asked]
        how = f"median of {len(times)}, one core; p99 {percentile(times, 0.99):.2f} ms"
        large = cache.count(embedder) > 100_000
        tell(Figure(f"{what}, CPU", percentile(times, 0.5), "ms", how, at_most=None if large else at_most))


def _cpu(work: Callable[[list[float]], object], one: list[float]) -> float:
    start = time.thread_time()
    work(one)
    return 1000 * (time.thread_time() - start)


def _tell_writing(
    database: Database, cache: VectorCache, embedder: Embedder, random: numpy.random.Generator, count: int, tell: Tell
) -> None:
    """Questions while files are digested: each finds what was written before it was asked."""
    done = threading.Event()
    numbers = itertools.count(count // PER_FILE)
    written = 0

    def write() -> None:
        nonlocal written
        while not done.is_set():
            database.write(_filling(embedder, random, next(numbers), 1))
            written += 1

    writing = threading.Thread(target=write)
    writing.start()
    try:
        refreshing, searching = [], []
        for one in _vectors(numpy.random.default_rng(7), 200):
            time.sleep(0.01)
            refreshing.append(_cpu(lambda _: cache.refresh(embedder), []))
            searching.append(_cpu(lambda asked: cache.nearest(asked, embedder, 2 * WANTED), one.tolist()))
    finally:
        done.set()
        writing.join()
    how = f"{written * PER_FILE} vectors written meanwhile; p99 {{:.2f}} ms"
    for what, times in (("reading what is new", refreshing), ("nearest", searching)):
        tell(
            Figure(f"{what}, while one writes, CPU", percentile(times, 0.5), "ms", how.format(percentile(times, 0.99)))
        )


def _tell_memory(folder: Path, tell: Tell) -> None:
    told = subprocess.run(
        [sys.executable, "-c", ALONE, str(folder)], capture_output=True, text=True, check=True
    ).stdout.split()
    bare, with_numpy, searched = (int(size) / 2**20 for size in told)
    tell(Figure("private memory of numpy", with_numpy - bare, "MB", "imported"))
    tell(Figure("private memory of 50 questions", searched - with_numpy, "MB", "on top of that", at_most=25.0))


def _vectors(random: numpy.random.Generator, count: int) -> Floats:
    made = random.standard_normal((count, DIMENSION), numpy.float32)
    made /= numpy.linalg.norm(made, axis=1, keepdims=True)
    return made


def _filling(
    embedder: Embedder, random: numpy.random.Generator, first: int, count: int
) -> Callable[[Connection], None]:
    made = _vectors(random, count * PER_FILE).reshape(count, -1)
    moment = iso(now())
    passages = [Passage("file", number, "some words of a passage", Place(0, 23)) for number in range(PER_FILE)]

    def fill(db: Connection) -> None:
        for number, given in enumerate(made, first):
            kind = Kind.IMAGE if number % 100 == 0 else Kind.TEXT
            stamp = Stamp("1", str(number), 1, 1)
            seen = Seen(f"note-{number}.txt", False, kind, "text/plain", stamp, str(number))
            file_id = files.insert(db, seen, moment)
            vectors.replace(db, file_id, embedder.id, passages, given.tobytes(), DIMENSION, keep_others=False)

    return fill
