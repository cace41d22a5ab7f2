"""One writer commits requests in groups, and answers none before it is durable."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from waiting import AMPLE

from chyme.core.store.sqlite.database import connect
from chyme.core.store.sqlite.writer import Writer
from chyme.errors import DiskFull, UsageError, VaultError

Work = Callable[[sqlite3.Connection], int]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "w.db"
    db = connect(path)
    db.execute("CREATE TABLE notes (n INTEGER PRIMARY KEY, text TEXT) STRICT")
    db.close()
    return path


@pytest.fixture
def writer(path: Path) -> Iterator[Writer]:
    writer = Writer(lambda: connect(path))
    yield writer
    writer.close()


def add(n: int, text: str = "") -> Work:
    return lambda db: db.execute("INSERT INTO notes VALUES (?, ?)", (n, text)).rowcount


def stored(path: Path) -> list[int]:
    db = connect(path)
    try:
        return [row[0] for row in db.execute("SELECT n FROM notes ORDER BY n")]
    finally:
        db.close()


def block_writer(writer: Writer) -> threading.Event:
    """Keep the writer busy until the event is set, so that requests pile up behind it."""
    busy, free = threading.Event(), threading.Event()

    def wait(_db: sqlite3.Connection) -> None:
        busy.set()
        free.wait(AMPLE)

    threading.Thread(target=lambda: writer.write(wait)).start()
    busy.wait(AMPLE)
    return free


def test_many_requests_share_one_commit_and_all_are_there(writer: Writer, path: Path) -> None:
    free = block_writer(writer)
    before = writer.commits
    with ThreadPoolExecutor(32) as pool:
        answers = [pool.submit(writer.write, add(n)) for n in range(32)]
        while writer._queue.qsize() < 32:
            pass
        free.set()
        assert [answer.result() for answer in answers] == [1] * 32

    assert stored(path) == list(range(32))
    assert writer.commits - before <= 2


def test_one_bad_request_spoils_no_other_in_its_batch(writer: Writer, path: Path) -> None:
    def bad(db: sqlite3.Connection) -> None:
        db.execute("INSERT INTO notes VALUES (100, '')")
        raise UsageError("no")

    free = block_writer(writer)
    with ThreadPoolExecutor(8) as pool:
        good = [pool.submit(writer.write, add(n)) for n in range(3)]
        wrong = pool.submit(writer.write, bad)
        twice = pool.submit(writer.write, add(1))
        while writer._queue.qsize() < 5:
            pass
        free.set()
        errors = [answer.exception() for answer in (*good, twice)]
        with pytest.raises(UsageError):
            wrong.result()

    assert sum(isinstance(error, sqlite3.IntegrityError) for error in errors) == 1
    assert stored(path) == [0, 1, 2]


def test_a_full_disk_is_reported_and_requests_that_fit_are_written(writer: Writer, path: Path) -> None:
    writer.run_outside_transaction(lambda db: db.execute("PRAGMA max_page_count = 30").fetchall())
    free = block_writer(writer)
    with ThreadPoolExecutor(8) as pool:
        small = [pool.submit(writer.write, add(n, "small")) for n in range(3)]
        large = pool.submit(writer.write, add(50, "x" * 300_000))
        late = pool.submit(writer.write, add(4, "small"))
        while writer._queue.qsize() < 5:
            pass
        free.set()
        assert [answer.result() for answer in (*small, late)] == [1] * 4
        with pytest.raises(DiskFull, match="make room"):
            large.result()

    assert stored(path) == [0, 1, 2, 4]


def test_the_writer_waits_for_another_process_that_has_the_lock(writer: Writer, path: Path) -> None:
    other = connect(path)
    other.execute("BEGIN IMMEDIATE")
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(writer.write, add(1))
        assert not answer.done()
        other.execute("COMMIT")
        other.close()
        assert answer.result(AMPLE) == 1


def test_after_an_unexpected_error_the_caller_is_told_and_the_writer_goes_on(path: Path) -> None:
    problems = [OSError("out of the blue")]

    def require_present() -> None:
        if problems:
            raise problems.pop()

    writer = Writer(lambda: connect(path), require_present=require_present)
    with pytest.raises(OSError, match="out of the blue"):
        writer.submit(add(1)).result(AMPLE)
    assert writer.submit(add(2)).result(AMPLE) == 1
    writer.close()
    assert stored(path) == [2]


def test_closing_finishes_pending_requests_and_refuses_later_requests(path: Path) -> None:
    writer = Writer(lambda: connect(path))
    free = block_writer(writer)
    with ThreadPoolExecutor(2) as pool:
        pending = pool.submit(writer.write, add(7))
        while writer._queue.qsize() < 1:
            pass
        closing = pool.submit(writer.close)
        free.set()
        assert pending.result(AMPLE) == 1
        closing.result(AMPLE)
    assert stored(path) == [7]
    with pytest.raises(VaultError, match="closed"):
        writer.write(add(8))


def test_a_long_batch_is_cut_into_several_commits(writer: Writer, path: Path) -> None:
    def slow(n: int) -> Work:
        def work(db: sqlite3.Connection) -> int:
            threading.Event().wait(0.06)
            return db.execute("INSERT INTO notes VALUES (?, '')", (n,)).rowcount

        return work

    free = block_writer(writer)
    before = writer.commits
    with ThreadPoolExecutor(8) as pool:
        answers = [pool.submit(writer.write, slow(n)) for n in range(6)]
        while writer._queue.qsize() < 6:
            pass
        free.set()
        for answer in answers:
            answer.result()
    assert writer.commits - before >= 3
    assert stored(path) == list(range(6))
