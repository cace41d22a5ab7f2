"""A vault for the tests of every search engine: a real database, files made of plain words and given vectors."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Sequence
from itertools import accumulate
from pathlib import Path
from sqlite3 import Connection

from chyme.core.store.sqlite.database import Database
from chyme.model import Kind, Passage, Place
from chyme.search.index import Index, KeywordMatches
from chyme.search.query.conditions import conditions_of
from chyme.search.query.parser import parse
from chyme.search.query.spelling import words_of
from chyme.search.searchable_texts import name_terms
from chyme.search.tables import embedders, passages, vectors
from chyme.search.tables.embedders import Embedder
from chyme.search.tables.keyword_queries import Condition
from chyme.text.unspaced_scripts import segment

Vector = tuple[float, ...]


class ContractVault:
    """Writes what the coordinator would write, and searches as the front end does."""

    def __init__(self, folder: Path) -> None:
        self.database = Database(folder)

    def put(
        self,
        path: str,
        *texts: str,
        kind: Kind = Kind.TEXT,
        title: str | None = None,
        tags: Iterable[str] = (),
        date: str | None = None,
    ) -> int:
        """Add a file with these passages, or replace those of a known file."""
        folder, _, name = path.rpartition("/")
        terms = name_terms(name, title, list(tags), None)

        def write(db: Connection) -> int:
            (file_id,) = db.execute(
                """
                INSERT INTO files (path, folder, name, kind, mime, size, mtime_ns, dev, inode, hash, created_at,
                                   updated_at)
                VALUES (?, ?, ?, ?, 'text/plain', 1, 1700000000000000000, '1', '1', 'hash', 'now', 'now')
                    ON CONFLICT (path) DO UPDATE SET updated_at = 'later' RETURNING id
                """,
                (path, folder, name, kind),
            ).fetchone()
            db.execute(
                """
                INSERT INTO documents (file_id, title, date, tags, state, moved_at)
                VALUES (?, ?, ?, ?, 'completed', 'now') ON CONFLICT (file_id) DO NOTHING
                """,
                (file_id, title, date, json.dumps(list(tags))),
            )
            passages.write_names(db, file_id, terms)
            passages.replace(db, file_id, "search-keyword", _cut(texts), words_of(texts))
            return int(file_id)

        return self.database.write(write)

    def embedder(self, model: str, dimension: int) -> Embedder:
        return self.database.write(lambda db: embedders.ensure(db, model, dimension, "now"))

    def embed(self, file_id: int, embedder: Embedder, given: Sequence[Vector], keep_others: bool = True) -> None:
        packed = b"".join(struct.pack(f"<{embedder.dimension}f", *vector) for vector in given)
        cut = _cut([f"passage {number}" for number in range(len(given))])
        self.database.write(
            lambda db: vectors.replace(db, file_id, embedder.id, cut, packed, embedder.dimension, keep_others)
        )

    def vanish(self, file_id: int) -> None:
        self.database.write(lambda db: db.execute("UPDATE files SET vanished_at = 'now' WHERE id = ?", (file_id,)))

    def purge(self, file_id: int) -> None:
        self.database.write(lambda db: db.execute("DELETE FROM files WHERE id = ?", (file_id,)))

    def ask(self, index: Index, question: str, *, typing: bool = False, last: int = 20) -> KeywordMatches:
        query = parse(question, typing=typing)
        return index.find_by_words(query, conditions_of(self.database.read(), query)[0], last)

    def found(self, index: Index, question: str, *, typing: bool = False, last: int = 20) -> list[str]:
        return [self.path(file.file_id) for file in self.ask(index, question, typing=typing, last=last).files]

    def path(self, file_id: int) -> str:
        (path,) = self.database.read().execute("SELECT path FROM files WHERE id = ?", (file_id,)).fetchone()
        return str(path)

    def condition(self, question: str = "") -> Condition:
        return conditions_of(self.database.read(), parse(question))[0]

    def near(
        self, index: Index, vector: Vector, embedder: Embedder, question: str = "", count: int = 10
    ) -> list[tuple[str, int]]:
        """Paths and ordinals of the passages nearest to the vector, in files that meet the question's filters."""
        db = self.database.read()
        found = index.find_by_meaning(vector, embedder, self.condition(question), count)
        known = vectors.by_id(db, [match.passage_id for match in found])
        return [(self.path(match.file_id), known[match.passage_id][1].ordinal) for match in found]


def _cut(texts: Sequence[str]) -> list[Passage]:
    """Return passages that follow each other in their file."""
    begin = list(accumulate(map(len, texts), initial=0))
    return [Passage("file", at, text, Place(begin[at], begin[at + 1]), segment(text)) for at, text in enumerate(texts)]
