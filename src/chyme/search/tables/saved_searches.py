"""Saved searches, and the arrivals by which what is new to them is found."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from sqlite3 import Connection
from typing import Any

from chyme.core.user_reference import UserReference
from chyme.search.tables.keyword_queries import Condition


@dataclass(frozen=True, slots=True)
class SavedSearchRow:
    """One saved search as the table stores it."""

    id: int
    user: UserReference | None
    name: str
    query: str
    mode: str
    created_at: str
    seen_number: int
    seen_at: str
    feed_hash: str | None
    feed_made_at: str | None
    feed_read_at: str | None


@dataclass(frozen=True, slots=True)
class Arrival:
    """A file whose content was digested for the first time."""

    number: int
    file_id: int
    at: str


_FIELDS = (
    "id, user_id, user_name, name, query, mode, created_at, seen_number, seen_at, feed_hash, feed_made_at, feed_read_at"
)
_OWNED = "user_id IS :user_id AND user_name IS :user_name"


def _from_row(row: Sequence[Any]) -> SavedSearchRow:
    id_, user_id, user_name, *rest = row
    return SavedSearchRow(id_, UserReference(user_id, user_name) if user_id is not None else None, *rest)


def _owner(user: UserReference | None) -> dict[str, Any]:
    return {"user_id": user.id if user else None, "user_name": user.name if user else None}


def add(
    db: Connection, user: UserReference | None, name: str, folded: str, query: str, mode: str, now: str
) -> SavedSearchRow:
    """Save a search. What has arrived so far counts as seen."""
    row = db.execute(
        f"""
        INSERT INTO saved_searches (user_id, user_name, name, folded, query, mode, created_at, seen_number, seen_at)
             VALUES (:user_id, :user_name, :name, :folded, :query, :mode, :now, :seen, :now) RETURNING {_FIELDS}
        """,
        _owner(user)
        | {"name": name, "folded": folded, "query": query, "mode": mode, "now": now, "seen": newest_arrival(db)},
    ).fetchone()
    return _from_row(row)


def list_saved(db: Connection, user: UserReference | None) -> list[SavedSearchRow]:
    """The searches of this user, by name."""
    rows = db.execute(f"SELECT {_FIELDS} FROM saved_searches WHERE {_OWNED} ORDER BY folded", _owner(user))
    return [_from_row(row) for row in rows]


def by_id(db: Connection, search_id: int, user: UserReference | None) -> SavedSearchRow | None:
    """The search with this number, if it is this user's."""
    row = db.execute(
        f"SELECT {_FIELDS} FROM saved_searches WHERE id = :id AND {_OWNED}", {"id": search_id} | _owner(user)
    ).fetchone()
    return _from_row(row) if row else None


def by_name(db: Connection, folded: str, user: UserReference | None) -> SavedSearchRow | None:
    row = db.execute(
        f"SELECT {_FIELDS} FROM saved_searches WHERE folded = :folded AND {_OWNED}", {"folded": folded} | _owner(user)
    ).fetchone()
    return _from_row(row) if row else None


def by_feed(db: Connection, hash_: str) -> SavedSearchRow | None:
    """The search whose feed has this secret."""
    row = db.execute(f"SELECT {_FIELDS} FROM saved_searches WHERE feed_hash = ?", (hash_,)).fetchone()
    return _from_row(row) if row else None


def rename(db: Connection, search_id: int, name: str, folded: str) -> None:
    db.execute("UPDATE saved_searches SET name = ?, folded = ? WHERE id = ?", (name, folded, search_id))


def remove(db: Connection, search_id: int) -> None:
    db.execute("DELETE FROM saved_searches WHERE id = ?", (search_id,))


def mark_seen(db: Connection, search_id: int, number: int, now: str) -> None:
    """Everything up to this arrival has been seen; never less than before."""
    db.execute(
        "UPDATE saved_searches SET seen_number = max(seen_number, ?), seen_at = ? WHERE id = ?",
        (number, now, search_id),
    )


def set_feed(db: Connection, search_id: int, hash_: str | None, now: str | None) -> None:
    """Give the feed another secret, or none."""
    db.execute(
        "UPDATE saved_searches SET feed_hash = ?, feed_made_at = ?, feed_read_at = NULL WHERE id = ?",
        (hash_, now, search_id),
    )


def mark_feed_read(db: Connection, search_id: int, now: str) -> None:
    db.execute("UPDATE saved_searches SET feed_read_at = ? WHERE id = ?", (now, search_id))


def newest_arrival(db: Connection) -> int:
    """The number of the last arrival; 0 if there is none."""
    row = db.execute("SELECT max(number) FROM arrivals").fetchone()
    return int(row[0] or 0)


def arrived_after(number: int) -> Condition:
    """Arrived after this arrival."""
    return Condition(
        "shelf.file_id IN (SELECT file_id FROM arrivals WHERE number > :arrived)",
        {"arrived": number},
    )


def latest(db: Connection, file_ids: Collection[int], limit: int, after: int = 0) -> list[Arrival]:
    """The last arrivals of these files, the newest first; only those after the number `after`."""
    rows = db.execute(
        """
        SELECT a.number, a.file_id, a.at FROM json_each(:ids) AS some CROSS JOIN arrivals a ON a.file_id = some.value
         WHERE a.number > :after ORDER BY a.number DESC LIMIT :limit
        """,
        {"ids": json.dumps(list(file_ids)), "after": after, "limit": limit},
    )
    return [Arrival(*row) for row in rows]


def paths_arrived_after(db: Connection, paths: Sequence[str], number: int) -> set[str]:
    """Those of these paths whose files arrived after this arrival."""
    rows = db.execute(
        """
        SELECT f.path FROM json_each(:paths) AS some CROSS JOIN files f ON f.path = some.value
         CROSS JOIN arrivals a ON a.file_id = f.id WHERE a.number > :number
        """,
        {"paths": json.dumps(list(paths)), "number": number},
    )
    return {path for (path,) in rows}
