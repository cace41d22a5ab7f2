"""What is left to digest, by digester, and how long such digests took recently. Answered from indexes alone."""

from __future__ import annotations

from sqlite3 import Connection

RECENT = 3000  # events searched for durations


def count_todo(db: Connection) -> dict[str, int]:
    """How many digests of files on disk are todo, by output."""
    counted = dict(
        db.execute(
            """
            SELECT digester, count(*) FROM digests INDEXED BY digests_by_status
             WHERE status = 'todo' GROUP BY digester
            """
        ).fetchall()
    )
    due = db.execute("SELECT count(*) FROM digests INDEXED BY digests_todo WHERE status = 'todo' AND held = 0")
    if due.fetchone()[0] != sum(counted.values()):  # the index does not know which files have vanished
        for digester, count in _count_vanished(db):
            counted[digester] -= count
    return {digester: count for digester, count in counted.items() if count > 0}


def _count_vanished(db: Connection) -> list[tuple[str, int]]:
    return db.execute(
        """
        SELECT d.digester, count(*)
          FROM files f INDEXED BY files_vanished CROSS JOIN digests d INDEXED BY digests_of_file ON d.file_id = f.id
         WHERE f.vanished_at IS NOT NULL AND d.status = 'todo' AND d.held = 1 GROUP BY d.digester
        """
    ).fetchall()


def count_retries_until(db: Connection, moment: str, limit: int = 10_000) -> dict[str, int]:
    """How many failed digests are retried until this time, by output; counted no further than `limit`."""
    rows = db.execute(
        """
        SELECT digester, count(*) FROM (
            SELECT digester FROM digests INDEXED BY digests_retry
             WHERE status = 'failed' AND settled = 0 AND retry_at IS NOT NULL AND held = 0 AND retry_at <= ? LIMIT ?)
         GROUP BY digester
        """,
        (moment, limit),
    )
    return dict(rows.fetchall())


def average_durations(db: Connection) -> dict[str, float]:
    """The average duration of each output in seconds, among the last ones made; copies are not counted."""
    rows = db.execute(
        """
        SELECT d.digester, avg(d.duration_ms) / 1000.0
          FROM events e CROSS JOIN digests d INDEXED BY digests_of_file
               ON d.file_id = e.file_id AND d.digester = e.digester
         WHERE e.id > (SELECT max(id) FROM events) - ? AND e.type = 'digest' AND e.status = 'completed'
           AND d.status = 'completed' AND d.duration_ms > 0
         GROUP BY d.digester
        """,
        (RECENT,),
    )
    return dict(rows.fetchall())


def count_begun(db: Connection) -> tuple[int, int]:
    """How many digests are in progress, and how many failed ones will be tried again."""
    running = db.execute("SELECT count(*) FROM digests INDEXED BY digests_running WHERE status = 'in-progress'")
    retries = db.execute(
        """
        SELECT count(*) FROM digests INDEXED BY digests_retry
         WHERE status = 'failed' AND settled = 0 AND retry_at IS NOT NULL AND held = 0
        """
    )
    return running.fetchone()[0], retries.fetchone()[0]
