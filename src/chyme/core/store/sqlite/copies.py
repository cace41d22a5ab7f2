"""Copies of databases: made while in use, inspected, and prepared to replace another database."""

from __future__ import annotations

import contextlib
import fcntl
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from chyme.core.store.sqlite import damage
from chyme.core.store.sqlite.database import connect
from chyme.errors import DiskFull, VaultError

SHARED_FIRST, SHARED_SIZE = 0x40000002, 510  # the bytes that every reader of a database locks
ALONE_SECONDS = 2.0  # to wait for a process that is just closing


def copy_into(source: Path, target: Path) -> None:
    """Make a consistent, compact copy in one file, even while others write. `target` must not exist."""
    with _explain_errors(target), damage.explain_errors(source), contextlib.closing(connect(source)) as db:
        db.execute("VACUUM INTO ?", (os.fspath(target),))


def schema_of(copy: Path) -> int:
    """The number of the last migration applied to a copy; VaultError when it is not a database."""
    with _explain_errors(copy), _open_immutable(copy) as db:
        return int(db.execute("PRAGMA user_version").fetchone()[0])


def find_faults(copy: Path) -> list[str]:
    """What is wrong with a copy; empty when nothing is."""
    try:
        with _explain_errors(copy), _open_immutable(copy) as db:
            faults = [str(row[0]) for row in db.execute("PRAGMA integrity_check(20)") if row[0] != "ok"]
            return faults + [f"{row[0]} refers to a missing row" for row in db.execute("PRAGMA foreign_key_check")]
    except VaultError as error:
        return [str(error)]


def counts(copy: Path) -> dict[str, int]:
    """How many rows a copy of a vault has in the tables that people care about."""
    tables = ("files", "digests", "sqlar", "edits", "people", "tags")
    with _open_immutable(copy) as db:
        return {table: int(db.execute(f"SELECT count(*) FROM {table}").fetchone()[0]) for table in tables}


def remove_sessions(copy: Path) -> None:
    """Delete all sessions and invitations: neither may be valid elsewhere or later."""
    with _explain_errors(copy), contextlib.closing(sqlite3.connect(copy, isolation_level=None)) as db:
        db.execute("PRAGMA secure_delete = ON")
        db.execute("DELETE FROM sessions")
        if db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'invitation_grants'").fetchone():
            db.execute("DELETE FROM invitation_grants")
            db.execute("DELETE FROM invitations")


def remove_owner(copy: Path) -> None:
    """Forget which process worked on what and where the vault was: neither is true where the copy is used."""
    with _explain_errors(copy), contextlib.closing(sqlite3.connect(copy, isolation_level=None)) as db:
        db.execute("BEGIN")
        db.execute("DELETE FROM processing_locks")
        db.execute("DELETE FROM marks WHERE name = 'root'")
        db.execute("COMMIT")


def end_links(copy: Path, now: str) -> None:
    """End links to files and feeds: one that was ended after the backup must not open again."""
    with _explain_errors(copy), contextlib.closing(sqlite3.connect(copy, isolation_level=None)) as db:
        tables = {row[0] for row in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
        db.execute("BEGIN")
        if "shares" in tables:
            db.execute("UPDATE shares SET ended_at = ?, ended_by = 'restore' WHERE ended_at IS NULL", (now,))
        if "saved_searches" in tables:
            db.execute("UPDATE saved_searches SET feed_hash = NULL, feed_made_at = NULL, feed_read_at = NULL")
        db.execute("COMMIT")


def has_accounts(path: Path) -> bool:
    """Whether there are users or tokens in a server's database."""
    with _explain_errors(path), contextlib.closing(connect(path)) as db:
        tables = {row[0] for row in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
        if not {"users", "tokens"} <= tables:
            return False
        row = db.execute("SELECT EXISTS (SELECT 1 FROM users) OR EXISTS (SELECT 1 FROM tokens)").fetchone()
        return bool(row[0])


def merge_journal(path: Path) -> None:
    """Turn a database into one file without a journal; VaultError when another process has it open.

    A leftover journal would be applied to the database that replaces this one.
    """
    db = sqlite3.connect(path, timeout=ALONE_SECONDS, isolation_level=None)
    try:
        db.execute("PRAGMA locking_mode = EXCLUSIVE")
        db.execute("BEGIN EXCLUSIVE")
        db.execute("COMMIT")
        db.execute("PRAGMA journal_mode = DELETE")
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise _in_use(path) from error
        # It is broken, which may be the reason for the restore.
    finally:
        db.close()


def refuse_in_use(path: Path) -> None:
    """Raise VaultError while another process has a database open, even a damaged one: SQLite's own lock shows it."""
    if not path.exists():
        return
    descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, SHARED_SIZE, SHARED_FIRST, os.SEEK_SET)
    except BlockingIOError as error:
        raise _in_use(path) from error
    finally:
        os.close(descriptor)


def _in_use(path: Path) -> VaultError:
    return VaultError(f"{path} is open in another chyme process; end it first ('chyme serve', 'digest' or 'mcp')")


@contextlib.contextmanager
def _open_immutable(copy: Path) -> Iterator[sqlite3.Connection]:
    """Open a copy that no other process uses, without leaving a journal beside it."""
    with contextlib.closing(sqlite3.connect(f"{copy.absolute().as_uri()}?immutable=1", uri=True)) as db:
        yield db


@contextlib.contextmanager
def _explain_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL:
            raise DiskFull(
                f"there is no room for {path.name} in {path.parent}; make room, or choose another disk"
            ) from error
        raise VaultError(f"{path.name} cannot be used as a database: {error}") from error
