"""The state of every digest. State changes name the state they leave, so a late worker changes nothing."""

from __future__ import annotations

import json
import uuid
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from sqlite3 import Connection
from typing import Any

from chyme.model import Digest, Status

_COLUMNS = (
    "id, file_id, file_path, digester, status, error, error_category, attempts, interruptions, settled, retry_at, "
    "recipe, input_hash, content_hash, run_id, sqlar_name, duration_ms, created_at, updated_at"
)
PERSON, NEW, AGAIN = 0, 1, 2  # priorities


@dataclass(frozen=True, slots=True)
class Due:
    """A file with something to do. `alone`: it was there when chyme died, more than once."""

    file_id: int
    alone: bool


_STATUS = {str(status): status for status in Status}


def _digest(row: Sequence[Any]) -> Digest:
    return Digest._make((*row[:4], _STATUS[row[4]], *row[5:9], bool(row[9]), *row[10:]))


def register(
    db: Connection, file_id: int, path: str, outputs: Iterable[tuple[str, bool]], weight: int, reason: str, now: str
) -> None:
    """Write the rows a file lacks: todo where the output applies to it, skipped for `reason` where not."""
    db.executemany(
        """
        INSERT OR IGNORE INTO digests (id, file_id, file_path, digester, status, settled, error, weight,
                                       created_at, updated_at)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """,
        [
            (str(uuid.uuid4()), file_id, path, name, "todo" if applies else "skipped", int(not applies),
             None if applies else reason, weight, now, now)
            for name, applies in outputs
        ],
    )  # fmt: skip


def of_file(db: Connection, file_id: int) -> dict[str, Digest]:
    """All digests of a file by output name."""
    rows = db.execute(f"SELECT {_COLUMNS} FROM digests WHERE file_id = ?", (file_id,))
    return {digest.digester: digest for digest in map(_digest, rows)}


def content(db: Connection, file_id: int, digester: str) -> str | None:
    row = db.execute("SELECT content FROM digests WHERE file_id = ? AND digester = ?", (file_id, digester)).fetchone()
    return row[0] if row else None


def due(db: Connection, now: str, limit: int, busy: Collection[int] = ()) -> list[Due]:
    """The next files to work on: a person's wish, then new, then again; small before large; then retries."""
    found: dict[int, Due] = {}
    rows = db.execute(
        """
        SELECT file_id, max(interruptions) FROM digests INDEXED BY digests_todo
         WHERE status = 'todo' AND held = 0
           AND NOT EXISTS (SELECT 1 FROM processing_locks l WHERE l.file_id = digests.file_id AND l.lease_until > :now)
         GROUP BY priority, weight, file_id ORDER BY priority, weight, file_id LIMIT :limit
        """,
        {"now": now, "limit": limit + len(busy)},
    )
    for file_id, interruptions in rows:
        if file_id not in busy:
            found.setdefault(file_id, Due(file_id, interruptions >= 2))
    if len(found) < limit:
        rows = db.execute(
            """
            SELECT file_id, interruptions FROM digests INDEXED BY digests_retry
             WHERE status = 'failed' AND settled = 0 AND retry_at IS NOT NULL AND held = 0 AND retry_at <= :now
               AND NOT EXISTS (SELECT 1 FROM processing_locks l
                                WHERE l.file_id = digests.file_id AND l.lease_until > :now)
             ORDER BY retry_at LIMIT :limit
            """,
            {"now": now, "limit": limit + len(busy)},
        )
        for file_id, interruptions in rows:
            if file_id not in busy:
                found.setdefault(file_id, Due(file_id, interruptions >= 2))
    return list(found.values())[:limit]


