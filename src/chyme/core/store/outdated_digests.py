"""Completed digests that are to be made again: made by an older recipe, or of a file that was private."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from sqlite3 import Connection

from chyme.core.store.models.fallbacks import PRIVATE, WITHOUT_MODEL_PREFIX

OUTDATED = """status = 'completed' AND digester = :name AND recipe <> :recipe AND held = 0
    AND recipe <> :private AND substr(recipe, 1, length(:without)) <> :without"""
NOT_OUTDATED = {"private": PRIVATE, "without": WITHOUT_MODEL_PREFIX}


def count(db: Connection, recipes: Iterable[tuple[str, str]]) -> int:
    """How many completed digests were made by an older recipe than the present one, given as (output, recipe)."""
    total = 0
    for name, recipe in recipes:
        total += db.execute(
            f"SELECT count(*) FROM digests WHERE {OUTDATED}", {"name": name, "recipe": recipe, **NOT_OUTDATED}
        ).fetchone()[0]
    return total


@dataclass(frozen=True, slots=True)
class Outdated:
    """Digests of one output that were made by an older recipe than the present one."""

    name: str
    file_ids: tuple[int, ...]
    milliseconds: float  # average duration


def by_output(db: Connection, recipes: Iterable[tuple[str, str]], below: str = "") -> list[Outdated]:
    """The outdated digests of files at or below a path, by output; outputs without any are left out."""
    found = []
    for name, recipe in recipes:
        rows = db.execute(
            f"""
            SELECT file_id, duration_ms FROM digests
             WHERE {OUTDATED}
               AND (:below IN ('', file_path) OR substr(file_path, 1, length(:below) + 1) = :below || '/')
            """,
            {"name": name, "recipe": recipe, "below": below, **NOT_OUTDATED},
        ).fetchall()
        if rows:
            durations = [duration for _, duration in rows if duration is not None]
            average = sum(durations) / len(durations) if durations else 0.0
            found.append(Outdated(name, tuple(file_id for file_id, _ in rows), average))
    return found


def is_outdated(db: Connection, file_id: int, name: str, recipe: str) -> bool:
    """Whether this output of a file was made by an older recipe than the present one."""
    row = db.execute(
        f"SELECT 1 FROM digests INDEXED BY digests_of_file WHERE file_id = :file AND {OUTDATED}",
        {"file": file_id, "name": name, "recipe": recipe, **NOT_OUTDATED},
    ).fetchone()
    return row is not None


def list_private(db: Connection, digester: str) -> list[tuple[int, str]]:
    """(file, path) of what was made locally because the file was private."""
    rows = db.execute(
        "SELECT file_id, file_path FROM digests WHERE status = 'completed' AND digester = ? AND recipe = ?",
        (digester, PRIVATE),
    )
    return [(row[0], row[1]) for row in rows]


def requeue(db: Connection, file_id: int, outputs: Iterable[str], now: str) -> int:
    """Make these again because they are out of date: old content stays available until replaced. Returns how many."""
    return sum(
        db.execute(
            """
            UPDATE digests
               SET status = 'todo', settled = 0, attempts = 0, error = NULL, error_category = NULL, retry_at = NULL,
                   provider = NULL, priority = 2, updated_at = ?
             WHERE file_id = ? AND digester = ? AND status = 'completed'
            """,
            (now, file_id, name),
        ).rowcount
        for name in outputs
    )
