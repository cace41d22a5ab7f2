"""Jobs: many files to be digested again, a few at a time."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from sqlite3 import Connection
from typing import Any

from chyme.core.store.outdated_digests import NOT_OUTDATED, OUTDATED

_COLUMNS = """
    id, what, mode, digesters, state, total, done, failed, left_out, created_at, finished_at,
    (SELECT count(*) FROM job_files f INDEXED BY job_files_asked WHERE f.job_id = jobs.id AND f.asked = 1)
"""
_PENDING = """(status IN ('todo', 'in-progress') OR (status = 'failed' AND settled = 0))"""
# For each mode, the digests that would be made again; each part uses its own index.
_REDO_QUERIES = {
    "reset": (
        "INDEXED BY digests_by_status WHERE status IN ('todo', 'in-progress', 'completed', 'failed')",
        "INDEXED BY digests_not_produced WHERE status = 'skipped' AND error <> 'not applicable'",
    ),
    "retry": (
        "INDEXED BY digests_by_status WHERE status = 'failed' AND error_category <> 'dependency'",
        "INDEXED BY digests_without_model WHERE status = 'completed' AND provider IS NOT NULL",
    ),
    "outdated": (f"INDEXED BY digests_by_status WHERE {OUTDATED}",),
}


@dataclass(frozen=True, slots=True)
class Job:
    """Many files to be digested again. What is neither done, failed nor left out is still to come, unless it is
    over."""

    id: int
    what: str
    mode: str
    digesters: tuple[str, ...] | None
    state: str  # running, paused, cancelled, done
    total: int
    done: int
    failed: int
    left_out: int
    created_at: str
    finished_at: str | None
    under_way: int  # files that were started and are not finished; also if the job was paused or cancelled since

    @property
    def left(self) -> int:
        """How many files are still to come."""
        return self.total - self.done - self.failed - self.left_out


@dataclass(frozen=True, slots=True)
class FileProgress:
    """The progress of a requested file: `there` on disk, still `pending`, or finally `failed`."""

    file_id: int
    there: bool
    pending: bool
    failed: bool


def _from_row(row: Sequence[Any]) -> Job:
    id_, what, mode, outputs, *others = row
    return Job(id_, what, mode, None if outputs is None else tuple(json.loads(outputs)), *others)


def find_files_to_redo(
    db: Connection, mode: str, recipes: Iterable[tuple[str, str]], file_ids: Collection[int] | None
) -> Iterator[tuple[str, list[int]]]:
    """For each output the files for which it would be made again; among these files, or (None) all."""
    ids = None if file_ids is None else json.dumps(list(file_ids))
    for name, recipe in recipes:
        found: list[int] = []
        for part in _REDO_QUERIES[mode]:
            rows = db.execute(
                f"SELECT file_id FROM digests {part} AND digester = :name AND held = 0"
                if ids is None
                else f"""
                SELECT file_id FROM digests INDEXED BY digests_of_file WHERE {part.partition("WHERE")[2]}
                   AND digester = :name AND held = 0 AND file_id IN (SELECT value FROM json_each(:ids))
                """,
                {"name": name, "recipe": recipe, "ids": ids, **NOT_OUTDATED},
            )
            found += [row[0] for row in rows]
        yield name, found


def add(
    db: Connection,
    key: str,
    what: str,
    mode: str,
    digesters: Sequence[str] | None,
    file_ids: Collection[int],
    now: str,
) -> Job:
    """Add a job; one without files is done."""
    state = "running" if file_ids else "done"
    row = db.execute(
        """
        INSERT INTO jobs (key, what, mode, digesters, state, total, created_at, finished_at)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?) RETURNING id
        """,
        (key, what, mode, None if digesters is None else json.dumps(list(digesters)), state, len(file_ids), now,
         None if file_ids else now),
    ).fetchone()  # fmt: skip
    db.execute(
        "INSERT INTO job_files (job_id, file_id) SELECT ?, value FROM json_each(?) ORDER BY value",
        (row[0], json.dumps(list(file_ids))),
    )
    job = by_id(db, row[0])
    assert job is not None
    return job


def by_id(db: Connection, job_id: int) -> Job | None:
    row = db.execute(f"SELECT {_COLUMNS} FROM jobs WHERE id = ?", (job_id,)).fetchone()
    return _from_row(row) if row else None


def find_open(db: Connection, key: str) -> Job | None:
    """The open job with the same key."""
    row = db.execute(
        f"SELECT {_COLUMNS} FROM jobs INDEXED BY jobs_open WHERE key = ? AND state IN ('running', 'paused')", (key,)
    ).fetchone()
    return _from_row(row) if row else None


def list_jobs(db: Connection, limit: int) -> list[Job]:
    """The newest jobs; open ones first."""
    rows = db.execute(f"SELECT {_COLUMNS} FROM jobs ORDER BY finished_at IS NOT NULL, id DESC LIMIT ?", (limit,))
    return [_from_row(row) for row in rows]


def list_running(db: Connection) -> list[Job]:
    """The running jobs, oldest first."""
    rows = db.execute(f"SELECT {_COLUMNS} FROM jobs WHERE state = 'running' ORDER BY id")
    return [_from_row(row) for row in rows]


def list_open(db: Connection) -> list[Job]:
    """The jobs that are not over, or have requested files that may still finish; oldest first."""
    rows = db.execute(
        f"""
        SELECT {_COLUMNS} FROM jobs
         WHERE state IN ('running', 'paused')
            OR (state = 'cancelled' AND EXISTS (SELECT 1 FROM job_files f WHERE f.job_id = jobs.id))
         ORDER BY id
        """
    )
    return [_from_row(row) for row in rows]


def change_state(db: Connection, job_id: int, leaves: Collection[str], state: str, now: str | None) -> bool:
    """Change from one of these states to another; `now` if it is over. False if it was in none of them."""
    placeholders = ", ".join("?" for _ in leaves)
    count = db.execute(
        f"UPDATE jobs SET state = ?, finished_at = ? WHERE id = ? AND state IN ({placeholders})",
        (state, now, job_id, *leaves),
    ).rowcount
    return count == 1


def next_files(db: Connection, job_id: int, now: str, limit: int, without: Collection[str] = ()) -> list[int]:
    """The next files in turn; files that are being worked on come later.

    Only files for which none of the outputs `without` is made.
    """
    rows = db.execute(
        """
        SELECT file_id FROM job_files
         WHERE job_id = :job AND asked = 0
           AND NOT EXISTS (SELECT 1 FROM processing_locks l
                            WHERE l.file_id = job_files.file_id AND l.lease_until > :now)
           AND (:names = '[]'
                OR NOT EXISTS (SELECT 1 FROM digests d INDEXED BY digests_of_file
                                WHERE d.file_id = job_files.file_id
                                  AND d.digester IN (SELECT value FROM json_each(:names))
                                  AND NOT (d.status = 'skipped' AND d.error = 'not applicable')))
         ORDER BY file_id LIMIT :limit
        """,
        {"job": job_id, "now": now, "limit": limit, "names": json.dumps(list(without))},
    )
    return [row[0] for row in rows]


def still_waiting(db: Connection, job_id: int, file_ids: Iterable[int], now: str) -> list[int]:
    """Those of these files that were not started since."""
    rows = db.execute(
        """
        SELECT file_id FROM job_files
         WHERE job_id = ? AND file_id IN (SELECT value FROM json_each(?)) AND asked = 0
           AND NOT EXISTS (SELECT 1 FROM processing_locks l
                            WHERE l.file_id = job_files.file_id AND l.lease_until > ?)
         ORDER BY file_id
        """,
        (job_id, json.dumps(list(file_ids)), now),
    )
    return [row[0] for row in rows]


def all_waiting(db: Connection, job_id: int) -> list[int]:
    """All files of a job whose turn has not come."""
    rows = db.execute("SELECT file_id FROM job_files WHERE job_id = ? AND asked = 0 ORDER BY file_id", (job_id,))
    return [row[0] for row in rows]


def has_files(db: Connection, job_id: int) -> bool:
    """Whether a job has files that are not finished."""
    return db.execute("SELECT 1 FROM job_files WHERE job_id = ? LIMIT 1", (job_id,)).fetchone() is not None


def count_asked(db: Connection, slow: Collection[str] = ()) -> tuple[int, int]:
    """How many started files of all jobs are unfinished: those without an output in `slow` to make, and the others."""
    row = db.execute(
        f"""
        SELECT count(*), coalesce(sum(EXISTS (
                   SELECT 1 FROM digests d INDEXED BY digests_of_file
                    WHERE d.file_id = job_files.file_id AND d.digester IN (SELECT value FROM json_each(:slow))
                      AND {_PENDING})), 0)
          FROM job_files INDEXED BY job_files_asked WHERE asked = 1
        """,
        {"slow": json.dumps(list(slow))},
    ).fetchone()
    return int(row[0]) - int(row[1]), int(row[1])


def count_waiting(db: Connection) -> int:
    """How many files of running jobs have not had their turn."""
    row = db.execute(
        """
        SELECT count(*) FROM jobs JOIN job_files f ON f.job_id = jobs.id
         WHERE jobs.state = 'running' AND f.asked = 0
        """
    ).fetchone()
    return int(row[0])


def mark_asked(db: Connection, job_id: int, file_ids: Iterable[int]) -> None:
    db.executemany(
        "UPDATE job_files SET asked = 1 WHERE job_id = ? AND file_id = ?", [(job_id, file_id) for file_id in file_ids]
    )


def list_file_progress(db: Connection, job: Job) -> list[FileProgress]:
    """The progress of the requested files."""
    rows = db.execute(
        f"""
        SELECT job_files.file_id, coalesce(files.vanished_at IS NULL AND files.id IS NOT NULL, 0),
               coalesce(max({_PENDING}), 0), coalesce(max(d.status = 'failed'), 0)
          FROM job_files INDEXED BY job_files_asked
          LEFT JOIN files ON files.id = job_files.file_id
          LEFT JOIN digests d ON d.file_id = files.id
               AND (:names IS NULL OR d.digester IN (SELECT value FROM json_each(:names)))
         WHERE job_files.job_id = :job AND job_files.asked = 1
         GROUP BY job_files.file_id
        """,
        {"job": job.id, "names": None if job.digesters is None else json.dumps(job.digesters)},
    )
    return [FileProgress(row[0], bool(row[1]), bool(row[2]), bool(row[3])) for row in rows]


def record_results(
    db: Connection, job_id: int, done: Collection[int], failed: Collection[int], left_out: Collection[int]
) -> None:
    """Record that these files had their turn."""
    finished = json.dumps([*done, *failed, *left_out])
    db.execute(
        "DELETE FROM job_files WHERE job_id = ? AND file_id IN (SELECT value FROM json_each(?))", (job_id, finished)
    )
    db.execute(
        "UPDATE jobs SET done = done + ?, failed = failed + ?, left_out = left_out + ? WHERE id = ?",
        (len(done), len(failed), len(left_out), job_id),
    )


def finish(db: Connection, job_id: int, now: str) -> bool:
    """Finish a job that has nothing left to do. Returns whether this finished it."""
    count = db.execute(
        """
        UPDATE jobs SET state = 'done', finished_at = ?
         WHERE id = ? AND state IN ('running', 'paused') AND NOT EXISTS (SELECT 1 FROM job_files WHERE job_id = jobs.id)
        """,
        (now, job_id),
    ).rowcount
    return count == 1


def forget_files(db: Connection, job_id: int) -> None:
    """Remove the files of a job that have not had their turn."""
    db.execute("DELETE FROM job_files WHERE job_id = ? AND asked = 0", (job_id,))


def prune(db: Connection, before: str, limit: int) -> int:
    """Delete jobs that ended before this time, and all but the last `limit`. Returns how many."""
    return db.execute(
        """
        DELETE FROM jobs
         WHERE finished_at IS NOT NULL
           AND (finished_at < :before
                OR id NOT IN (SELECT id FROM jobs WHERE finished_at IS NOT NULL ORDER BY id DESC LIMIT :most))
        """,
        {"before": before, "most": limit},
    ).rowcount