def due_among(db: Connection, now: str, file_ids: Collection[int], limit: int, busy: Collection[int] = ()) -> list[Due]:
    """The next of these files to work on."""
    rows = db.execute(
        """
        SELECT file_id, max(interruptions), min(priority), min(weight) FROM digests
         WHERE file_id IN (SELECT value FROM json_each(:ids)) AND held = 0
           AND (status = 'todo' OR (status = 'failed' AND settled = 0 AND retry_at <= :now))
           AND NOT EXISTS (SELECT 1 FROM processing_locks l WHERE l.file_id = digests.file_id AND l.lease_until > :now)
         GROUP BY file_id ORDER BY 3, 4, 1 LIMIT :limit
        """,
        {"ids": json.dumps([id_ for id_ in file_ids if id_ not in busy]), "now": now, "limit": limit},
    )
    return [Due(file_id, interruptions >= 2) for file_id, interruptions, _, _ in rows]


def unfinished_among(db: Connection, file_ids: Collection[int]) -> tuple[int, int, int]:
    """The same as `unfinished`, for these files."""
    row = db.execute(
        """
        SELECT count(*) FILTER (WHERE status = 'todo'), count(*) FILTER (WHERE status = 'in-progress'),
               count(*) FILTER (WHERE status = 'failed' AND settled = 0 AND retry_at IS NOT NULL)
          FROM digests WHERE file_id IN (SELECT value FROM json_each(?)) AND held = 0
        """,
        (json.dumps(list(file_ids)),),
    ).fetchone()
    return row[0], row[1], row[2]


def next_retry(db: Connection) -> str | None:
    """When the next failed digest will be tried again."""
    row = db.execute(
        """
        SELECT min(retry_at) FROM digests INDEXED BY digests_retry
         WHERE status = 'failed' AND settled = 0 AND retry_at IS NOT NULL AND held = 0
        """
    ).fetchone()
    return row[0] if row else None


def unfinished(db: Connection) -> tuple[int, int, int]:
    """How many digests of files on disk are todo, in progress, and failed to be tried again."""
    todo = db.execute("SELECT count(*) FROM digests INDEXED BY digests_todo WHERE status = 'todo' AND held = 0")
    running = db.execute("SELECT count(*) FROM digests INDEXED BY digests_running WHERE status = 'in-progress'")
    again = db.execute(
        """
        SELECT count(*) FROM digests INDEXED BY digests_retry
         WHERE status = 'failed' AND settled = 0 AND retry_at IS NOT NULL AND held = 0
        """
    )
    return todo.fetchone()[0], running.fetchone()[0], again.fetchone()[0]


def start(
    db: Connection,
    file_id: int,
    outputs: Iterable[str],
    run_id: str,
    recipe: str,
    input_hash: str,
    deadline: str,
    now: str,
) -> int:
    """Begin an attempt: the only place where attempts grow. Returns the highest count among the outputs."""
    attempts = 0
    for name in outputs:
        row = db.execute(
            """
            UPDATE digests
               SET status = 'in-progress', settled = 0, attempts = attempts + 1, run_id = :run, recipe = :recipe,
                   input_hash = :input, deadline = :deadline, error = NULL, error_category = NULL, retry_at = NULL,
                   updated_at = :now
             WHERE file_id = :file AND digester = :name AND status IN ('todo', 'failed')
            RETURNING attempts
            """,
            {"run": run_id, "recipe": recipe, "input": input_hash, "deadline": deadline, "now": now,
             "file": file_id, "name": name},
        ).fetchone()  # fmt: skip
        attempts = max(attempts, row[0] if row else 0)
    return attempts


def complete(
    db: Connection,
    file_id: int,
    digester: str,
    content: str | None,
    content_hash: str | None,
    sqlar_name: str | None,
    recipe: str,
    input_hash: str,
    duration_ms: int | None,
    now: str,
) -> None:
    """The output is there, or it was looked for and there is nothing."""
    db.execute(
        """
        UPDATE digests
           SET status = 'completed', settled = 1, content = :content, content_hash = :hash, sqlar_name = :sqlar,
               recipe = :recipe, input_hash = :input, duration_ms = :ms, error = NULL, error_category = NULL,
               retry_at = NULL, run_id = NULL, deadline = NULL, interruptions = 0, priority = 1, updated_at = :now
         WHERE file_id = :file AND digester = :name AND status <> 'skipped'
        """,
        {"content": content, "hash": content_hash, "sqlar": sqlar_name, "recipe": recipe, "input": input_hash,
         "ms": duration_ms, "now": now, "file": file_id, "name": digester},
    )  # fmt: skip


