"""The files of a vault in the order of their paths, some at a time, for going through all of them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from sqlite3 import Connection
from typing import Any


@dataclass(frozen=True, slots=True)
class ExportRow:
    """A file with its document."""

    file_id: int
    path: str
    kind: str
    mime: str
    size: int
    title: str | None
    summary: str | None
    date: str | None
    language: str | None
    tags: tuple[str, ...]
    state: str
    pages: int | None
    created_at: str
    updated_at: str


def list_after(db: Connection, path: str, limit: int) -> list[ExportRow]:
    """The next files on disk after this path; begin with ''."""
    rows = db.execute(
        """
        SELECT f.id, f.path, f.kind, f.mime, f.size, d.title, d.summary, d.date, d.language, d.tags, d.state, d.pages,
               f.created_at, f.updated_at
          FROM files f JOIN documents d ON d.file_id = f.id
         WHERE f.path > ? AND f.vanished_at IS NULL
         ORDER BY f.path LIMIT ?
        """,
        (path, limit),
    )
    return [_row(*row) for row in rows]


def _row(*row: Any) -> ExportRow:
    first, tags, rest = row[:9], tuple(json.loads(row[9])), row[10:]
    return ExportRow(*(*first, tags, *rest))
