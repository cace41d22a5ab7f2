"""Queries about one file or one output must not take longer because the vault has many."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from sqlite3 import Connection

import pytest

from chyme.core.store import digest_queue, digest_resets, digests, files, removed_digesters, row_ids
from chyme.core.store.sqlite.database import Database
from chyme.model import Kind, Seen, Stamp

FILES = 400
OUTPUTS = [f"output-{number:02}" for number in range(20)]
NOW = "2026-03-04T12:00:00.000Z"


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    """A database with many files; all their digests are completed."""
    database = Database(tmp_path)

    def fill(db: Connection) -> None:
        for number in range(FILES):
            path = f"note {number}.txt"
            seen = Seen(path, False, Kind.TEXT, "text/plain", Stamp("1", str(number), 5, 0), str(number))
            file_id = files.insert(db, seen, NOW)
            digests.register(db, file_id, path, [(name, True, 3) for name in OUTPUTS], "not applicable", NOW)
        db.execute("UPDATE digests SET status = 'completed', settled = 1, recipe = 'r'")

    database.write(fill)
    yield database
    database.close()


def plan_of(database: Database, work: Callable[[Connection], object]) -> list[str]:
    """Return how SQLite finds the rows of each statement that this work executes."""

    def explain(db: Connection) -> list[str]:
        executed: list[str] = []
        db.set_trace_callback(executed.append)
        work(db)
        db.set_trace_callback(None)
        return [row[3] for statement in executed for row in db.execute(f"EXPLAIN QUERY PLAN {statement}")]

    return database.write(explain)


def steps_of(database: Database, work: Callable[[Connection], object]) -> int:
    """Return how many hundred instructions SQLite needs for this work."""

    def count(db: Connection) -> int:
        steps = [0]

        def step() -> int:
            steps[0] += 1
            return 0

        db.set_progress_handler(step, 100)
        work(db)
        db.set_progress_handler(None, 0)
        return steps[0]

    return database.write(count)


def test_a_retry_of_one_file_looks_at_no_other(database: Database) -> None:
    def fail(db: Connection) -> None:
        db.execute(
            "UPDATE digests SET status = 'failed', error = 'x', error_category = 'crash' WHERE file_id IN (7, 8)"
        )
        db.execute("UPDATE digests SET provider = 'llm' WHERE file_id = 9 AND digester = ?", (OUTPUTS[3],))

    database.write(fail)
    plan = plan_of(database, lambda db: digest_resets.retry_failed(db, [7], OUTPUTS[:2], NOW))
    assert plan[0].startswith("SEARCH digests USING INDEX digests_of_file (file_id=?")
    assert steps_of(database, lambda db: digest_resets.retry_failed(db, [8], OUTPUTS, NOW)) < 80  # triggers count each
    assert database.write(lambda db: digest_resets.retry_failed(db, [7, 9], None, NOW)) == len(OUTPUTS) - 2 + 1
    assert digest_queue.count_unfinished(database.read())[0] == 2 * len(OUTPUTS) + 1


def test_changing_the_lane_of_an_output_looks_at_no_other(database: Database) -> None:
    plan = plan_of(database, lambda db: digest_queue.change_lane(db, OUTPUTS[4], 3))
    assert plan == ["SEARCH digests USING INDEX digests_by_status (status=? AND digester=?)"]

    rows = database.read().execute("SELECT digester, count(*) FROM digests WHERE weight = 3003 GROUP BY 1").fetchall()
    assert rows == [(OUTPUTS[4], FILES)]
    assert database.write(lambda db: digest_queue.change_lane(db, OUTPUTS[4], 3)) == 0


def test_files_that_lack_a_row_are_walked_once(database: Database) -> None:
    names = [*OUTPUTS, "new"]
    found: list[int] = []
    while batch := digests.find_files_missing(database.read(), names, found[-1] if found else 0, 150):
        found += batch
    assert found == [row[0] for row in database.read().execute("SELECT id FROM files ORDER BY id")]
    assert digests.find_files_missing(database.read(), OUTPUTS) == []

    beginning = steps_of(database, lambda db: digests.find_files_missing(db, names, 0, FILES))
    end = steps_of(database, lambda db: digests.find_files_missing(db, names, found[-20], FILES))
    assert end < beginning / 10


def test_looking_for_removed_outputs_costs_nothing_while_there_are_none(database: Database) -> None:
    assert steps_of(database, lambda db: removed_digesters.find_removed_outputs(db, OUTPUTS)) < 50
    assert (
        steps_of(database, lambda db: [removed_digesters.requeue_skipped(db, name, NOW, 500) for name in OUTPUTS]) < 100
    )
    assert removed_digesters.find_removed_outputs(database.read(), OUTPUTS[1:]) == OUTPUTS[:1]


def test_ids_of_new_rows_stand_together_and_are_valid() -> None:
    earlier = list(row_ids.new_ids(50))
    time.sleep(0.002)
    later = list(row_ids.new_ids(50))

    assert max(earlier) < min(later)
    parsed = [uuid.UUID(id_) for id_ in earlier + later]
    assert len(set(parsed)) == 100
    assert {(id_.version, id_.variant) for id_ in parsed} == {(7, uuid.RFC_4122)}
    assert [str(id_) for id_ in parsed] == earlier + later
