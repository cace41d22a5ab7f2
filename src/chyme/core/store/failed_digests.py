"""Failed digests, to be grouped by cause and tried again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from sqlite3 import Connection

_BATCH = 1000
_FAILED = "status = 'failed' AND error_category <> 'dependency' AND held = 0"


@dataclass(frozen=True, slots=True)
class Failure:
    """One failed digest of a file on disk. `retry_at`: when it is tried again automatically."""

    id: str
    file_id: int
    path: str
    output: str
    category: str
    error: str
    retry_at: str | None
    updated_at: str


def iterate_failures(db: Connection) -> Iterator[Failure]:
    """What failed; what only waits for something else is not a failure."""
    rows = db.execute(
        f"""
        SELECT id, file_id, file_path, digester, error_category, error,
               CASE WHEN settled THEN NULL ELSE retry_at END, updated_at
          FROM digests INDEXED BY digests_failed WHERE {_FAILED}
        """
    )
    while batch := rows.fetchmany(_BATCH):
        yield from (Failure(*row) for row in batch)


def failed_outputs(db: Connection) -> set[tuple[int, str]]:
    """The same as (file, output)."""
    return set(db.execute(f"SELECT file_id, digester FROM digests INDEXED BY digests_failed WHERE {_FAILED}"))


def find_unchanged(db: Connection, failures: Sequence[Failure]) -> list[Failure]:
    """Those that still are as they were."""
    return [
        failure
        for failure in failures
        if db.execute(
            "SELECT 1 FROM digests WHERE id = ? AND status = 'failed' AND updated_at = ?",
            (failure.id, failure.updated_at),
        ).fetchone()
    ]
