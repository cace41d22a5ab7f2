"""Completed digests that are to be made again: made by an older recipe, or of a file that was private."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from sqlite3 import Connection

from chyme.core.store.models.fallbacks import PRIVATE, WITHOUT_MODEL_PREFIX

_NOT_INTERIM = "recipe <> :private AND substr(recipe, 1, length(:without)) <> :without"
OUTDATED = f"status = 'completed' AND digester = :name AND recipe <> :recipe AND held = 0 AND {_NOT_INTERIM}"
NOT_OUTDATED = {"private": PRIVATE, "without": WITHOUT_MODEL_PREFIX}


def count(db: Connection, recipes: Iterable[tuple[str, str]]) -> int:
    """How many completed digests were made by an older recipe than the present one, given as (output, recipe)."""
    return sum(_count_output(db, name, recipe) for name, recipe in recipes)


def _count_output(db: Connection, name: str, recipe: str) -> int:
    """The same for one output. Looks only at index entries with other recipes: usually there are none."""
    values = {"name": name, "recipe": recipe, **NOT_OUTDATED}
    found = sum(
        db.execute(
            f"""
            SELECT count(*) FROM digests INDEXED BY digests_by_status
             WHERE status = 'completed' AND digester = :name AND recipe {side} :recipe AND {_NOT_INTERIM}
            """,
            values,
        ).fetchone()[0]
        for side in ("<", ">")
    )
    if not found:
        return 0
    held = db.execute(
        f"""
        SELECT count(*)
          FROM files f INDEXED BY files_vanished CROSS JOIN digests d INDEXED BY digests_of_file ON d.file_id = f.id
         WHERE f.vanished_at IS NOT NULL AND d.held = 1 AND d.status = 'completed' AND d.digester = :name
           AND d.recipe <> :recipe AND {_NOT_INTERIM}
        """,
        values,
    )  # separately, because the index does not know which files have vanished
    return int(found - held.fetchone()[0])


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
        if not _count_output(db, name, recipe):
            continue  # far quicker than to look for them
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
