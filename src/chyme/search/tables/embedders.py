"""Whose vectors there are, and whose questions are held against."""

from __future__ import annotations

import json
from collections.abc import Collection
from sqlite3 import Connection
from typing import NamedTuple


class Embedder(NamedTuple):
    """A model that told what passages mean. Vectors of different embedders are never compared."""

    id: int
    model: str
    dimension: int
    serves: bool  # questions are held against its vectors


_COLUMNS = "id, model, dimension, serves"


def _embedder(row: tuple[int, str, int, int]) -> Embedder:
    id_, model, dimension, serves = row
    return Embedder(id_, model, dimension, bool(serves))


def ensure(db: Connection, model: str, dimension: int, now: str) -> Embedder:
    """The embedder of this name, made known if it is new. It serves if nobody does yet."""
    embedder = by_model(db, model)
    if embedder is None:
        row = db.execute(
            f"""
            INSERT INTO embedders (model, dimension, serves, created_at)
            VALUES (?, ?, NOT EXISTS (SELECT 1 FROM embedders WHERE serves = 1), ?)
            RETURNING {_COLUMNS}
            """,
            (model, dimension, now),
        ).fetchone()
        return _embedder(row)
    if embedder.dimension != dimension:
        raise ValueError(
            f"{model} gave vectors of {embedder.dimension} numbers before and gives {dimension} now; "
            "whatever changes its vectors must change its name"
        )
    return embedder


def get_serving(db: Connection) -> Embedder | None:
    """Whose vectors questions are held against; None before anything was embedded."""
    row = db.execute(f"SELECT {_COLUMNS} FROM embedders WHERE serves = 1").fetchone()
    return _embedder(row) if row else None


def list_all(db: Connection) -> list[Embedder]:
    """Every embedder with vectors in the vault, oldest first."""
    return [_embedder(row) for row in db.execute(f"SELECT {_COLUMNS} FROM embedders ORDER BY id")]


def by_model(db: Connection, model: str) -> Embedder | None:
    row = db.execute(f"SELECT {_COLUMNS} FROM embedders WHERE model = ?", (model,)).fetchone()
    return _embedder(row) if row else None


def switch(db: Connection, embedder_id: int) -> None:
    """Hold questions against this embedder's vectors from now on, and against nobody else's."""
    if db.execute("SELECT 1 FROM embedders WHERE id = ?", (embedder_id,)).fetchone() is None:
        raise ValueError(f"there is no embedder {embedder_id} to switch to")
    # In two steps: rows are checked one by one, and at no moment may two of them serve.
    db.execute("UPDATE embedders SET serves = 0 WHERE serves = 1 AND id <> ?", (embedder_id,))
    db.execute("UPDATE embedders SET serves = 1 WHERE id = ?", (embedder_id,))


def sweep(db: Connection, keep: Collection[int], rows: int = 500) -> bool:
    """One bounded step of forgetting all embedders but these and the one that serves; False when nothing is left."""
    unwanted = "serves = 0 AND id NOT IN (SELECT value FROM json_each(:keep))"
    values = {"keep": json.dumps(list(keep)), "rows": rows}
    removed = db.execute(
        f"""
        DELETE FROM semantic_passages WHERE id IN (
            SELECT semantic_passages.id
              FROM (SELECT id FROM embedders WHERE {unwanted}) AS unwanted
             CROSS JOIN semantic_passages ON semantic_passages.embedder_id = unwanted.id
             LIMIT :rows)
        """,
        values,
    ).rowcount
    if removed == rows:
        return True
    db.execute(f"DELETE FROM embedders WHERE {unwanted}", values)
    return False


def find_files_lacking(db: Connection, model: str, limit: int, hidden: bool = False) -> list[int]:
    """Files that were last read for another model than this one, while nothing of that is due.

    What the digest says counts, not whether there are passages: of many a file one model has none and another has.
    Whoever has them read again meets none of them twice, and passes none of them on the way to the next. `hidden`: also
    files that vanished, and may come back.
    """
    rows = db.execute(
        """
        SELECT files.id
          FROM digests INDEXED BY digests_by_status
         CROSS JOIN files ON files.id = digests.file_id
         WHERE digests.status = 'completed' AND digests.digester = 'search-semantic'
           AND (files.vanished_at IS NULL OR :hidden)
           AND digests.embedder IS NOT :model
         LIMIT :limit
        """,
        {"model": model, "limit": limit, "hidden": hidden},
    )
    return [file_id for (file_id,) in rows]
