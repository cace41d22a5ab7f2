"""Which ids of vectors were ever assigned, and which still exist."""

from __future__ import annotations

from sqlite3 import Connection


def last_assigned(db: Connection) -> int:
    """The highest id any passage ever had. It decreases only if an older state of the database was restored."""
    row = db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'semantic_passages'").fetchone()
    return int(row[0]) if row else 0


def list_existing(db: Connection, embedder_id: int, low: int, high: int) -> list[int]:
    """The embedder's passages with an id above `low`, up to and including `high`, in order."""
    rows = db.execute(
        """
        SELECT id FROM semantic_passages INDEXED BY semantic_passages_of_embedder
         WHERE embedder_id = ? AND id > ? AND id <= ? ORDER BY id
        """,
        (embedder_id, low, high),
    )
    return [id_ for (id_,) in rows]
