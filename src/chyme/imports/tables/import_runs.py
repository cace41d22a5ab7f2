"""Imports that were started by HTTP or on the page."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from sqlite3 import Connection
from typing import Any

from chyme.imports.summary import ImportSummary, summary_from_json

KEPT = 100  # finished imports that are remembered
_COLUMNS = "id, source, name, folder, state, summary, problem, created_at, finished_at"


@dataclass(frozen=True, slots=True)
class ImportRun:
    """One import: checking → checked → running → done; or failed, or cancelled."""

    id: int
    source: str
    name: str  # of the uploaded file
    folder: str
    state: str
    summary: ImportSummary
    problem: str | None
    created_at: str
    finished_at: str | None


def _from_row(row: Sequence[Any]) -> ImportRun:
    id_, source, name, folder, state, summary, *others = row
    return ImportRun(id_, source, name, folder, state, summary_from_json(json.loads(summary)), *others)


def add(db: Connection, source: str, name: str, folder: str, state: str, now: str) -> int:
    """Add an import, and forget the oldest finished ones."""
    db.execute(
        """
        DELETE FROM imports WHERE finished_at IS NOT NULL
           AND id NOT IN (SELECT id FROM imports WHERE finished_at IS NOT NULL ORDER BY id DESC LIMIT ?)
        """,
        (KEPT - 1,),
    )
    row = db.execute(
        """
        INSERT INTO imports (source, name, folder, state, summary, created_at)
        VALUES (?, ?, ?, ?, ?, ?) RETURNING id
        """,
        (source, name, folder, state, json.dumps(ImportSummary().as_json()), now),
    ).fetchone()
    return int(row[0])


def by_id(db: Connection, run_id: int) -> ImportRun | None:
    row = db.execute(f"SELECT {_COLUMNS} FROM imports WHERE id = ?", (run_id,)).fetchone()
    return _from_row(row) if row else None


def list_all(db: Connection) -> list[ImportRun]:
    """Every import that is remembered, newest first."""
    return [_from_row(row) for row in db.execute(f"SELECT {_COLUMNS} FROM imports ORDER BY id DESC")]


def set_summary(db: Connection, run_id: int, summary: ImportSummary) -> None:
    """Store how far an import is."""
    db.execute(
        "UPDATE imports SET summary = ? WHERE id = ?", (json.dumps(summary.as_json(), ensure_ascii=False), run_id)
    )


def change_state(
    db: Connection,
    run_id: int,
    leaves: Collection[str],
    state: str,
    *,
    problem: str | None = None,
    finished_at: str | None = None,
) -> bool:
    """Change from one of these states to another. False if it was in none of them."""
    count = db.execute(
        """
        UPDATE imports SET state = :state, problem = :problem, finished_at = :finished
         WHERE id = :id AND state IN (SELECT value FROM json_each(:leaves))
        """,
        {
            "state": state,
            "problem": problem,
            "finished": finished_at,
            "id": run_id,
            "leaves": json.dumps(list(leaves)),
        },
    ).rowcount
    return count == 1
