"""The people heard in the vault, and what was decided about them."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from sqlite3 import Connection

from chyme.speech.people.names import Person, fold_name

CHANGES_KEPT = 1000


@dataclass(frozen=True, slots=True)
class PersonTotals:
    """A person, with their totals in files that are on disk."""

    id: int
    name: str | None
    voices: int
    files: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Change:
    """A decision that can be undone."""

    id: int
    what: str
    undo: str  # JSON


def by_id(db: Connection, person_id: int) -> Person | None:
    row = db.execute("SELECT id, name FROM people WHERE id = ?", (person_id,)).fetchone()
    return Person(*row) if row else None


def by_name(db: Connection, name: str) -> Person | None:
    """The person with this name, ignoring case."""
    row = db.execute("SELECT id, name FROM people WHERE folded = ?", (fold_name(name),)).fetchone()
    return Person(*row) if row else None


def list_named(db: Connection) -> list[Person]:
    """All people who have a name."""
    return [Person(*row) for row in db.execute("SELECT id, name FROM people WHERE name NOT NULL ORDER BY id")]


def list_people(db: Connection, person_id: int | None = None) -> list[PersonTotals]:
    """All people who are heard in a file on disk or have a name; named ones first, then by how long they speak."""
    rows = db.execute(
        """
        SELECT p.id, p.name, count(f.id), count(DISTINCT f.id), coalesce(sum(v.seconds) FILTER (WHERE f.id NOT NULL), 0)
          FROM people p
          LEFT JOIN voice_groups g ON g.person_id = p.id
          LEFT JOIN voices v ON v.group_id = g.id
          LEFT JOIN files f ON f.id = v.file_id AND f.vanished_at IS NULL
         WHERE :person IS NULL OR p.id = :person
         GROUP BY p.id
        HAVING p.name NOT NULL OR count(f.id) > 0 OR :person NOT NULL
         ORDER BY p.name IS NULL, 5 DESC, p.id
        """,
        {"person": person_id},
    )
    return [PersonTotals(*row) for row in rows]


def add(db: Connection, now: str) -> int:
    """Add a person who has not been heard before."""
    row = db.execute("INSERT INTO people (created_at, updated_at) VALUES (?, ?) RETURNING id", (now, now)).fetchone()
    return int(row[0])


def restore(db: Connection, person_id: int, now: str) -> bool:
    """Add a former person again, without the name. False if they exist."""
    statement = "INSERT OR IGNORE INTO people (id, created_at, updated_at) VALUES (?, ?, ?)"
    return db.execute(statement, (person_id, now, now)).rowcount == 1


def rename(db: Connection, person_id: int, name: str | None, now: str) -> None:
    """Set a name that no other person has, or remove it."""
    folded = fold_name(name) if name else None
    db.execute("UPDATE people SET name = ?, folded = ?, updated_at = ? WHERE id = ?", (name, folded, now, person_id))


def delete_empty(db: Connection, ids: Collection[int]) -> None:
    """Delete those of these people who have neither voices nor a name, since nothing identifies them."""
    db.execute(
        """
        DELETE FROM people
         WHERE id IN (SELECT value FROM json_each(?)) AND name IS NULL
           AND NOT EXISTS (SELECT 1 FROM voice_groups g WHERE g.person_id = people.id)
        """,
        (json.dumps(list(ids)),),
    )


def record_change(db: Connection, what: str, undo: str, now: str) -> None:
    """Remember a decision and how to undo it."""
    db.execute("INSERT INTO people_changes (at, what, undo) VALUES (?, ?, ?)", (now, what, undo))
    db.execute("DELETE FROM people_changes WHERE id <= (SELECT max(id) FROM people_changes) - ?", (CHANGES_KEPT,))


def last_change(db: Connection) -> Change | None:
    row = db.execute("SELECT id, what, undo FROM people_changes ORDER BY id DESC LIMIT 1").fetchone()
    return Change(*row) if row else None


def forget_change(db: Connection, change_id: int) -> None:
    db.execute("DELETE FROM people_changes WHERE id = ?", (change_id,))
