"""The kept numbers of digests agree with the digests, whatever happens to them."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from sqlite3 import Connection

import pytest

from chyme.application import consistency_checks
from chyme.core.store import digest_counts, digest_queue, digest_resets, digests, files
from chyme.core.store.sqlite import database as database_module
from chyme.core.store.sqlite.database import FILE_NAME, Database
from chyme.model import Kind, Seen, Stamp, Status

NOW = "2026-03-04T12:00:00"
OUTPUTS = [(f"output-{number}", number % 2 == 0, 3) for number in range(6)]


def register(db: Connection, number: int) -> int:
    path = f"note-{number}.txt"
    stamp = Stamp("1", str(number), 1, 1)
    file_id = files.insert(db, Seen(path, False, Kind.TEXT, "text/plain", stamp, str(number)), NOW)
    digests.register(db, file_id, path, OUTPUTS, "not applicable", NOW)
    return file_id


def counted(db: Connection) -> dict[str, int]:
    rows = dict(db.execute("SELECT status, count(*) FROM digests WHERE held = 0 GROUP BY status").fetchall())
    return {str(status): rows.get(str(status), 0) for status in Status}


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with closing(Database(tmp_path)) as database:
        yield database


def test_counts_follow_every_change_of_a_digest(database: Database) -> None:
    rng = random.Random(7)

    def change(db: Connection) -> None:
        file_id, path = rng.choice(db.execute("SELECT id, path FROM files").fetchall())
        name = rng.choice(OUTPUTS)[0]
        row = (NOW, file_id, name)
        changes: list[Callable[[], object]] = [
            lambda: register(db, rng.randrange(10**9)),
            lambda: digests.register(db, file_id, path, OUTPUTS, "not applicable", NOW),
            lambda: digests.start(db, file_id, [name], "run", "recipe", "input", "2027", NOW),
            lambda: digests.complete(db, file_id, name, "text", "hash", None, "recipe", "input", 1, NOW),
            lambda: digest_queue.give_back(db, file_id, name, NOW),
            lambda: digest_queue.fail_interrupted(db, file_id, name, "it failed", NOW),
            lambda: digest_resets.retry_failed(db, [file_id], None, NOW),
            lambda: digest_resets.reset(db, file_id, [name], 0, NOW),
            lambda: digest_resets.cascade(db, file_id, [name], NOW),
            lambda: db.execute(
                "UPDATE digests SET status = 'skipped', settled = 1, error = 'x', error_category = NULL, "
                "run_id = NULL, updated_at = ? WHERE file_id = ? AND digester = ?",
                row,
            ),
            lambda: digest_queue.hold(db, file_id, held=rng.random() < 0.5),
            lambda: digests.delete_all(db, file_id),
            lambda: db.execute("DELETE FROM files WHERE id = ? AND (SELECT count(*) FROM files) > 5", (file_id,)),
        ]
        rng.choice(changes)()

    database.write(lambda db: [register(db, number) for number in range(8)])
    seen = set()
    for _ in range(600):
        database.write(change)
        db = database.read()
        assert digest_counts.by_status(db) == counted(db)
        seen |= {status for status, count in counted(db).items() if count}
    assert seen == {str(status) for status in Status}
    assert database.write(digest_counts.correct) == []


def test_what_is_rolled_back_is_not_counted(database: Database) -> None:
    def fail(db: Connection) -> None:
        register(db, 1)
        raise ValueError

    with pytest.raises(ValueError):
        database.write(fail)
    assert set(digest_counts.by_status(database.read()).values()) == {0}


def test_verify_reports_and_corrects_wrong_counts(database: Database) -> None:
    database.write(lambda db: register(db, 1))
    database.write(lambda db: db.execute("UPDATE digest_counts SET completed = 5 WHERE held = 0"))
    database.write(lambda db: db.execute("DELETE FROM digest_counts WHERE held = 1"))

    def wrong() -> list[str]:
        return [problem for problem in database.write(consistency_checks.find_problems) if "numbers" in problem]

    assert wrong() == [
        "numbers of digests that were wrong, and are corrected: of files: 3 unfinished, 5 completed, 3 skipped, "
        "0 failed kept, 3 unfinished, 0 completed, 3 skipped, 0 failed counted",
        "numbers of digests that were wrong, and are corrected: of vanished files: nothing kept, 0 unfinished, "
        "0 completed, 0 skipped, 0 failed counted",
    ]
    assert wrong() == []
    assert digest_counts.by_status(database.read()) == counted(database.read())


def test_an_older_vault_is_counted_once_when_it_is_opened(tmp_path: Path) -> None:
    older = [migration for migration in database_module.migrations() if migration[0] <= 10]
    with closing(sqlite3.connect(tmp_path / FILE_NAME, isolation_level=None)) as db:
        for _, _, script in older:
            db.executescript(script)
        db.execute("PRAGMA user_version = 10")
        db.execute(
            "INSERT INTO files (path, folder, name, kind, mime, size, mtime_ns, dev, inode, hash, created_at, "
            "updated_at) VALUES ('a', '', 'a', 'text', 'text/plain', 1, 1, '1', '1', 'x', ?, ?)",
            (NOW, NOW),
        )
        for number, (status, held) in enumerate((("todo", 0), ("completed", 0), ("completed", 1), ("skipped", 0))):
            db.execute(
                "INSERT INTO digests (id, file_id, file_path, digester, status, settled, held, recipe, created_at, "
                "updated_at) VALUES (?, 1, 'a', ?, ?, ?, ?, 'r', ?, ?)",
                (str(number), f"output-{number}", status, int(status != "todo"), held, NOW, NOW),
            )
    with closing(Database(tmp_path)) as database:
        counts = digest_counts.by_status(database.read())
        assert counts == {"todo": 1, "in-progress": 0, "completed": 1, "skipped": 1, "failed": 0}
        assert database.write(digest_counts.correct) == []
        assert database.read().execute("SELECT count(*) FROM digests WHERE recipe = 'r'").fetchone() == (4,)
