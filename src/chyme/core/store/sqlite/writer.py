"""One thread does all writing, and one commit serves all waiting callers."""

from __future__ import annotations

import contextlib
import logging
import queue
import sqlite3
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass, field
from typing import Any, TypeVar

from chyme.core.store.sqlite.presence import keep_open
from chyme.errors import ChymeError, DiskFull, VaultError, VaultGone

log = logging.getLogger(__name__)

T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]

BATCH_REQUESTS = 64
BATCH_BYTES = 16 * 1024 * 1024
BATCH_SECONDS = 0.1
BUSY_RETRY_SECONDS = 0.05
LINGER_SECONDS = 0.001


@dataclass(slots=True)
class _Request:
    work: Callable[[sqlite3.Connection], Any]
    size: int
    outside_transaction: bool = False
    answer: Future[Any] = field(default_factory=Future)
    result: Any = None
    error: BaseException | None = None


class Writer:
    """Runs every change to the database. A caller gets its result only after COMMIT returned.

    `require_present` raises VaultGone when the database is no longer at its path. It is called before and after each
    COMMIT: a change to a file that is no longer there is not acknowledged.
    """

    def __init__(
        self,
        connect: Callable[[], sqlite3.Connection],
        on_commit: Callable[[], None] | None = None,
        require_present: Callable[[], None] = lambda: None,
        explain: Callable[[BaseException], BaseException] | None = None,
    ) -> None:
        self._connect = connect
        self._on_commit = on_commit
        self._require_present = require_present
        self._explain = explain or explain_disk
        self._queue: queue.SimpleQueue[_Request | None] = queue.SimpleQueue()
        self._closed = False
        self._closing = threading.Lock()
        self._several_waiting = False
        self.commits = 0
        ready: Future[None] = Future()
        self._thread = threading.Thread(target=self._run, args=(ready,), name="chyme-writer", daemon=True)
        self._thread.start()
        ready.result()

    def write(self, work: Work[T], size: int = 0) -> T:
        """Run `work` in a transaction and return its result once it is durable.

        `work` may run more than once (a failed commit is retried), so it must change nothing but the database.
        """
        return self.submit(work, size).result()

    def submit(self, work: Work[T], size: int = 0) -> Future[T]:
        """Like `write`, without waiting: the future is set when the change is durable."""
        return self._enqueue(_Request(work, size))

    def run_outside_transaction(self, work: Work[T]) -> T:
        """Run work that cannot be part of a transaction (checkpoint, vacuum) on the writer's connection."""
        answer: Future[T] = self._enqueue(_Request(work, BATCH_BYTES, outside_transaction=True))
        return answer.result()

    def _enqueue(self, request: _Request) -> Future[Any]:
        with self._closing:
            if self._closed:
                raise VaultError("the vault is closed")
            self._queue.put(request)
        return request.answer

    def close(self) -> None:
        """Finish all requests, then stop."""
        with self._closing:
            if self._closed:
                return
            self._closed = True
            self._queue.put(None)
        self._thread.join()

    def _run(self, ready: Future[None]) -> None:
        try:
            db = self._connect()
        except BaseException as error:
            ready.set_exception(error)
            return
        ready.set_result(None)
        try:
            stop = False
            while not stop:
                first = self._queue.get()
                if first is None:
                    break
                batch, outside, stop = self._gather(first)
                try:
                    if batch:
                        self._commit(db, batch)
                    if outside is not None:
                        self._run_outside(db, outside)
                except BaseException as error:  # if this thread ended, every caller would wait for ever
                    self._give_up(db, [*batch, *([outside] if outside else [])], error)
                del first, batch, outside  # so that no long text is kept alive by these names while waiting
        finally:
            self._close(db)

    def _give_up(self, db: sqlite3.Connection, requests: list[_Request], error: BaseException) -> None:
        """Answer requests after an error that nobody expected."""
        log.error("the writer of the database failed; what it was asked for is not written", exc_info=error)
        self._roll_back(db)
        for request in requests:
            with contextlib.suppress(InvalidStateError):  # it has its answer
                request.answer.set_exception(error)

    def _close(self, db: sqlite3.Connection) -> None:
        try:
            self._require_present()
        except VaultGone:
            keep_open(db)
        else:
            db.close()

    def _gather(self, first: _Request) -> tuple[list[_Request], _Request | None, bool]:
        """Return a batch, a request that must run outside of it, and whether to stop afterwards."""
        if first.outside_transaction:
            return [], first, False
        batch, size = [first], first.size
        while len(batch) < BATCH_REQUESTS and size < BATCH_BYTES:
            try:
                # When several are waiting, more will come in a moment, and one commit serves them all.
                request = self._queue.get(timeout=LINGER_SECONDS if self._several_waiting else 0.0)
            except queue.Empty:
                break
            if request is None or request.outside_transaction:
                return batch, request, request is None
            batch.append(request)
            size += request.size
        self._several_waiting = len(batch) > 1
        return batch, None, False

    def _run_outside(self, db: sqlite3.Connection, request: _Request) -> None:
        try:
            self._require_present()
            request.answer.set_result(request.work(db))
        except BaseException as error:
            request.answer.set_exception(self._explain(error))

    def _commit(self, db: sqlite3.Connection, batch: list[_Request]) -> None:
        try:
            left_out = self._attempt(db, batch)
        except VaultGone as error:
            self._roll_back(db)
            for request in batch:
                request.answer.set_exception(VaultGone(str(error)))
            return
        except sqlite3.Error as error:
            self._roll_back(db)
            if len(batch) == 1:
                batch[0].answer.set_exception(self._explain(error))
                return
            # The whole transaction is lost, including released savepoints: each request gets its own.
            for request in batch:
                self._commit(db, [request])
            return
        self.commits += 1
        for request in batch[: len(batch) - len(left_out)]:
            if request.error is not None:
                request.answer.set_exception(self._explain(request.error))
            else:
                request.answer.set_result(request.result)
        if self._on_commit is not None:
            self._on_commit()
        if left_out:
            self._commit(db, left_out)

    def _attempt(self, db: sqlite3.Connection, batch: list[_Request]) -> list[_Request]:
        """Run what fits into the time of one batch; return the requests left for the next."""
        _begin(db)
        started = time.monotonic()
        for position, request in enumerate(batch):
            request.result, request.error = None, None
            if len(batch) == 1:
                self._run_request(db, request, "ROLLBACK")
            else:
                self._run_in_savepoint(db, request)
            if time.monotonic() - started > BATCH_SECONDS and position + 1 < len(batch):
                self._commit_if_present(db)
                return batch[position + 1 :]
        if db.in_transaction:
            self._commit_if_present(db)
        return []

    def _commit_if_present(self, db: sqlite3.Connection) -> None:
        self._require_present()
        db.execute("COMMIT")
        self._require_present()

    def _run_in_savepoint(self, db: sqlite3.Connection, request: _Request) -> None:
        db.execute("SAVEPOINT request")
        self._run_request(db, request, "ROLLBACK TO request")
        db.execute("RELEASE request")

    def _run_request(self, db: sqlite3.Connection, request: _Request, undo: str) -> None:
        try:
            request.result = request.work(db)
        except BaseException as error:
            if _transaction_lost(error, db):
                raise
            request.error = error
            db.execute(undo)

    def _roll_back(self, db: sqlite3.Connection) -> None:
        if db.in_transaction:
            try:
                db.execute("ROLLBACK")
            except sqlite3.Error as error:
                if not isinstance(self._explain(error), ChymeError):
                    log.exception("rollback failed")


def _begin(db: sqlite3.Connection) -> None:
    """Take the write lock, waiting for other processes for as long as needed."""
    logged = False
    while True:
        try:
            db.execute("BEGIN IMMEDIATE")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                raise
            if not logged:
                log.warning("the vault's database is busy in another process; waiting")
                logged = True
            time.sleep(BUSY_RETRY_SECONDS)


def _transaction_lost(error: BaseException, db: sqlite3.Connection) -> bool:
    """Whether SQLite itself rolled back the transaction, so that nothing in it can be kept."""
    return isinstance(error, sqlite3.Error) and not db.in_transaction


def explain_disk(error: BaseException) -> BaseException:
    """Turn SQLite errors about the disk into readable errors; return any other error unchanged."""
    if isinstance(error, ChymeError) or not isinstance(error, sqlite3.OperationalError):
        return error
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_FULL:
        full = DiskFull("the disk with the vault's database is full; make room and digestion goes on by itself")
        full.__cause__ = error
        return full
    if code in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN):
        failed = VaultError(f"the vault's database cannot be written ({error}); check the disk and its permissions")
        failed.__cause__ = error
        return failed
    return error
