"""Copies of databases: made while they are in use, looked at, and put in the place of another."""

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

SHARED_FIRST, SHARED_SIZE = 0x40000002, 510  # the bytes that whoever reads a database has locked
ALONE_SECONDS = 2.0  # for somebody who is just closing


def copy_into(source: Path, target: Path) -> None:
    """A copy of one moment, whoever writes meanwhile; compact, and in one file. `target` must not be there."""
    with _explained(target), damage.explain_errors(source), contextlib.closing(connect(source)) as db:
        db.execute("VACUUM INTO ?", (os.fspath(target),))


def schema_of(copy: Path) -> int:
    """The number of the last migration that a copy has seen; VaultError when it is no database."""
    with _explained(copy), _unchanged(copy) as db:
        return int(db.execute("PRAGMA user_version").fetchone()[0])


def find_faults(copy: Path) -> list[str]:
    """What is wrong with a copy; empty when all is well."""
    try:
        with _explained(copy), _unchanged(copy) as db:
            found = [str(row[0]) for row in db.execute("PRAGMA integrity_check(20)") if row[0] != "ok"]
            return found + [f"{row[0]} refers to a missing row" for row in db.execute("PRAGMA foreign_key_check")]
    except VaultError as error:
        return [str(error)]


def counts(copy: Path) -> dict[str, int]:
    """How much a copy of a vault holds of what people made or want back."""
    tables = ("files", "digests", "sqlar", "edits", "people", "tags")
    with _unchanged(copy) as db:
        return {table: int(db.execute(f"SELECT count(*) FROM {table}").fetchone()[0]) for table in tables}


def remove_sessions(copy: Path) -> None:
    """Who is signed in is nobody's business elsewhere, nor later."""
    with _explained(copy), contextlib.closing(sqlite3.connect(copy, isolation_level=None)) as db:
        db.execute("PRAGMA secure_delete = ON")
        db.execute("DELETE FROM sessions")


def remove_owner(copy: Path) -> None:
    """Forget which process worked on what and where the vault lay: neither is true where the copy is used."""
    with _explained(copy), contextlib.closing(sqlite3.connect(copy, isolation_level=None)) as db:
        db.execute("BEGIN")
        db.execute("DELETE FROM processing_locks")
        db.execute("DELETE FROM marks WHERE name = 'root'")
        db.execute("COMMIT")


def has_accounts(path: Path) -> bool:
    """Whether there are users or tokens in a server's database."""
    with _explained(path), contextlib.closing(connect(path)) as db:
        known = {row[0] for row in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
        if not {"users", "tokens"} <= known:
            return False
        row = db.execute("SELECT EXISTS (SELECT 1 FROM users) OR EXISTS (SELECT 1 FROM tokens)").fetchone()
        return bool(row[0])


def merge_journal(path: Path) -> None:
    """Leave a database as one file without journal, as nobody else has it open; VaultError when somebody has.

    A journal that stayed behind would be read into whatever is put in the database's place.
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
        # It is broken, which may be why somebody restores.
    finally:
        db.close()


def refuse_in_use(path: Path) -> None:
    """VaultError while another process has a database open, damaged as it may be: SQLite's own lock says so."""
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
def _unchanged(copy: Path) -> Iterator[sqlite3.Connection]:
    """A copy that nobody else uses, opened without leaving a journal beside it."""
    with contextlib.closing(sqlite3.connect(f"{copy.absolute().as_uri()}?immutable=1", uri=True)) as db:
        yield db


@contextlib.contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL:
            raise DiskFull(
                f"there is no room for {path.name} in {path.parent}; make room, or choose another disk"
            ) from error
        raise VaultError(f"{path.name} cannot be used as a database: {error}") from error
