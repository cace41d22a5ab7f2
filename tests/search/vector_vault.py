"""A database of vectors for tests: files with one or more passages, and a plain search for the nearest."""

from __future__ import annotations

import random
import struct
from collections.abc import Sequence
from pathlib import Path
from sqlite3 import Connection

from keyword_vault import open_database

from chyme.core.store import vault_properties
from chyme.model import Passage, Place
from chyme.search.ranking.keyword_ranking import Match
from chyme.search.sqlite_index import SqliteSemanticIndex
from chyme.search.tables import embedders, vectors
from chyme.search.tables.embedders import Embedder
from chyme.search.tables.keyword_queries import Condition, all_of
from chyme.search.vectors.cache import VectorCache
from chyme.search.vectors.embedder_vectors import SizeLimits

Vector = tuple[float, ...]

SMALL = SizeLimits(tail=8, chunk=16, fan=2, max_file=64)
EVERYTHING = all_of(())


class VectorVault:
    """One database with vectors, and caches opened beside it."""

    def __init__(self, folder: Path, identity: str = "one") -> None:
        self.folder = folder
        self.path = folder / "vault.db"
        self.db = open_database(self.path)
        self.db.execute("PRAGMA journal_mode = WAL")
        vault_properties.put(self.db, "identity", identity)
        self.random = random.Random(identity)
        self._files = 0

    def embedder(self, model: str = "tiny", dimension: int = 70) -> Embedder:
        return embedders.ensure(self.db, model, dimension, "now")

    def read(self) -> Connection:
        return self.db

    def cache(self, amounts: SizeLimits = SMALL, at_once: int | None = None, tended: bool = False) -> VectorCache:
        return VectorCache(self.folder / "vectors", self.read, amounts=amounts, at_once=at_once, tended=tended)

    def meaning(self, cache: VectorCache) -> SqliteSemanticIndex:
        return SqliteSemanticIndex(self.read, cache)

    def vector(self, dimension: int = 70) -> Vector:
        numbers = [self.random.gauss(0, 1) for _ in range(dimension)]
        length = sum(number * number for number in numbers) ** 0.5
        return tuple(number / length for number in numbers)

    def put(self, embedder: Embedder, given: Sequence[Vector], kind: str = "text", file_id: int | None = None) -> int:
        """Add a file with these vectors, or replace those of a known file."""
        if file_id is None:
            self._files += 1
            row = self.db.execute(
                """
                INSERT INTO files (path, folder, name, kind, mime, size, mtime_ns, dev, inode, hash, created_at,
                                   updated_at)
                VALUES (?, '', ?, ?, 'text/plain', 1, 1, '1', '1', 'hash', 'now', 'now') RETURNING id
                """,
                (f"{self._files}.txt", f"{self._files}.txt", kind),
            ).fetchone()
            file_id = int(row[0])
        cut = [Passage("file", number, "words", Place(0, 5)) for number in range(len(given))]
        data = b"".join(struct.pack(f"<{embedder.dimension}f", *vector) for vector in given)
        vectors.replace(self.db, file_id, embedder.id, cut, data, embedder.dimension, True)
        return file_id

    def fill(self, embedder: Embedder, count: int, kind: str = "text") -> list[int]:
        """Add this number of files with one vector each."""
        self.db.execute("BEGIN")
        file_ids = [self.put(embedder, [self.vector(embedder.dimension)], kind) for _ in range(count)]
        self.db.execute("COMMIT")
        return file_ids

    def remove(self, file_id: int) -> None:
        self.db.execute("DELETE FROM files WHERE id = ?", (file_id,))

    def by_hand(
        self, vector: Vector, embedder: Embedder, count: int, where: Condition = EVERYTHING
    ) -> list[tuple[int, float]]:
        """Return the correct result: compares every vector of a file that meets the condition."""
        rows = self.db.execute(
            f"""
            SELECT semantic_passages.id, vector
              FROM vectors JOIN semantic_passages USING (id) JOIN files ON files.id = semantic_passages.file_id
              JOIN shelf ON shelf.file_id = files.id
             WHERE embedder_id = :embedder AND vanished_at IS NULL AND {where.sql}
            """,
            {**where.values, "embedder": embedder.id},
        )
        scored = [
            (sum(a * b for a, b in zip(vector, struct.unpack(f"<{embedder.dimension}f", data), strict=True)), id_)
            for id_, data in rows
        ]
        return [(id_, score) for score, id_ in sorted(scored, key=lambda pair: (-pair[0], pair[1]))[:count]]


def ids(found: Sequence[tuple[int, float]] | Sequence[Match]) -> list[int]:
    return [match.passage_id if isinstance(match, Match) else match[0] for match in found]
