"""Requests to make digests of a file again, until the next worker that has the file carries them out."""

from __future__ import annotations

import json
from sqlite3 import Connection

from chyme.model import Again, Mode


def add(db: Connection, file_id: int, again: Again, now: str) -> int:
    cursor = db.execute(
        "INSERT INTO requests (file_id, reset, digesters, created_at) VALUES (?, ?, ?, ?)",
        (file_id, int(again.mode is Mode.RESET), None if again.only is None else json.dumps(again.only), now),
    )
    assert cursor.lastrowid is not None
    return cursor.lastrowid


def of_file(db: Connection, file_id: int) -> list[tuple[int, Again]]:
    rows = db.execute("SELECT id, reset, digesters FROM requests WHERE file_id = ? ORDER BY id", (file_id,))
    return [
        (id_, Again(Mode.RESET if reset else Mode.RETRY, None if digesters is None else tuple(json.loads(digesters))))
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
