"""The state of every digest. Each state change names the state it leaves, so that a late worker changes nothing."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Mapping, Sequence
from sqlite3 import Connection
from typing import Any

from chyme.core.store import digest_counts
from chyme.core.store.row_ids import new_ids
from chyme.model import Digest, Status

_COLUMNS = ", ".join(Digest._fields)
PERSON, NEW, AGAIN, LAST = 0, 1, 2, 3  # priorities
KEPT = "kept"  # the recipe of what could not be captured again: out of date, and never copied to other files
KEPT_WAITING = "kept until an engine is there"  # the same, and tried again once an engine is available
LANE_SPACING = 1000  # the distance between the weights of two lanes; the size of a file adds less than a hundred

_STATUSES = {str(status): status for status in Status}
_OF_FILE = f"SELECT {_COLUMNS} FROM digests WHERE file_id = ?"
_UNSKIPPED = f"SELECT {_COLUMNS} FROM digests INDEXED BY digests_of_file WHERE file_id = ? AND status <> 'skipped'"
_NAMES = "SELECT digester FROM digests INDEXED BY digests_of_file WHERE file_id = ?"
_OF_OUTPUT = f"SELECT {_COLUMNS} FROM digests WHERE file_id = ? AND digester = ?"


def _from_row(row: Sequence[Any]) -> Digest:
    return Digest._make((*row[:4], _STATUSES[row[4]], *row[5:9], row[9] == 1, *row[10:]))


def register(
    db: Connection, file_id: int, path: str, outputs: Iterable[tuple[str, bool, int]], reason: str, now: str
) -> None:
    """Add missing rows: todo if the output applies to the file, otherwise skipped for `reason`.

    Each output comes with whether it applies, and its weight in the queue.
    """
    rows: dict[bool, list[tuple[object, ...]]] = {True: [], False: []}
    listed = list(outputs)
    for id_, (name, applies, weight) in zip(new_ids(len(listed)), listed, strict=True):
        state = ("todo", 0, None) if applies else ("skipped", 1, reason)
        rows[applies].append((id_, file_id, path, name, *state, weight, now, now))
    todo, skipped = (_insert_missing(db, rows[applies]) for applies in (True, False))
    if todo or skipped:
        digest_counts.add_registered(db, todo, skipped)


def _insert_missing(db: Connection, rows: Sequence[tuple[object, ...]]) -> int:
    """Insert those rows that are not there yet. Returns how many."""
    if not rows:
        return 0
    return db.executemany(
        """
        INSERT OR IGNORE INTO digests (id, file_id, file_path, digester, status, settled, error, weight,
                                       created_at, updated_at)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """,
        rows,
    ).rowcount


def of_file(db: Connection, file_id: int) -> dict[str, Digest]:
    """All digests of a file by output name."""
    return {row[3]: _from_row(row) for row in db.execute(_OF_FILE, (file_id,))}


def unskipped_of_file(db: Connection, file_id: int) -> dict[str, Digest]:
    """The digests of a file by output name; of skipped ones only the name and the status.

    Most digests of a file are skipped, because its kind never has them, and reading them whole at each of its steps
    would take longer than reading all others.
    """
    rows = {row[3]: _from_row(row) for row in db.execute(_UNSKIPPED, (file_id,))}
    for (name,) in db.execute(_NAMES, (file_id,)):
        if name not in rows:
            rows[name] = _skipped(name)
    return rows


@functools.cache
def _skipped(name: str) -> Digest:
    return Digest(
        "", 0, "", name, Status.SKIPPED, None, None, 0, 0, True, None, None, None, None, None, None, None, "", ""
    )


def of_outputs(db: Connection, file_id: int, outputs: Sequence[str]) -> dict[str, Digest]:
    """The digests of these outputs of a file, by output name."""
    found = (db.execute(_OF_OUTPUT, (file_id, name)).fetchone() for name in outputs)
    return {row[3]: _from_row(row) for row in found if row is not None}


def content(db: Connection, file_id: int, digester: str, max_characters: int | None = None) -> str | None:
    """The content, or only its first `max_characters` characters."""
    part = "content" if max_characters is None else "substr(content, 1, :most)"
    row = db.execute(
        f"SELECT {part} FROM digests WHERE file_id = :file AND digester = :name",
        {"file": file_id, "name": digester, "most": max_characters},
    ).fetchone()
    return row[0] if row else None


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
    """Begin an attempt: the only place where attempts grow. Returns the number of the attempt.

    One attempt makes all these outputs, so they share its number and its interruptions: the highest of them counts.
    From now on the recipe is that of the attempt. If another recipe made the present vectors, their embedder is
    cleared, so that no later attempt takes them for its own.
    """
    names = list(outputs)
    values = {"run": run_id, "recipe": recipe, "input": input_hash, "deadline": deadline, "now": now, "file": file_id}
    if len(names) == 1:  # which is usual, and costs half as much
        return _start_one(db, {**values, "name": names[0]})
    rows = db.execute(
        """
        WITH before AS (
            SELECT max(attempts) AS attempts, max(interruptions) AS interruptions, max(losses) AS losses FROM digests
             WHERE file_id = :file AND digester IN (SELECT value FROM json_each(:names))
               AND status IN ('todo', 'failed'))
        UPDATE digests
           SET status = 'in-progress', settled = 0, attempts = before.attempts + 1,
               interruptions = before.interruptions, losses = before.losses, run_id = :run,
               embedder = CASE WHEN recipe = :recipe THEN embedder END, recipe = :recipe, input_hash = :input,
               deadline = :deadline, error = NULL, error_category = NULL, retry_at = NULL, provider = NULL,
               updated_at = :now
          FROM before
         WHERE file_id = :file AND digester IN (SELECT value FROM json_each(:names)) AND status IN ('todo', 'failed')
        RETURNING digests.attempts
        """,
        {**values, "names": json.dumps(names)},
    ).fetchall()
    return rows[0][0] if rows else 0


def _start_one(db: Connection, values: Mapping[str, object]) -> int:
    """`start` for one output."""
    row = db.execute(
        """
        UPDATE digests
           SET status = 'in-progress', settled = 0, attempts = attempts + 1, run_id = :run,
               embedder = CASE WHEN recipe = :recipe THEN embedder END, recipe = :recipe, input_hash = :input,
               deadline = :deadline, error = NULL, error_category = NULL, retry_at = NULL, provider = NULL,
               updated_at = :now
         WHERE file_id = :file AND digester = :name AND status IN ('todo', 'failed')
        RETURNING attempts
        """,
        values,
    ).fetchone()
    return row[0] if row else 0


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
    embedder: str | None = None,
    worker: str | None = None,
) -> None:
    """Record a finished output, which may be empty. `embedder`: the model that read the file; `worker`: who made it, if
    that was another machine."""
    db.execute(
        """
        UPDATE digests
           SET status = 'completed', settled = 1, content = :content, content_hash = :hash, sqlar_name = :sqlar,
               recipe = :recipe, input_hash = :input, duration_ms = :ms, error = NULL, error_category = NULL,
               retry_at = NULL, run_id = NULL, deadline = NULL, interruptions = 0, losses = 0, priority = 1,
               asked = 0, embedder = :embedder, worker = :worker, updated_at = :now
         WHERE file_id = :file AND digester = :name AND status <> 'skipped'
        """,
        {"content": content, "hash": content_hash, "sqlar": sqlar_name, "recipe": recipe, "input": input_hash,
         "ms": duration_ms, "embedder": embedder, "worker": worker, "now": now, "file": file_id, "name": digester},
    )  # fmt: skip


def count_loss(db: Connection, file_id: int, outputs: Iterable[str]) -> None:
    """A worker vanished while it made these: that is no attempt, and it is remembered."""
    db.executemany(
        "UPDATE digests SET losses = losses + 1 WHERE file_id = ? AND digester = ?",
        [(file_id, name) for name in outputs],
    )


def put_last(db: Connection, file_id: int, digester: str) -> None:
    """Queue a digest that has a result, and is not finished, after everything else."""
    db.execute(
        """
        UPDATE digests SET status = 'todo', settled = 0, priority = ?
         WHERE file_id = ? AND digester = ? AND status = 'completed'
        """,
        (LAST, file_id, digester),
    )


def embedder_of(db: Connection, file_id: int) -> str | None:
    """The model that made the file's vectors with the present recipe of its digest."""
    row = db.execute(
        "SELECT embedder FROM digests WHERE file_id = ? AND digester = 'search-semantic'", (file_id,)
    ).fetchone()
    return row[0] if row else None


