"""Set digests back to todo: resets, changed upstreams, retries."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from sqlite3 import Connection

from chyme.core.store.digests import LAST, NEW, PERSON


def reset(
    db: Connection, file_id: int, outputs: Iterable[str], priority: int, now: str, kept: Collection[str] = ()
) -> list[str]:
    """Set back to todo as if never made: content, error and attempts are deleted. Returns the outputs reset.

    The content of those in `kept` stays until there is a new one.
    """
    changed = []
    for name in outputs:
        cleared = "" if name in kept else "content = NULL, sqlar_name = NULL,"
        count = db.execute(
            f"""
            UPDATE digests
               SET status = 'todo', settled = 0, {cleared} error = NULL,
                   error_category = NULL, provider = NULL, attempts = 0, interruptions = 0, losses = 0, retry_at = NULL,
                   run_id = NULL, deadline = NULL, input_hash = NULL, priority = ?, updated_at = ?
             WHERE file_id = ? AND digester = ? AND NOT (status = 'skipped' AND error = 'not applicable')
            """,
            (priority, now, file_id, name),
        ).rowcount
        if count:
            changed.append(name)
    return changed


def mark_asked(db: Connection, file_id: int, outputs: Iterable[str]) -> None:
    """These outputs must be made, not copied from an equal file."""
    db.execute(
        """
        UPDATE digests SET asked = 1
         WHERE file_id = ? AND status = 'todo' AND digester IN (SELECT value FROM json_each(?))
        """,
        (file_id, json.dumps(list(outputs))),
    )


def cascade(db: Connection, file_id: int, outputs: Iterable[str], now: str) -> int:
    """An upstream changed: make these again. Old content stays available until replaced."""
    return sum(
        db.execute(
            """
            UPDATE digests
               SET status = 'todo', settled = 0, attempts = 0, error = NULL, error_category = NULL, retry_at = NULL,
                   provider = NULL, priority = CASE WHEN status = 'todo' THEN ? ELSE priority END, updated_at = ?
             WHERE file_id = ? AND digester = ?
               AND (status IN ('completed', 'failed') OR (status = 'skipped' AND error = 'output not produced')
                    OR (status = 'todo' AND priority = ? AND interruptions < 2))  -- the rest of the old version
            """,
            (NEW, now, file_id, name, LAST),
        ).rowcount
        for name in outputs
    )


def wake(db: Connection, file_id: int, outputs: Iterable[str], now: str) -> None:
    """An upstream settled: these no longer wait for it."""
    db.executemany(
        """
        UPDATE digests SET status = 'todo', error = NULL, error_category = NULL, provider = NULL, updated_at = ?
         WHERE file_id = ? AND digester = ? AND status = 'failed' AND error_category = 'dependency'
        """,
        [(now, file_id, name) for name in outputs],
    )


def retry_failed(
    db: Connection, file_ids: Iterable[int], digesters: Collection[str] | None, now: str, priority: int = PERSON
) -> int:
    """Retry failures for a person, including final ones and what was made without its model. Returns how many."""
    names = json.dumps(list(digesters)) if digesters else None
    return sum(
        db.execute(
            """
            UPDATE digests INDEXED BY digests_of_file
               SET status = 'todo', settled = 0, attempts = 0, interruptions = 0, losses = 0, error = NULL,
                   error_category = NULL, provider = NULL, retry_at = NULL, priority = :priority, updated_at = :now
             WHERE file_id = :file AND (:names IS NULL OR digester IN (SELECT value FROM json_each(:names)))
               AND (status = 'failed' OR (status = 'completed' AND provider IS NOT NULL))
            """,
            {"now": now, "names": names, "file": file_id, "priority": priority},
        ).rowcount
        for file_id in file_ids
    )
