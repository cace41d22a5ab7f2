"""Where the spans of an output's text are in its file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from sqlite3 import Connection
from typing import Any

from chyme.model import Place

_SELECT = 'SELECT start, "end", page, heading, seconds, until, speaker, box FROM places'


def replace(db: Connection, file_id: int, digester: str, places: Sequence[Place]) -> None:
    remove(db, file_id, digester)
    db.executemany(
        "INSERT INTO places VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (file_id, digester, n, p.start, p.end, p.page, p.heading, p.seconds, p.until, p.speaker, box_text(p))
            for n, p in enumerate(places)
        ],
    )


def remove(db: Connection, file_id: int, digester: str) -> None:
    db.execute("DELETE FROM places WHERE file_id = ? AND digester = ?", (file_id, digester))


def copy(db: Connection, from_file: int, to_file: int, digester: str) -> None:
    remove(db, to_file, digester)
    db.execute(
        """
        INSERT INTO places
        SELECT ?, digester, ordinal, start, "end", page, heading, seconds, until, speaker, box
          FROM places WHERE file_id = ? AND digester = ?
        """,
        (to_file, from_file, digester),
    )


def of_digest(db: Connection, file_id: int, digester: str) -> tuple[Place, ...]:
    rows = db.execute(f"{_SELECT} WHERE file_id = ? AND digester = ? ORDER BY ordinal", (file_id, digester))
    return tuple(map(_from_row, rows))


def within(db: Connection, file_id: int, digester: str, start: int, end: int) -> tuple[Place, ...]:
    """Places with a box or a time that share a character with this span."""
    rows = db.execute(
        f"""
        {_SELECT}
         WHERE file_id = ? AND digester = ? AND start < ? AND "end" > ? AND (box NOT NULL OR seconds NOT NULL)
         ORDER BY ordinal
        """,
        (file_id, digester, end, start),
    )
    return tuple(map(_from_row, rows))


def headings_within(db: Connection, file_id: int, digester: str, start: int, end: int) -> tuple[Place, ...]:
    """Places below a heading that share a character with this span."""
    rows = db.execute(
        f"""
        {_SELECT}
         WHERE file_id = ? AND digester = ? AND start < ? AND "end" > ? AND heading NOT NULL
         ORDER BY ordinal
        """,
        (file_id, digester, end, start),
    )
    return tuple(map(_from_row, rows))


def _from_row(row: tuple[Any, ...]) -> Place:
    start, end, page, heading, seconds, until, speaker, box = row
    return Place(start, end, page, heading, seconds, until, speaker, tuple(json.loads(box)) if box else None)


def box_text(place: Place) -> str | None:
    return json.dumps(place.box) if place.box else None
