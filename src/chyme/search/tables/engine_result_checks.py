"""Check the answers of a search server against the database: what the database does not have is not shown."""

from __future__ import annotations

import json
from collections.abc import Collection
from sqlite3 import Connection

from chyme.search.tables.keyword_queries import Condition


def files_that_meet(db: Connection, where: Condition, limit: int) -> list[int]:
    """Visible files that meet the condition, in no particular order."""
    rows = db.execute(
        f"""
        SELECT files.id FROM files LEFT JOIN documents ON documents.file_id = files.id
         WHERE files.vanished_at IS NULL AND {where.sql} LIMIT :limit
        """,
        {**where.values, "limit": limit},
    )
    return [file_id for (file_id,) in rows]


def known_passages(db: Connection, ids: Collection[int], where: Condition) -> dict[int, int]:
    """Those of these passages that still exist in visible files that meet the condition, with their files."""
    rows = db.execute(
        f"""
        SELECT passages.id, files.id
          FROM json_each(:ids) AS wanted
         CROSS JOIN passages INDEXED BY passage_owner ON passages.id = wanted.value
         CROSS JOIN files ON files.id = passages.file_id
          LEFT JOIN documents ON documents.file_id = files.id
         WHERE files.vanished_at IS NULL AND {where.sql}
        """,
        {**where.values, "ids": json.dumps(list(ids))},
    )
    return dict(rows)


def known_files(db: Connection, ids: Collection[int], where: Condition) -> set[int]:
    """Those of these files that are visible and meet the condition."""
    rows = db.execute(
        f"""
        SELECT files.id
          FROM json_each(:ids) AS wanted
         CROSS JOIN files ON files.id = wanted.value
          LEFT JOIN documents ON documents.file_id = files.id
         WHERE files.vanished_at IS NULL AND {where.sql}
        """,
        {**where.values, "ids": json.dumps(list(ids))},
    )
    return {file_id for (file_id,) in rows}


def not_pushed_yet() -> Condition:
    """Files whose present state the engines do not have, or which they must not have at all."""
    return Condition("files.id IN (SELECT file_id FROM outbox UNION ALL SELECT file_id FROM kept_here)")
