"""Files with passages and vectors, written straight into the tables."""

from __future__ import annotations

import struct
from sqlite3 import Connection

from chyme.core.store import digest_counts
from chyme.model import Passage, Place
from chyme.search.tables import embedders, vectors
from chyme.search.tables.embedders import Embedder

NOW = "2026-03-04T12:00:00.000000Z"


def add_file(db: Connection, path: str, kind: str = "text", mtime: int = 0) -> int:
    folder, _, name = path.rpartition("/")
    row = db.execute(
        """
        INSERT INTO files (path, folder, name, kind, mime, size, mtime_ns, dev, inode, hash, created_at, updated_at)
        VALUES (?, ?, ?, ?, 'text/plain', 1, ?, '1', '1', 'hash', 'now', 'now') RETURNING id
        """,
        (path, folder, name, kind, mtime * 1_000_000_000),
    ).fetchone()
    return int(row[0])


def add_document(
    db: Connection, file_id: int, tags: str = "[]", date: str | None = None, state: str = "completed"
) -> None:
    db.execute(
        "INSERT INTO documents (file_id, tags, date, state, moved_at) VALUES (?, ?, ?, ?, 'now')",
        (file_id, tags, date, state),
    )


def add_digest(
    db: Connection,
    file_id: int,
    status: str = "completed",
    digester: str = "search-semantic",
    content: str | None = None,
    embedder: str | None = None,
) -> None:
    db.execute(
        """
        INSERT INTO digests (id, file_id, file_path, digester, status, settled, content, embedder, created_at,
                             updated_at)
        SELECT id || :digester, id, path, :digester, :status, :status = 'completed', :content, :embedder, 'now', 'now'
          FROM files WHERE id = :file
        """,
        {"file": file_id, "digester": digester, "status": status, "content": content, "embedder": embedder},
    )
    digest_counts.correct(db)


def floats(*numbers: float) -> bytes:
    return struct.pack(f"<{len(numbers)}f", *numbers)


def passage(text: str, ordinal: int = 0) -> Passage:
    return Passage("file", ordinal, text, Place(0, len(text)))


def embedder(db: Connection, model: str = "small", dimension: int = 2) -> Embedder:
    return embedders.ensure(db, model, dimension, NOW)


def embed(db: Connection, file_id: int, by: Embedder, *texts: str, keep_others: bool = True) -> list[int]:
    """Give the file a passage of each text, with some vector, and return their ids."""
    cut = [passage(text, ordinal) for ordinal, text in enumerate(texts)]
    made = b"".join(floats(len(text), *[0.0] * (by.dimension - 1)) for text in texts)
    vectors.replace(db, file_id, by.id, cut, made, by.dimension, keep_others)
    return [id_ for id_, _, _ in vectors.of_file(db, file_id, by.id)]


def plan_of(db: Connection, executed: list[str]) -> list[str]:
    """How SQLite finds the rows of these statements."""
    return [row[3] for statement in executed for row in db.execute(f"EXPLAIN QUERY PLAN {statement}")]