def update_lanes(db: Connection, file_id: int, lanes: Mapping[str, int]) -> None:
    """Move a file's pending digests to their proper lanes: another process may have other settings."""
    db.executemany(
        """
        UPDATE digests SET weight = weight % :band + :lane * :band
         WHERE file_id = :file AND digester = :name AND settled = 0 AND weight / :band <> :lane
        """,
        [{"band": LANE_SPACING, "lane": lane, "file": file_id, "name": name} for name, lane in lanes.items()],
    )


def record_incomplete(
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
    provider: str | None = None,
) -> None:
    """Record any other result: skipped, failed, waiting, or given back. A failure leaves old content in place."""
    db.execute(
        """
        UPDATE digests
           SET status = :status, settled = :settled, attempts = :attempts, error = :error, error_category = :category,
               provider = :provider, retry_at = :retry, duration_ms = coalesce(:ms, duration_ms), run_id = NULL,
               deadline = NULL,
               content_hash = CASE WHEN :settled THEN NULL ELSE content_hash END,
               asked = CASE WHEN :settled THEN 0 ELSE asked END,
               priority = CASE WHEN :status = 'failed' THEN max(priority, 2) ELSE priority END, updated_at = :now
         WHERE file_id = :file AND digester = :name
        """,
        {"status": status, "settled": int(settled), "attempts": attempts, "error": error, "category": category,
         "retry": retry_at, "ms": duration_ms, "now": now, "file": file_id, "name": digester,
         "provider": provider if status == "failed" else None},
    )  # fmt: skip


