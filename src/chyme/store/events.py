"""What happened, in order: live status and other processes read from here."""

from __future__ import annotations

from sqlite3 import Connection

Event = tuple[int, str, str, str | None, str | None, str | None, str | None]


def tell(
    db: Connection,
    now: str,
    type_: str,
    file_id: int | None = None,
    path: str | None = None,
    digester: str | None = None,
    status: str | None = None,
    detail: str | None = None,
) -> None:
    db.execute(
        "INSERT INTO events (at, type, file_id, path, digester, status, detail) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (now, type_, file_id, path, digester, status, detail),
    )


def after(db: Connection, event_id: int, limit: int = 1000) -> list[Event]:
    """(id, at, type, path, digester, status, detail) of what came after this event."""
    return db.execute(
        "SELECT id, at, type, path, digester, status, detail FROM events WHERE id > ? ORDER BY id LIMIT ?",
        (event_id, limit),
    ).fetchall()


def prune(db: Connection, before: str) -> int:
    """Forget what is older than this moment. Returns how many."""
    newest = db.execute("SELECT max(id) FROM events WHERE at < ?", (before,)).fetchone()[0]
    return db.execute("DELETE FROM events WHERE id <= ?", (newest,)).rowcount if newest else 0


def forget_file(db: Connection, file_id: int) -> None:
    db.execute("DELETE FROM events WHERE file_id = ?", (file_id,))
