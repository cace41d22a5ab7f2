"""Which entry of which program became which file, and what it brought along."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from sqlite3 import Connection
from typing import Any

from chyme.imports.entries import Values


@dataclass(frozen=True, slots=True)
class ImportedItem:
    """An entry that was imported before. `file_id` is None once its file was purged."""

    file_id: int | None
    given: Values


def find(db: Connection, source: str, source_id: str, hash_: str) -> ImportedItem | None:
    """The entry with this content, if it was imported."""
    row = db.execute(
        "SELECT file_id, given FROM imported_items WHERE source = ? AND source_id = ? AND hash = ?",
        (source, source_id, hash_),
    ).fetchone()
    return ImportedItem(row[0], _from_json(json.loads(row[1]))) if row else None


def is_known(db: Connection, source: str, source_id: str) -> bool:
    """Whether an entry was imported, with whatever content."""
    row = db.execute(
        "SELECT 1 FROM imported_items WHERE source = ? AND source_id = ? LIMIT 1", (source, source_id)
    ).fetchone()
    return row is not None


def put(db: Connection, source: str, source_id: str, hash_: str, file_id: int, given: Values, now: str) -> None:
    """Remember an entry and what it brought along."""
    db.execute(
        """
        INSERT INTO imported_items (source, source_id, hash, file_id, given, updated_at)
        VALUES (:source, :source_id, :hash, :file, :given, :now)
            ON CONFLICT (source, source_id, hash) DO UPDATE SET file_id = :file, given = :given, updated_at = :now
        """,
        {
            "source": source,
            "source_id": source_id,
            "hash": hash_,
            "file": file_id,
            "given": json.dumps(_as_json(given), ensure_ascii=False),
            "now": now,
        },
    )


def _as_json(values: Values) -> dict[str, Any]:
    return {
        "title": values.title,
        "date": values.date,
        "tags": list(values.tags),
        "properties": dict(values.properties),
    }


def _from_json(fields: Mapping[str, Any]) -> Values:
    return Values(fields["title"], fields["date"], tuple(fields["tags"]), fields["properties"])
