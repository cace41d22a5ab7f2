"""Links that show files to people without an account. Only the hashes of their secrets are stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from sqlite3 import Connection
from typing import Any

from chyme.core.user_reference import UserReference


@dataclass(frozen=True, slots=True)
class ShareRow:
    """One link as the table stores it."""

    id: int
    hash: str
    label: str
    user: UserReference | None
    private: bool
    created_at: str
    expires_at: str
    ended_at: str | None
    ended_by: str | None
    opens: int
    last_opened_at: str | None


_FIELDS = (
    "id, hash, label, user_id, user_name, private, created_at, expires_at, ended_at, ended_by, opens, last_opened_at"
)


def _from_row(row: Sequence[Any]) -> ShareRow:
    id_, hash_, label, user_id, user_name, private, *rest = row
    user = UserReference(user_id, user_name) if user_id is not None else None
    return ShareRow(id_, hash_, label, user, bool(private), *rest)


def add(
    db: Connection,
    hash_: str,
    label: str,
    user: UserReference | None,
    private: bool,
    now: str,
    expires_at: str,
    file_ids: Sequence[int],
) -> ShareRow:
    """Add a link to these files, in this order."""
    row = db.execute(
        f"""
        INSERT INTO shares (hash, label, user_id, user_name, private, created_at, expires_at)
             VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING {_FIELDS}
        """,
        (hash_, label, user.id if user else None, user.name if user else None, int(private), now, expires_at),
    ).fetchone()
    db.executemany(
        "INSERT INTO share_files (share_id, position, file_id) VALUES (?, ?, ?)",
        [(row[0], position, file_id) for position, file_id in enumerate(file_ids, 1)],
    )
    return _from_row(row)


def by_hash(db: Connection, hash_: str) -> ShareRow | None:
    row = db.execute(f"SELECT {_FIELDS} FROM shares WHERE hash = ?", (hash_,)).fetchone()
    return _from_row(row) if row else None


def by_id(db: Connection, share_id: int) -> ShareRow | None:
    row = db.execute(f"SELECT {_FIELDS} FROM shares WHERE id = ?", (share_id,)).fetchone()
    return _from_row(row) if row else None


def list_shares(db: Connection) -> list[ShareRow]:
    """All links, the newest first."""
    return [_from_row(row) for row in db.execute(f"SELECT {_FIELDS} FROM shares ORDER BY id DESC")]


def count_open(db: Connection, now: str) -> int:
    """How many links can be opened."""
    row = db.execute("SELECT count(*) FROM shares WHERE ended_at IS NULL AND expires_at > ?", (now,)).fetchone()
    return int(row[0])


def file_ids(db: Connection, share_id: int) -> list[int | None]:
    """The files of a link, in order; None for one that was purged."""
    rows = db.execute("SELECT file_id FROM share_files WHERE share_id = ? ORDER BY position", (share_id,))
    return [file_id for (file_id,) in rows]


def mark_opened(db: Connection, share_id: int, now: str) -> None:
    db.execute("UPDATE shares SET opens = opens + 1, last_opened_at = ? WHERE id = ?", (now, share_id))


def end(db: Connection, share_id: int, now: str) -> bool:
    """End a link. False if it had been ended before."""
    changed = db.execute(
        "UPDATE shares SET ended_at = ?, ended_by = 'person' WHERE id = ? AND ended_at IS NULL", (now, share_id)
    ).rowcount
    return changed == 1


def forget_ended(db: Connection, before: str) -> None:
    """Delete links that ended or expired before this time."""
    db.execute("DELETE FROM shares WHERE coalesce(min(ended_at, expires_at), expires_at) < ?", (before,))
