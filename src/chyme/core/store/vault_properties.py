"""Single facts about the vault."""

from __future__ import annotations

from sqlite3 import Connection


def put(db: Connection, name: str, value: str) -> None:
    db.execute("INSERT INTO marks VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value", (name, value))


def value_of(db: Connection, name: str) -> str | None:
    row = db.execute("SELECT value FROM marks WHERE name = ?", (name,)).fetchone()
    return row[0] if row else None


def remove(db: Connection, name: str) -> None:
    db.execute("DELETE FROM marks WHERE name = ?", (name,))