def has_request(db: Connection, file_id: int, beyond: bool) -> bool:
    """Whether a person requested something of this file, to be made and not copied, that has not been begun yet.

    `beyond`: also count everything outside the ordinary lane that a person waits for; in that lane, the code that
    fulfils a request knows about it anyway.
    """
    row = db.execute(
        """
        SELECT 1 FROM digests
         WHERE file_id = ? AND ((asked = 1 AND (status = 'todo' OR (status = 'failed' AND settled = 0)))
                                OR (status = 'todo' AND ? AND priority = ? AND weight >= ?))
        """,
        (file_id, int(beyond), PERSON, LANE_SPACING),
    ).fetchone()
    return row is not None


def keep_capture(
    db: Connection, file_id: int, digester: str, note: str, waiting: bool, duration_ms: int | None, now: str
) -> bool:
    """Keep what was captured before, because it could not be captured again; `note` says so, and why.

    `waiting`: because an engine is missing. False if nothing is being made again.
    """
    count = db.execute(
        """
        UPDATE digests
           SET status = 'completed', settled = 1, error = :note, error_category = NULL, retry_at = NULL,
               recipe = :recipe, duration_ms = coalesce(:ms, duration_ms), run_id = NULL, deadline = NULL,
               interruptions = 0, priority = 1, asked = 0, updated_at = :now
         WHERE file_id = :file AND digester = :name
           AND (status IN ('in-progress', 'todo') OR (status = 'failed' AND error_category = 'dependency'))
        """,
        {"note": note, "recipe": KEPT_WAITING if waiting else KEPT, "ms": duration_ms, "now": now,
         "file": file_id, "name": digester},
    ).rowcount  # fmt: skip
    return count > 0


def delete_all(db: Connection, file_id: int) -> None:
    """Delete every row, because the file has other content now: registering decides again what applies."""
    db.execute("DELETE FROM digests WHERE file_id = ?", (file_id,))


def move(db: Connection, file_id: int, was: str, becomes: str) -> None:
    """Update the artifact names of a renamed file. (file_path follows files.path by itself.)"""
    db.execute(
        "UPDATE digests SET sqlar_name = ? || substr(sqlar_name, 17) WHERE file_id = ? AND sqlar_name GLOB ? || '/*'",
        (becomes, file_id, was),
    )


def find_donor(db: Connection, file_id: int, digester: str, input_hash: str, recipe: str) -> Digest | None:
    """A completed digest of another file with the same input and recipe."""
    row = db.execute(
        f"""
        SELECT {_COLUMNS} FROM digests INDEXED BY digests_reusable
         WHERE input_hash = ? AND digester = ? AND recipe = ? AND status = 'completed' AND file_id <> ?
         LIMIT 1
        """,
        (input_hash, digester, recipe, file_id),
    ).fetchone()
    return _from_row(row) if row else None


def copy_from(db: Connection, donor: Digest, file_id: int, sqlar_name: str | None, now: str) -> None:
    """Fill a digest from a completed one with the same input."""
    db.execute(
        """
        UPDATE digests
           SET status = 'completed', settled = 1, sqlar_name = :sqlar, error = NULL, error_category = NULL,
               provider = NULL, retry_at = NULL, run_id = NULL, deadline = NULL, duration_ms = 0, updated_at = :now,
               (content, content_hash, recipe, input_hash, embedder) =
               (SELECT content, content_hash, recipe, input_hash, embedder FROM digests WHERE id = :donor)
         WHERE file_id = :file AND digester = :name
        """,
        {"sqlar": sqlar_name, "now": now, "donor": donor.id, "file": file_id, "name": donor.digester},
    )


def counts_by_output(db: Connection) -> dict[tuple[str, str], int]:
    """(output, status) → how many digests; from an index alone, so those of vanished files are included."""
    rows = db.execute("SELECT digester, status, count(*) FROM digests INDEXED BY digests_by_status GROUP BY 2, 1")
    return {(name, status): count for name, status, count in rows}


def list_failures(db: Connection, limit: int = 1000, since: str = "") -> list[Digest]:
    """Settled failures, newest first."""
    rows = db.execute(
        f"""
        SELECT {_COLUMNS} FROM digests
         WHERE status = 'failed' AND settled = 1 AND held = 0 AND updated_at >= ? ORDER BY updated_at DESC LIMIT ?
        """,
        (since, limit),
    )
    return [_from_row(row) for row in rows]


def find_files_missing(db: Connection, outputs: Sequence[str], after: int = 0, limit: int = 500) -> list[int]:
    """The next files after `after` that lack a row for one of these outputs (a digester was added since)."""
    rows = db.execute(
        """
        SELECT id FROM files
         WHERE id > :after
           AND (SELECT count(*) FROM digests d
                 WHERE d.file_id = files.id AND d.digester IN (SELECT value FROM json_each(:names))) < :all
         ORDER BY id LIMIT :limit
        """,
        {"after": after, "names": json.dumps(list(outputs)), "all": len(outputs), "limit": limit},
    )
    return [row[0] for row in rows]