def settle_otherwise(
    db: Connection,
    file_id: int,
    digester: str,
    status: Status,
    settled: bool,
    attempts: int,
    error: str | None,
    category: str | None,
    retry_at: str | None,
    duration_ms: int | None,
    now: str,
) -> None:
    """Anything but completed: skipped, failed, waiting, or given back. A failure leaves old content in place."""
    db.execute(
        """
        UPDATE digests
           SET status = :status, settled = :settled, attempts = :attempts, error = :error, error_category = :category,
               retry_at = :retry, duration_ms = coalesce(:ms, duration_ms), run_id = NULL, deadline = NULL,
               content_hash = CASE WHEN :settled THEN NULL ELSE content_hash END,
               priority = CASE WHEN :status = 'failed' THEN 2 ELSE priority END, updated_at = :now
         WHERE file_id = :file AND digester = :name
        """,
        {"status": status, "settled": int(settled), "attempts": attempts, "error": error, "category": category,
         "retry": retry_at, "ms": duration_ms, "now": now, "file": file_id, "name": digester},
    )  # fmt: skip


def reset(db: Connection, file_id: int, outputs: Iterable[str], priority: int, now: str) -> list[str]:
    """Back to todo as if never made: content, error and attempts are gone. Returns the outputs reset."""
    changed = []
    for name in outputs:
        count = db.execute(
            """
            UPDATE digests
               SET status = 'todo', settled = 0, content = NULL, sqlar_name = NULL, error = NULL,
                   error_category = NULL, attempts = 0, interruptions = 0, retry_at = NULL, run_id = NULL,
                   deadline = NULL, input_hash = NULL, priority = ?, updated_at = ?
             WHERE file_id = ? AND digester = ? AND NOT (status = 'skipped' AND error = 'not applicable')
            """,
            (priority, now, file_id, name),
        ).rowcount
        if count:
            changed.append(name)
    return changed


def forget_kind(db: Connection, file_id: int) -> None:
    """The file has other content now: every row goes, so that registering decides anew what applies."""
    db.execute("DELETE FROM digests WHERE file_id = ?", (file_id,))


def cascade(db: Connection, file_id: int, outputs: Iterable[str], now: str) -> int:
    """An upstream changed: make these again. Old content stays served until replaced."""
    changed = 0
    for name in outputs:
        changed += db.execute(
            """
            UPDATE digests
               SET status = 'todo', settled = 0, attempts = 0, error = NULL, error_category = NULL, retry_at = NULL,
                   updated_at = ?
             WHERE file_id = ? AND digester = ?
               AND (status IN ('completed', 'failed') OR (status = 'skipped' AND error = 'output not produced'))
            """,
            (now, file_id, name),
        ).rowcount
    return changed


def wake(db: Connection, file_id: int, outputs: Iterable[str], now: str) -> int:
    """An upstream settled: these need not wait for it any more."""
    changed = 0
    for name in outputs:
        changed += db.execute(
            """
            UPDATE digests
               SET status = 'todo', error = NULL, error_category = NULL, updated_at = ?
             WHERE file_id = ? AND digester = ? AND status = 'failed' AND error_category = 'dependency'
            """,
            (now, file_id, name),
        ).rowcount
    return changed


def wake_waiting(db: Connection) -> int:
    """After a scan: whatever waits for something may find it there now."""
    return db.execute(
        """
        UPDATE digests SET status = 'todo', error = NULL, error_category = NULL
         WHERE status = 'failed' AND error_category = 'dependency' AND held = 0
        """
    ).rowcount


