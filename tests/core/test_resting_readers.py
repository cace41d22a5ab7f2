"""A thread that waits gives its connection to others."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from chyme.core.store.sqlite.database import Database
from chyme.errors import VaultGone


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    made = Database(tmp_path / "state")
    yield made
    made.close()


def test_many_threads_that_wait_share_one_connection(database: Database) -> None:
    seen: set[int] = set()

    def read_and_rest() -> None:
        db = database.read()
        seen.add(id(db))
        assert db.execute("SELECT count(*) FROM files").fetchone() == (0,)
        database.rest()

    for _ in range(20):
        thread = threading.Thread(target=read_and_rest)
        thread.start()
        thread.join()

    assert len(seen) == 1


def test_a_thread_that_reads_keeps_its_connection(database: Database) -> None:
    mine = database.read()
    others: list[object] = []
    thread = threading.Thread(target=lambda: others.append(database.read()))
    thread.start()
    thread.join()

    assert database.read() is mine
    assert others != [mine]


def test_a_connection_of_a_database_that_was_moved_away_is_not_used_again(database: Database) -> None:
    database.read()
    database.rest()
    database.path.rename(database.path.with_name("moved"))

    with pytest.raises(VaultGone):
        database.read()
    database.path.with_name("moved").rename(database.path)
