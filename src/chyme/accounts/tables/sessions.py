"""Sessions: which user is signed in, in which browser."""

from __future__ import annotations

from dataclasses import dataclass
from sqlite3 import Connection


@dataclass(frozen=True, slots=True)
class Session:
    """One browser in which a user is signed in."""

    id: int
    user_id: int
    created_at: str
    seen_at: str
    expires_at: str
    hint: str  # what the browser calls itself
    address: str  # where it was last used from


_FIELDS = "id, user_id, created_at, seen_at, expires_at, hint, address"


def add(db: Connection, hash_: str, user_id: int, now: str, expires_at: str, hint: str, address: str) -> int:
    row = db.execute(
        """
        INSERT INTO sessions (hash, user_id, created_at, seen_at, expires_at, hint, address)
             VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING id
        """,
        (hash_, user_id, now, now, expires_at, hint, address),
    ).fetchone()
    return int(row[0])


def by_hash(db: Connection, hash_: str, now: str) -> Session | None:
    """The session with this hash, unless it has expired."""
    row = db.execute(f"SELECT {_FIELDS} FROM sessions WHERE hash = ? AND expires_at > ?", (hash_, now)).fetchone()
    return Session(*row) if row else None


def by_id(db: Connection, session_id: int, now: str) -> Session | None:
    """The session with this id, unless it has expired."""
    row = db.execute(f"SELECT {_FIELDS} FROM sessions WHERE id = ? AND expires_at > ?", (session_id, now)).fetchone()
    return Session(*row) if row else None


def of_user(db: Connection, user_id: int, now: str) -> list[Session]:
    rows = db.execute(
        f"SELECT {_FIELDS} FROM sessions WHERE user_id = ? AND expires_at > ? ORDER BY seen_at DESC, id DESC",
        (user_id, now),
    )
    return [Session(*row) for row in rows]


def list_sessions(db: Connection, now: str) -> list[Session]:
    """The sessions of all users, the last used first."""
    rows = db.execute(f"SELECT {_FIELDS} FROM sessions WHERE expires_at > ? ORDER BY seen_at DESC, id DESC", (now,))
    return [Session(*row) for row in rows]


def mark_seen(db: Connection, session_id: int, now: str, address: str) -> None:
    db.execute("UPDATE sessions SET seen_at = ?, address = ? WHERE id = ?", (now, address, session_id))


def end(db: Connection, session_id: int, user_id: int) -> bool:
    """End this user's session; return whether there was one."""
    return db.execute("DELETE FROM sessions WHERE id = ? AND user_id = ?", (session_id, user_id)).rowcount == 1


def end_all(db: Connection, user_id: int, but: int | None = None) -> int:
    """End all sessions of a user, or all but one. Returns how many."""
    return db.execute("DELETE FROM sessions WHERE user_id = ? AND id IS NOT ?", (user_id, but)).rowcount


def forget_expired(db: Connection, now: str) -> None:
    db.execute("DELETE FROM sessions WHERE expires_at <= ?", (now,))
