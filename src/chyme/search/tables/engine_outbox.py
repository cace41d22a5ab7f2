"""Files whose entries in the search servers are out of date. Triggers write this table; see the migration."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from sqlite3 import Connection
from typing import NamedTuple


class ChangedFile(NamedTuple):
    """A file whose entries must be written again or deleted, and the number of its last change."""

    file_id: int
    sequence: int  # grows with every change: a push that read an older state does not count


def activate(db: Connection) -> None:
    """Start to record changes, with every file still to be pushed."""
    db.execute("UPDATE outbox_state SET active = 1, sequence = sequence + 1")
    db.execute(
        """
        INSERT INTO outbox (file_id, sequence) SELECT id, (SELECT sequence FROM outbox_state) FROM files WHERE true
            ON CONFLICT (file_id) DO UPDATE SET sequence = excluded.sequence
        """
    )


def deactivate(db: Connection) -> None:
    """Stop to record changes, since there are no search servers any more."""
    db.execute("UPDATE outbox_state SET active = 0")
    db.execute("DELETE FROM outbox")
    db.execute("DELETE FROM kept_here")


def is_active(db: Connection) -> bool:
    row = db.execute("SELECT active FROM outbox_state").fetchone()
    return bool(row[0])


def list_changed(db: Connection, limit: int) -> list[ChangedFile]:
    """The files that changed longest ago."""
    rows = db.execute("SELECT file_id, sequence FROM outbox ORDER BY sequence, file_id LIMIT ?", (limit,))
    return [ChangedFile(*row) for row in rows]


def mark_done(db: Connection, rows: Sequence[ChangedFile], private: Collection[int] = ()) -> int:
    """Remove pushed files, except for those that changed since. Returns how many.

    `private`: those of them of which nothing was pushed, nor must be.
    """
    file_ids = ((row.file_id,) for row in rows)
    db.executemany("DELETE FROM kept_here WHERE file_id = ?", file_ids)
    db.executemany("INSERT INTO kept_here (file_id) VALUES (?)", ((file_id,) for file_id in private))
    return db.executemany("DELETE FROM outbox WHERE file_id = ? AND sequence = ?", rows).rowcount if rows else 0


def list_local_only(db: Connection) -> set[int]:
    """Private files, which are never pushed to engines on other machines."""
    return {file_id for (file_id,) in db.execute("SELECT file_id FROM kept_here")}


def put(db: Connection, file_ids: Collection[int]) -> None:
    """Have these files pushed again. Does nothing without search servers."""
    if not file_ids or not is_active(db):
        return
    db.execute("UPDATE outbox_state SET sequence = sequence + 1")
    db.execute(
        """
        INSERT INTO outbox (file_id, sequence)
        SELECT value, (SELECT sequence FROM outbox_state) FROM json_each(?) WHERE true
            ON CONFLICT (file_id) DO UPDATE SET sequence = excluded.sequence
        """,
        (json.dumps(list(file_ids)),),
    )


def count(db: Connection) -> int:
    """How many files have yet to be pushed."""
    row = db.execute("SELECT count(*) FROM outbox").fetchone()
    return int(row[0])


def count_behind(db: Connection) -> int:
    """The same, also while no changes are recorded: then every file has yet to be pushed."""
    if is_active(db):
        return count(db)
    row = db.execute("SELECT count(*) FROM files").fetchone()
    return int(row[0])
