"""The embedders whose vectors are stored, and which of them is in use."""

from __future__ import annotations

import json
from collections.abc import Collection
from sqlite3 import Connection
from typing import Literal, NamedTuple

Reads = Literal["texts", "pictures"]  # what an embedder makes vectors of


class Embedder(NamedTuple):
    """A model that makes vectors of passages. Vectors of different embedders are never compared."""

    id: int
    model: str
    dimension: int
    serves: bool  # questions are compared with its vectors


_COLUMNS = "id, model, dimension, serves"


def _from_row(row: tuple[int, str, int, int]) -> Embedder:
    id_, model, dimension, serves = row
    return Embedder(id_, model, dimension, bool(serves))


def ensure(db: Connection, model: str, dimension: int, now: str, reads: Reads = "texts") -> Embedder:
    """The embedder of this model, created if it is new. One for texts becomes the one in use if there is none yet."""
    embedder = by_model(db, model)
    if embedder is None:
        row = db.execute(
            f"""
            INSERT INTO embedders (model, dimension, serves, created_at, reads)
            VALUES (:model, :dimension, :reads = 'texts' AND NOT EXISTS (SELECT 1 FROM embedders WHERE serves = 1),
                    :now, :reads)
            RETURNING {_COLUMNS}
            """,
            {"model": model, "dimension": dimension, "now": now, "reads": reads},
        ).fetchone()
        return _from_row(row)
    if embedder.dimension != dimension:
        raise ValueError(
            f"{model} gave vectors of {embedder.dimension} numbers before and gives {dimension} now; "
            "whatever changes its vectors must change its name"
        )
    return embedder


def get_serving(db: Connection) -> Embedder | None:
    """The embedder whose vectors questions are compared with; None before anything was embedded."""
    row = db.execute(f"SELECT {_COLUMNS} FROM embedders WHERE serves = 1").fetchone()
    return _from_row(row) if row else None


def list_all(db: Connection) -> list[Embedder]:
    """Every embedder with vectors in the vault, oldest first."""
    return [_from_row(row) for row in db.execute(f"SELECT {_COLUMNS} FROM embedders ORDER BY id")]


def list_of_texts(db: Connection) -> list[Embedder]:
    """Every embedder of texts with vectors in the vault, oldest first."""
    return [_from_row(row) for row in db.execute(f"SELECT {_COLUMNS} FROM embedders WHERE reads = 'texts' ORDER BY id")]


def by_model(db: Connection, model: str) -> Embedder | None:
    row = db.execute(f"SELECT {_COLUMNS} FROM embedders WHERE model = ?", (model,)).fetchone()
    return _from_row(row) if row else None


def switch(db: Connection, embedder_id: int) -> None:
    """Compare questions with this embedder's vectors from now on, and with no others."""
    if db.execute("SELECT 1 FROM embedders WHERE id = ?", (embedder_id,)).fetchone() is None:
        raise ValueError(f"there is no embedder {embedder_id} to switch to")
    # In two steps: rows are checked one by one, and two of them must never serve at the same time.
    db.execute("UPDATE embedders SET serves = 0 WHERE serves = 1 AND id <> ?", (embedder_id,))
    db.execute("UPDATE embedders SET serves = 1 WHERE id = ?", (embedder_id,))


def sweep(db: Connection, keep: Collection[int], rows: int = 500) -> bool:
    """One bounded step of deleting all embedders of texts but these and the one in use; False when nothing is left."""
    unwanted = "serves = 0 AND reads = 'texts' AND id NOT IN (SELECT value FROM json_each(:keep))"
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
    """Files whose completed digest is of another model than this one.

    The digest decides, not whether there are passages: for many files one model has none and another has some. A caller
    that requeues the returned files gets each file only once. `hidden`: also files that vanished, and may come back.
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
