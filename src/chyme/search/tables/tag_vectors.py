"""The vectors of tags in use, and the files that have a tag, whoever gave it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from sqlite3 import Connection

from chyme.search.tables.keyword_queries import Condition


def version(db: Connection) -> str:
    """A value that differs after every change of tags or their vectors."""
    row = db.execute("SELECT version FROM tag_version").fetchone()
    return str(row[0])


def most_used(db: Connection, model: str, limit: int) -> list[tuple[str, bytes]]:
    """The tags that have a vector of this model, with it, those on most files first. Also those that no file has at the
    moment: the version does not change when a file gets one."""
    return db.execute(
        """
        SELECT tags.name, tags.vector
          FROM tags LEFT JOIN shelf_tags ON shelf_tags.tag = tags.name
         WHERE tags.model = ?
         GROUP BY tags.id ORDER BY count(shelf_tags.file_id) DESC, tags.id LIMIT ?
        """,
        (model, limit),
    ).fetchall()


def given_by_hand(db: Connection, limit: int) -> list[str]:
    """Tags in use that only people gave, the newest first: no digest has computed a vector for them."""
    rows = db.execute(
        """
        SELECT name FROM tags
         WHERE vector IS NULL AND NOT EXISTS (SELECT 1 FROM file_tags WHERE file_tags.tag_id = tags.id)
           AND EXISTS (SELECT 1 FROM shelf_tags WHERE shelf_tags.tag = tags.name)
         ORDER BY id DESC LIMIT ?
        """,
        (limit,),
    )
    return [name for (name,) in rows]


def files_with(db: Connection, names: Sequence[str], where: Condition, limit: int) -> list[tuple[int, str]]:
    """Visible files that meet the condition and have one of these tags: of the first tags first, then the newest."""
    return db.execute(
        f"""
        SELECT shelf.file_id, wanted.value
          FROM json_each(:tag_names) AS wanted
         CROSS JOIN shelf_tags ON shelf_tags.tag = wanted.value
         CROSS JOIN shelf ON shelf.file_id = shelf_tags.file_id
         WHERE {where.sql}
         ORDER BY wanted.key, shelf.file_id DESC LIMIT :tagged_files
        """,
        {**where.values, "tag_names": json.dumps(list(names)), "tagged_files": limit},
    ).fetchall()
