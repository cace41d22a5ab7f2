"""Which names were accepted, so that they can be undone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from sqlite3 import Connection

CHANGES_KEPT = 100_000


@dataclass(frozen=True, slots=True)
class Rename:
    """A file that got another name. Written before it is done: the file may not be at `becomes`."""

    id: int
    at: str  # the same for all that were accepted together
    file_id: int
    was: str  # path
    becomes: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """A file that may get another name: the proposal of `slug`, and whether a person set the title or date since."""

    file_id: int
    slug: str | None  # content of the digest
    edited: bool


_COLUMNS = "id, at, file_id, was, becomes"


def add(db: Connection, at: str, file_id: int, was: str, becomes: str) -> int:
    """Remember that the file is about to be renamed."""
    cursor = db.execute(
        "INSERT INTO renames (at, file_id, was, becomes) VALUES (?, ?, ?, ?)", (at, file_id, was, becomes)
    )
    assert cursor.lastrowid is not None
    return cursor.lastrowid


def correct(db: Connection, rename_id: int, becomes: str) -> None:
    """Record another new name, because the first one was taken."""
    db.execute("UPDATE renames SET becomes = ? WHERE id = ?", (becomes, rename_id))


def prune(db: Connection) -> None:
    """Delete the oldest entries, which are too old to be undone."""
    db.execute("DELETE FROM renames WHERE id <= (SELECT max(id) FROM renames) - ?", (CHANGES_KEPT,))


def forget(db: Connection, ids: Sequence[int]) -> None:
    db.executemany("DELETE FROM renames WHERE id = ?", [(id_,) for id_ in ids])


def last_batch(db: Connection) -> list[Rename]:
    """All that were accepted together with the last one, the last first."""
    rows = db.execute(
        f"SELECT {_COLUMNS} FROM renames WHERE at = (SELECT at FROM renames ORDER BY id DESC LIMIT 1) ORDER BY id DESC"
    )
    return [Rename(*row) for row in rows]


def of_file(db: Connection, file_id: int) -> list[Rename]:
    """Every name that was accepted for this file, the last first."""
    rows = db.execute(f"SELECT {_COLUMNS} FROM renames WHERE file_id = ? ORDER BY id DESC", (file_id,))
    return [Rename(*row) for row in rows]


def candidates(db: Connection, below: str = "") -> list[Candidate]:
    """Files on disk, at this path or in the folder of that name, that have a proposal or were edited; by path."""
    rows = db.execute(
        """
        SELECT f.id, d.content,
               EXISTS (SELECT 1 FROM edits e WHERE e.file_id = f.id AND e.field IN ('title', 'date')) AS edited
          FROM files f LEFT JOIN digests d ON d.file_id = f.id AND d.digester = 'slug'
         WHERE (:below = '' OR f.path = :below OR (f.path >= :below || '/' AND f.path < :below || '0'))
           AND f.vanished_at IS NULL AND (d.content IS NOT NULL OR edited)
         ORDER BY f.path
        """,
        {"below": below},
    )
    return [Candidate(file_id, slug, bool(edited)) for file_id, slug, edited in rows]
