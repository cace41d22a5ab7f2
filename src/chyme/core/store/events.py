"""What happened, in order: live status and other processes read from here."""

from __future__ import annotations

from dataclasses import dataclass
from sqlite3 import Connection

RECENT_EVENTS = 2000  # events searched for the progress of running work, which is recorded every few seconds
Event = tuple[int, str, str, str | None, str | None, str | None, str | None]


def record(
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


def list_after(db: Connection, event_id: int, limit: int = 1000) -> list[Event]:
    """(id, at, type, path, digester, status, detail) of what came after this event."""
    return db.execute(
        "SELECT id, at, type, path, digester, status, detail FROM events WHERE id > ? ORDER BY id LIMIT ?",
        (event_id, limit),
    ).fetchall()


def id_range(db: Connection) -> tuple[int, int]:
    """The ids of the oldest stored event (the next one if there is none), and of the newest ever."""
    row = db.execute(
        "SELECT (SELECT min(id) FROM events), (SELECT seq FROM sqlite_sequence WHERE name = 'events')"
    ).fetchone()
    newest = int(row[1] or 0)
    return (int(row[0]) if row[0] is not None else newest + 1), newest


def latest(db: Connection, limit: int, among: int = 20_000) -> list[Event]:
    """The last events of files, documents, people and the vault, newest first, out of the last `among` events."""
    return db.execute(
        """
        SELECT id, at, type, path, digester, status, detail FROM events
         WHERE id > (SELECT max(id) FROM events) - :among
           AND (type IN ('file', 'vault') OR (type = 'person' AND path IS NULL)
                OR (type = 'document' AND status IN ('completed', 'needs-classification', 'failed')))
         ORDER BY id DESC LIMIT :limit
        """,
        {"among": among, "limit": limit},
    ).fetchall()


def list_in_progress(db: Connection) -> list[tuple[str, str, float]]:
    """(path, output, fraction done) of what is in progress, in any process."""
    rows = db.execute(
        """
        SELECT d.file_path, d.digester,
               (SELECT e.detail FROM events e
                 WHERE e.id > (SELECT max(id) FROM events) - :lately
                   AND e.type = 'progress' AND e.file_id = d.file_id AND e.at >= d.updated_at
                 ORDER BY e.id DESC LIMIT 1)
          FROM digests d INDEXED BY digests_running WHERE d.status = 'in-progress' ORDER BY d.file_path
        """,
        {"lately": RECENT_EVENTS},
    )
    return [(path, digester, float(fraction or 0)) for path, digester, fraction in rows]


def prune(db: Connection, before: str) -> int:
    """Delete what is older than this time. Returns how many."""
    newest = db.execute("SELECT max(id) FROM events WHERE at < ?", (before,)).fetchone()[0]
    return db.execute("DELETE FROM events WHERE id <= ?", (newest,)).rowcount if newest else 0


def forget_file(db: Connection, file_id: int) -> None:
    db.execute("DELETE FROM events WHERE file_id = ?", (file_id,))


@dataclass(frozen=True, slots=True)
class Throughput:
    """How many digests of one output ended in one hour."""

    output: str
    hour: str  # 2026-05-01T14, in UTC
    completed: int
    failed: int


def throughput(db: Connection, since: str) -> list[Throughput]:
    """What ended since this moment, by output and hour. Events are kept for a day, so there is nothing older."""
    rows = db.execute(
        """
        SELECT digester, substr(at, 1, 13), count(*) FILTER (WHERE status = 'completed'),
               count(*) FILTER (WHERE status = 'failed')
          FROM events
         WHERE type = 'digest' AND status IN ('completed', 'failed') AND at >= ? AND digester IS NOT NULL
         GROUP BY 1, 2 ORDER BY 1, 2
        """,
        (since,),
    )
    return [Throughput(*row) for row in rows]
