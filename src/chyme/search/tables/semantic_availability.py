"""Why a vault cannot be searched by meaning."""

from __future__ import annotations

from sqlite3 import Connection


def last_failure(db: Connection) -> str | None:
    """Why the embedder was last unavailable for a file on disk, without the file's name."""
    row = db.execute(
        """
        SELECT digests.error, files.name
          FROM digests INDEXED BY digests_failed
          JOIN files ON files.id = digests.file_id
         WHERE digests.status = 'failed' AND digests.digester = 'search-semantic' AND digests.held = 0
           AND digests.error_category IN ('unavailable', 'network', 'rate_limit', 'ai_quota', 'budget', 'timeout')
         ORDER BY digests.updated_at DESC LIMIT 1
        """
    ).fetchone()
    return str(row[0]).removeprefix(f"{row[1]}: ") if row else None


def is_waiting(db: Connection) -> bool:
    """Whether any file on disk has yet to be embedded."""
    row = db.execute(
        """
        SELECT EXISTS (SELECT 1 FROM digests INDEXED BY digests_by_status
                        WHERE status IN ('todo', 'in-progress') AND digester = 'search-semantic' AND held = 0)
        """
    ).fetchone()
    return bool(row[0])