def wake_unavailable(db: Connection, digester: str, recipe: str, now: str) -> int:
    """The engine is another one than when these failed: try again, for free."""
    return db.execute(
        """
        UPDATE digests
           SET status = 'todo', settled = 0, error = NULL, error_category = NULL, priority = 2, updated_at = ?
         WHERE status = 'failed' AND error_category = 'unavailable' AND digester = ? AND recipe IS NOT ?
        """,
        (now, digester, recipe),
    ).rowcount


def retry_failed(db: Connection, file_ids: Iterable[int] | None, digesters: Collection[str] | None, now: str) -> int:
    """A person wants failures tried again, terminal ones too. Returns how many."""
    statement = """
        UPDATE digests
           SET status = 'todo', settled = 0, attempts = 0, interruptions = 0, error = NULL, error_category = NULL,
               retry_at = NULL, priority = 0, updated_at = :now
         WHERE status = 'failed'
           AND (:name IS NULL OR digester = :name) AND (:file IS NULL OR file_id = :file)
    """
    names: list[str | None] = list(digesters) if digesters else [None]
    files: list[int | None] = list(file_ids) if file_ids is not None else [None]
    return sum(
        db.execute(statement, {"now": now, "name": name, "file": file_id}).rowcount
        for name in names
        for file_id in files
    )


def postpone(db: Connection, file_id: int, deadline: str) -> None:
    """A running attempt has not really begun yet: it waits for a child."""
    db.execute(
        "UPDATE digests SET deadline = max(deadline, ?) WHERE file_id = ? AND status = 'in-progress'",
        (deadline, file_id),
    )


def push_back(db: Connection, file_id: int) -> None:
    """This file had its turn: what is left of it comes after everything new."""
    db.execute("UPDATE digests SET priority = 2 WHERE file_id = ? AND status = 'todo'", (file_id,))


def hold(db: Connection, file_id: int, held: bool) -> None:
    """Keep a vanished file's digests from being due, or let them be again."""
    db.execute("UPDATE digests SET held = ? WHERE file_id = ? AND held <> ?", (int(held), file_id, int(held)))


def weigh(db: Connection, file_id: int, weight: int) -> None:
    db.execute("UPDATE digests SET weight = ? WHERE file_id = ?", (weight, file_id))


def move(db: Connection, file_id: int, was: str, becomes: str) -> None:
    """The artifacts of a renamed file have other names. (file_path follows files.path by itself.)"""
    db.execute(
        "UPDATE digests SET sqlar_name = ? || substr(sqlar_name, 17) WHERE file_id = ? AND sqlar_name GLOB ? || '/*'",
        (becomes, file_id, was),
    )


def abandoned(db: Connection, now: str, overdue: str) -> list[tuple[int, str]]:
    """(file, output) in progress without a live lease, or long past their deadline."""
    rows = db.execute(
        """
        SELECT file_id, digester FROM digests INDEXED BY digests_running
         WHERE status = 'in-progress'
           AND (deadline < :overdue
                OR NOT EXISTS (SELECT 1 FROM processing_locks l
                                WHERE l.file_id = digests.file_id AND l.lease_until > :now))
        """,
        {"now": now, "overdue": overdue},
    )
    return [(row[0], row[1]) for row in rows]


def give_back(db: Connection, file_id: int, digester: str, now: str) -> bool:
    """Return a digest whose worker vanished to the queue. True when it has run out of tries instead."""
    row = db.execute(
        """
        UPDATE digests
           SET status = 'todo', run_id = NULL, deadline = NULL, interruptions = interruptions + 1,
               attempts = attempts - (interruptions < 2), priority = max(priority, 2 * (interruptions >= 1)),
               updated_at = ?
         WHERE file_id = ? AND digester = ? AND status = 'in-progress'
        RETURNING attempts, interruptions
        """,
        (now, file_id, digester),  # our own death costs no attempt, until a file has taken us along twice
    ).fetchone()
    return row is not None and row[1] > 2 and row[0] >= 3


