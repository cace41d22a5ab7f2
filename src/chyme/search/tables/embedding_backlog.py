"""Which files have yet to be embedded, and why the others cannot be."""

from __future__ import annotations

import json
from collections.abc import Collection
from sqlite3 import Connection


def is_due(db: Connection) -> bool:
    """Whether any file on disk is to be embedded, now or at a retry.

    A file that waits for something else, such as permission to read it, does not count.
    """
    row = db.execute(
        """
        SELECT EXISTS (SELECT 1 FROM digests INDEXED BY digests_by_status
                        WHERE status IN ('todo', 'in-progress') AND digester = 'search-semantic' AND held = 0)
            OR EXISTS (SELECT 1 FROM digests INDEXED BY digests_retry
                        WHERE status = 'failed' AND settled = 0 AND retry_at IS NOT NULL AND held = 0
                          AND digester = 'search-semantic')
        """
    ).fetchone()
    return bool(row[0])


def is_left_out(db: Connection, embedder_id: int) -> bool:
    """Whether this embedder was unavailable for a file on disk that another embedder has read."""
    row = db.execute(
        """
        SELECT EXISTS (
            SELECT 1 FROM digests INDEXED BY digests_by_status
             WHERE status = 'failed' AND digester = 'search-semantic' AND held = 0
               AND error_category IN ('unavailable', 'network', 'rate_limit', 'ai_quota', 'budget', 'timeout')
               AND EXISTS (SELECT 1 FROM semantic_passages WHERE file_id = digests.file_id
                              AND embedder_id IN (SELECT id FROM embedders WHERE reads = 'texts'))
               AND NOT EXISTS (SELECT 1 FROM semantic_passages
                                WHERE file_id = digests.file_id AND embedder_id = ?))
        """,
        (embedder_id,),
    ).fetchone()
    return bool(row[0])


def lengths(db: Connection, file_ids: Collection[int]) -> dict[int, int]:
    """The lengths of these files' texts, in passages of the keyword index; 0 for files it does not know yet."""
    rows = db.execute(
        """
        SELECT wanted.value, iif(json_valid(digests.content), coalesce(digests.content ->> '$.passages', 0), 0)
          FROM json_each(?) AS wanted
          LEFT JOIN digests ON digests.file_id = wanted.value AND digests.digester = 'search-keyword'
        """,
        (json.dumps(list(file_ids)),),
    )
    return {file_id: int(passages) for file_id, passages in rows}


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
