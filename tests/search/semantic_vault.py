"""A shelf whose files are found by meaning too. The vectors are invented: words point to a few directions."""

from __future__ import annotations

import math
import sqlite3
import struct
from collections.abc import Callable, Iterable, Sequence

from keyword_vault import Shelf, digest
from upstreams import form_of

from chyme.model import Kind, Upstream
from chyme.models.embedding.minilm import MiniLm
from chyme.search.query.spelling import tokens_of
from chyme.search.query_embedding.query_vectors import QueryVector
from chyme.search.ranking.keyword_ranking import Match
from chyme.search.results import SearchResult
from chyme.search.search import Mode, Search
from chyme.search.sqlite_index import SqliteIndex
from chyme.search.tables import embedders, vectors
from chyme.search.tables.embedders import Embedder
from chyme.search.tables.keyword_queries import Condition

MODEL = "all-minilm-l6-v2 made up"
DIRECTIONS = (
    {"car", "automobile", "tyres", "engine", "garage", "vehicle"},
    {"teeth", "dentist", "crown", "tooth"},
    {"soup", "lentils", "cook", "recipe", "onions", "supper"},
    {"whale", "whales", "ocean", "sea"},
)
_FIRST_OWN_DIRECTION = len(DIRECTIONS)  # the first of the other directions, of which each text has its own
DIMENSION = _FIRST_OWN_DIRECTION + 64


def meaning(text: str, own: int | None = None) -> tuple[float, ...]:
    """Return the vector of a text: near if up to half of its words are others, near to nothing without known words."""
    numbers = [0.0] * DIMENSION
    words = [token[0].lower() for token in tokens_of(text)]
    for at, direction in enumerate(DIRECTIONS):
        numbers[at] = float(sum(word in direction for word in words))
    if own is not None:
        numbers[_FIRST_OWN_DIRECTION + own % 64] = 1.0
    length = math.sqrt(sum(number * number for number in numbers))
    return tuple(number / length for number in numbers) if length else (*[0.0] * (DIMENSION - 1), 1.0)


class Knows:
    """Embeds questions, unless `gone` gives a reason not to."""

    def __init__(self, tell: Callable[[str], tuple[float, ...]]) -> None:
        self.gone: str | None = None
        self.asked: list[str] = []
        self._tell = tell

    def embed(self, text: str, model: str) -> QueryVector:
        self.asked.append(text)
        return QueryVector(None, self.gone) if self.gone is not None else QueryVector(self._tell(text))


class EveryVector:
    """Compares the question with every stored vector."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self.note: str | None = None
        self.against: tuple[int, float] | None = None  # a file, and how much its score is lowered and others are raised

    def find_by_meaning(self, vector: Sequence[float], embedder: Embedder, where: Condition, count: int) -> list[Match]:
        rows = {id_: blob for id_, _, blob in vectors.list_after(self._db, embedder.id, 0, 100_000)}
        found = [
            Match(id_, file_id, self._cosine(vector, rows[id_], file_id))
            for id_, file_id in vectors.visible(self._db, list(rows), where).items()
        ]
        return sorted(found, key=lambda match: (-match.score, match.passage_id))[:count]

    def _cosine(self, vector: Sequence[float], blob: bytes, file_id: int) -> float:
        cosine = sum(a * b for a, b in zip(vector, _numbers(blob), strict=True))
        if self.against is None:
            return cosine
        disfavoured, shift = self.against
        return cosine - shift if file_id == disfavoured else cosine + shift

    def meaning_note(self, embedder: Embedder) -> str | None:
        return self.note


def _numbers(blob: bytes) -> tuple[float, ...]:
    return struct.unpack(f"<{len(blob) // 4}f", blob)


class MeaningShelf(Shelf):
    """`put_meant` adds a file with vectors, `put` one without."""

    def __init__(self, db: sqlite3.Connection, real: MiniLm | None = None) -> None:
        super().__init__(db)
        self._real = real
        self.knows = Knows(self._meaning)
        model, dimension = (real.model, real.dimension) if real else (MODEL, DIMENSION)
        self.embedder = embedders.ensure(db, model, dimension, "now")
        self.vectors = EveryVector(db)
        self.index = Search(lambda: db, SqliteIndex(lambda: db, self.vectors), self.knows, form_of=form_of)

    def put_meant(
        self,
        path: str,
        text: str = "",
        *,
        kind: Kind = Kind.TEXT,
        outputs: Iterable[Upstream] = (),
        tags: Iterable[str] = (),
        date: str | None = None,
        hash_: str | None = None,
    ) -> int:
        all_outputs = list(outputs)
        id_ = self.put(path, text, kind=kind, outputs=all_outputs, tags=tags, date=date, hash_=hash_ or path)
        self.embed(id_, path, text, kind, all_outputs)
        return id_

    def embed(self, id_: int, path: str, text: str, kind: Kind = Kind.TEXT, outputs: Iterable[Upstream] = ()) -> None:
        found = digest(path, text, kind, outputs).passages
        numbers = [self._meaning(passage.text, id_) for passage in found]
        blob = b"".join(struct.pack(f"<{len(vector)}f", *vector) for vector in numbers)
        vectors.replace(self.db, id_, self.embedder.id, found, blob, self.embedder.dimension, False)

    def _meaning(self, text: str, own: int | None = None) -> tuple[float, ...]:
        return self._real.embed([text])[0] if self._real else meaning(text, own)

    def hybrid(
        self,
        question: str,
        *,
        mode: Mode = "both",
        limit: int = 20,
        offset: int = 0,
        facets: bool = False,
        keep_conditions: bool = False,
    ) -> SearchResult:
        return self.index.search(
            question, mode=mode, limit=limit, offset=offset, facets=facets, keep_conditions=keep_conditions
        )

    def paths(self, question: str, *, mode: Mode = "both") -> list[str]:
        return [hit.path for hit in self.hybrid(question, mode=mode).hits]