def fail_interrupted(db: Connection, file_id: int, digester: str, message: str, now: str) -> None:
    """A digest that was running each time chyme died is not tried again."""
    db.execute(
        """
        UPDATE digests
           SET status = 'failed', settled = 1, error = ?, error_category = 'crash', content_hash = NULL, updated_at = ?
         WHERE file_id = ? AND digester = ? AND status = 'todo'
        """,
        (message, now, file_id, digester),
    )


def donor(db: Connection, file_id: int, digester: str, input_hash: str, recipe: str) -> Digest | None:
    """A completed digest of another file with the same input and recipe."""
    row = db.execute(
        f"""
        SELECT {_COLUMNS} FROM digests INDEXED BY digests_reusable
         WHERE input_hash = ? AND digester = ? AND recipe = ? AND status = 'completed' AND file_id <> ?
         LIMIT 1
        """,
        (input_hash, digester, recipe, file_id),
    ).fetchone()
    return _digest(row) if row else None


def copy_from(db: Connection, donor: Digest, file_id: int, sqlar_name: str | None, now: str) -> None:
    """Fill a digest from a completed one with the same input."""
    db.execute(
        """
        UPDATE digests
           SET status = 'completed', settled = 1, sqlar_name = :sqlar, error = NULL, error_category = NULL,
               retry_at = NULL, run_id = NULL, deadline = NULL, duration_ms = 0, updated_at = :now,
               (content, content_hash, recipe, input_hash) =
               (SELECT content, content_hash, recipe, input_hash FROM digests WHERE id = :donor)
         WHERE file_id = :file AND digester = :name
        """,
        {"sqlar": sqlar_name, "now": now, "donor": donor.id, "file": file_id, "name": donor.digester},
    )


def counts(db: Connection) -> dict[str, int]:
    """How many digests of files on disk are in each status."""
    rows = db.execute("SELECT status, count(*) FROM digests WHERE held = 0 GROUP BY status")
    found = dict(rows.fetchall())
    return {str(status): found.get(str(status), 0) for status in Status}


def outdated(db: Connection, recipes: Iterable[tuple[str, str]]) -> int:
    """How many completed digests were made by an older recipe than today's (output, recipe)."""
    total = 0
    for name, recipe in recipes:
        total += db.execute(
            "SELECT count(*) FROM digests WHERE status = 'completed' AND digester = ? AND recipe <> ? AND held = 0",
            (name, recipe),
        ).fetchone()[0]
    return total


def failures(db: Connection, limit: int = 1000, since: str = "") -> list[Digest]:
    """Settled failures, newest first."""
    rows = db.execute(
        f"""
        SELECT {_COLUMNS} FROM digests
         WHERE status = 'failed' AND settled = 1 AND held = 0 AND updated_at >= ? ORDER BY updated_at DESC LIMIT ?
        """,
        (since, limit),
    )
    return [_digest(row) for row in rows]


def files_missing(db: Connection, outputs: Sequence[str], limit: int = 500) -> list[int]:
    """Files that lack a row for one of these outputs (a digester was added since they were registered)."""
    found: dict[int, None] = {}
    for name in outputs:
        rows = db.execute(
            """
            SELECT id FROM files
             WHERE NOT EXISTS (SELECT 1 FROM digests d WHERE d.file_id = files.id AND d.digester = ?) LIMIT ?
            """,
            (name, limit),
        )
        found.update((row[0], None) for row in rows)
    return list(found)


def retired(db: Connection, outputs: Collection[str]) -> list[str]:
    """Outputs that stand in the table though no digester here makes them."""
    names = [row[0] for row in db.execute("SELECT DISTINCT digester FROM digests")]
    return [name for name in names if name not in outputs]
