"""How many digests have each status: kept by triggers and `digests.register`, compared and corrected by `verify`."""

from __future__ import annotations

from sqlite3 import Connection

from chyme.model import Status

_COUNTED = """
    SELECT held, sum(status IN ('todo', 'in-progress')), sum(status = 'completed'), sum(status = 'skipped'),
           sum(status = 'failed')
      FROM digests GROUP BY held
"""
_KEPT = "SELECT held, unfinished, completed, skipped, failed FROM digest_counts ORDER BY held"


def by_status(db: Connection) -> dict[str, int]:
    """How many digests of files on disk have each status. Costs the same however many there are."""
    unfinished, completed, skipped, failed, running = db.execute(
        """
        SELECT unfinished, completed, skipped, failed,
               (SELECT count(*) FROM digests INDEXED BY digests_running WHERE status = 'in-progress' AND held = 0)
          FROM digest_counts WHERE held = 0
        """
    ).fetchone()
    counts = {
        Status.TODO: unfinished - running,
        Status.IN_PROGRESS: running,
        Status.COMPLETED: completed,
        Status.SKIPPED: skipped,
        Status.FAILED: failed,
    }
    return {str(status): counts[status] for status in Status}


def add_registered(db: Connection, todo: int, skipped: int) -> None:
    """Count digests that were inserted just now."""
    db.execute(
        "UPDATE digest_counts SET unfinished = unfinished + ?, skipped = skipped + ? WHERE held = 0", (todo, skipped)
    )


def correct(db: Connection) -> list[str]:
    """Count all digests, correct what differs, and describe it; empty if nothing did."""
    counted = {0: (0, 0, 0, 0), 1: (0, 0, 0, 0)} | {row[0]: row[1:] for row in db.execute(_COUNTED)}
    kept = {row[0]: row[1:] for row in db.execute(_KEPT)}
    if kept == counted:
        return []
    db.execute("DELETE FROM digest_counts")
    db.executemany(
        "INSERT INTO digest_counts (held, unfinished, completed, skipped, failed) VALUES (?, ?, ?, ?, ?)",
        [(held, *counts) for held, counts in counted.items()],
    )
    return [
        f"{'of vanished files' if held else 'of files'}: {_describe(kept.get(held))} kept, {_describe(counts)} counted"
        for held, counts in counted.items()
        if kept.get(held) != counts
    ]


def _describe(counts: tuple[int, ...] | None) -> str:
    if counts is None:
        return "nothing"
    names = ("unfinished", "completed", "skipped", "failed")
    return ", ".join(f"{count} {name}" for name, count in zip(names, counts, strict=True))
