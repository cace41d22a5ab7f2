"""What people set about documents, and how to undo it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from sqlite3 import Connection

CHANGES_KEPT = 1000  # of the whole vault


@dataclass(frozen=True, slots=True)
class Change:
    """Something a person set, which can be undone."""

    id: int
    file_id: int
    what: str
    before: Mapping[str, Mapping[str, object] | None]  # field → {"value": …}; None if it was not set before


def of_file(db: Connection, file_id: int) -> dict[str, object]:
    """Field → what a person set."""
    rows = db.execute("SELECT field, value FROM edits WHERE file_id = ?", (file_id,))
    return {field: json.loads(value) for field, value in rows}


def put(db: Connection, file_id: int, field: str, value: object, now: str) -> None:
    """Set a field, replacing what was set before."""
    db.execute(
        """
        INSERT INTO edits (file_id, field, value, updated_at) VALUES (:file, :field, :value, :now)
            ON CONFLICT (file_id, field) DO UPDATE SET value = :value, updated_at = :now
        """,
        {"file": file_id, "field": field, "value": json.dumps(value, ensure_ascii=False), "now": now},
    )


def remove(db: Connection, file_id: int, field: str) -> None:
    """Unset this field."""
    db.execute("DELETE FROM edits WHERE file_id = ? AND field = ?", (file_id, field))


def record_change(db: Connection, file_id: int, what: str, before: Mapping[str, object], now: str) -> None:
    """Remember a change and the state before it."""
    db.execute(
        "INSERT INTO edit_changes (at, file_id, what, undo) VALUES (?, ?, ?, ?)",
        (now, file_id, what, json.dumps(before, ensure_ascii=False)),
    )
    db.execute("DELETE FROM edit_changes WHERE id <= (SELECT max(id) FROM edit_changes) - ?", (CHANGES_KEPT,))


def last_change(db: Connection, file_id: int | None = None) -> Change | None:
    """The last change of this file, or of any."""
    row = db.execute(
        """
        SELECT id, file_id, what, undo FROM edit_changes
         WHERE :file IS NULL OR file_id = :file ORDER BY id DESC LIMIT 1
        """,
        {"file": file_id},
    ).fetchone()
    return Change(row[0], row[1], row[2], json.loads(row[3])) if row else None


def forget_change(db: Connection, change_id: int) -> None:
    db.execute("DELETE FROM edit_changes WHERE id = ?", (change_id,))
