"""Digests whose digester was removed: how they are settled, and how they are resumed when it returns."""

from __future__ import annotations

from collections.abc import Collection
from sqlite3 import Connection

from chyme.core.store.models.fallbacks import WITHOUT_MODEL_PREFIX

NO_DIGESTER = "nobody makes this any more"  # the error and the recipe of such a digest; it is found by its recipe
_PREFIX_END = WITHOUT_MODEL_PREFIX.rstrip() + "!"  # the first text after all recipes with this prefix


def find_removed_outputs(db: Connection, outputs: Collection[str]) -> list[str]:
    """The outputs not in `outputs` of which something is pending, or was made without its model."""
    found: set[str] = set()
    for status in ("todo", "failed", "completed"):
        rows = db.execute(
            """
            WITH RECURSIVE names (name) AS (
                SELECT min(digester) FROM digests WHERE status = :status
                UNION ALL
                SELECT (SELECT min(digester) FROM digests WHERE status = :status AND digester > name)
                  FROM names WHERE name IS NOT NULL)
            SELECT name FROM names WHERE name IS NOT NULL
            """,
            {"status": status},
        )
        found.update(row[0] for row in rows)
    return sorted(found.difference(outputs))


def skip_pending(db: Connection, digester: str, now: str, limit: int) -> list[int]:
    """Skip up to `limit` digests that are pending, or would be once their model is back. Returns their files."""
    rows = db.execute(
        """
        UPDATE digests
           SET status = 'skipped', settled = 1, error = :nobody, recipe = :nobody, error_category = NULL,
               provider = NULL, retry_at = NULL, attempts = 0, interruptions = 0, updated_at = :now
         WHERE id IN (SELECT id FROM digests INDEXED BY digests_by_status
                       WHERE status IN ('todo', 'failed') AND digester = :name
                         AND (status = 'todo' OR settled = 0 OR provider IS NOT NULL)
                       LIMIT :limit)
        RETURNING file_id
        """,
        {"nobody": NO_DIGESTER, "name": digester, "now": now, "limit": limit},
    ).fetchall()
    return [row[0] for row in rows]


def stop_waiting(db: Connection, digester: str) -> int:
    """Keep what was made without its model, even when that model becomes available. Returns how many."""
    return db.execute(
        """
        UPDATE digests INDEXED BY digests_by_status SET provider = NULL, retry_at = NULL
         WHERE status = 'completed' AND digester = :name AND recipe >= :without AND recipe < :beyond
           AND provider IS NOT NULL
        """,
        {"name": digester, "without": WITHOUT_MODEL_PREFIX, "beyond": _PREFIX_END},
    ).rowcount


def requeue_skipped(db: Connection, digester: str, now: str, limit: int) -> list[int]:
    """The digester exists again: requeue up to `limit` of its skipped digests. Returns their files."""
    rows = db.execute(
        """
        UPDATE digests
           SET status = 'todo', settled = 0, error = NULL, recipe = nullif(recipe, :nobody), attempts = 0,
               priority = max(priority, 2), updated_at = :now
         WHERE id IN (SELECT id FROM digests INDEXED BY digests_by_status
                       WHERE status = 'skipped' AND digester = :name AND recipe = :nobody
                      UNION ALL
                      SELECT id FROM digests INDEXED BY digests_by_status
                       WHERE status = 'completed' AND digester = :name AND recipe >= :without AND recipe < :beyond
                         AND provider IS NULL
                      LIMIT :limit)
        RETURNING file_id
        """,
        {
            "nobody": NO_DIGESTER,
            "name": digester,
            "without": WITHOUT_MODEL_PREFIX,
            "beyond": _PREFIX_END,
            "now": now,
            "limit": limit,
        },
    ).fetchall()
    return [row[0] for row in rows]
