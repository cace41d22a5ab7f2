"""Requests for files that were busy when these were made."""

from __future__ import annotations

import json
from sqlite3 import Connection

from chyme.model import Wish


def add(db: Connection, file_id: int, wish: Wish, now: str) -> int:
    cursor = db.execute(
        "INSERT INTO requests (file_id, reset, digesters, created_at) VALUES (?, ?, ?, ?)",
        (file_id, int(wish.reset), None if wish.only is None else json.dumps(wish.only), now),
    )
    assert cursor.lastrowid is not None
    return cursor.lastrowid


def of_file(db: Connection, file_id: int) -> list[tuple[int, Wish]]:
    rows = db.execute("SELECT id, reset, digesters FROM requests WHERE file_id = ? ORDER BY id", (file_id,))
    return [
        (id_, Wish(bool(reset), None if digesters is None else tuple(json.loads(digesters))))
        for id_, reset, digesters in rows
    ]


def remove(db: Connection, request_id: int) -> None:
    db.execute("DELETE FROM requests WHERE id = ?", (request_id,))


def waiting_files(db: Connection, now: str, limit: int = 100) -> list[int]:
    """Files with a request that no lease holder will fulfil any more; vanished files keep theirs for later."""
    rows = db.execute(
        """
        SELECT DISTINCT file_id FROM requests JOIN files f ON f.id = requests.file_id AND f.vanished_at IS NULL
         WHERE NOT EXISTS (SELECT 1 FROM processing_locks l WHERE l.file_id = requests.file_id AND l.lease_until > ?)
         LIMIT ?
        """,
        (now, limit),
    )
    return [row[0] for row in rows]
