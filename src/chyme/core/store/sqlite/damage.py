"""Recognise a database that is damaged or not chyme's, and raise errors that say what to do."""

from __future__ import annotations

import contextlib
import logging
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

from chyme.errors import DatabaseDamaged

log = logging.getLogger(__name__)  # commands report damage in another way, and silence this logger

SERVER_FILE = "server.db"
DAMAGE_CODES = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
HEADER = b"SQLite format 3\0"
STEPS = 10_000  # SQLite instructions between two checks of the clock
# Tables of the first migration, which every database of ours has; by the folder of its migrations.
REQUIRED_TABLES = {
    "migrations": frozenset({"files", "digests", "documents", "sqlar", "marks"}),
    "server_migrations": frozenset({"users", "tokens", "sessions"}),
}
REMEDIES = (
    "restore a backup ('chyme restore FILE --into VAULT'), or run 'chyme rescue': it builds a new database from the "
    "files, keeps what can still be read of edits, people and captured web pages, and deletes nothing"
)
SERVER_REMEDIES = (
    "restore the accounts of a backup ('chyme restore FILE --into VAULT --server --replace'), or move this file away "
    "and make the accounts again ('chyme users add', 'chyme tokens add')"
)


def is_damage(error: BaseException) -> bool:
    """Whether SQLite reports that the file is not a database, or is incomplete or corrupt."""
    if not isinstance(error, sqlite3.DatabaseError):
        return False
    code = getattr(error, "sqlite_errorcode", None)
    if code is None:  # raised by Python's module, not by SQLite: text that is not UTF-8 has been overwritten
        return isinstance(error, sqlite3.OperationalError) and "decode to UTF-8" in str(error)
    return code & 0xFF in DAMAGE_CODES


def damage_error(path: Path, cause: str) -> DatabaseDamaged:
    """The error for people: the file, the cause, the remedies."""
    remedies = SERVER_REMEDIES if path.name == SERVER_FILE else REMEDIES
    return DatabaseDamaged(f"the database {path} {cause}; {remedies}", cause)


def describe(path: Path, error: BaseException) -> str:
    """What is wrong with a database that SQLite refused, as far as its first bytes show."""
    try:
        with path.open("rb") as stream:
            head = stream.read(100)
        size = path.stat().st_size
    except OSError as unreadable:
        return f"cannot be read ({unreadable.strerror})"
    if not size:
        return "is empty (0 bytes)"
    if head[:16] != HEADER:
        return "does not begin like a database: its beginning was overwritten, or it is another kind of file"
    page = int.from_bytes(head[16:18], "big")
    expected = int.from_bytes(head[28:32], "big") * (65536 if page == 1 else page)
    if size < expected:
        return f"is cut short: {size:,} of {expected:,} bytes are left"
    message = "a text in it is not readable" if "UTF-8" in str(error) else str(error)
    return f"is damaged ({message})"


@contextlib.contextmanager
def explain_errors(path: Path) -> Iterator[None]:
    """Turn SQLite errors about a damaged database into readable errors."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        if not is_damage(error):
            raise
        raise damage_error(path, describe(path, error)) from error


def refuse_lost(path: Path) -> None:
    """Raise an error if the file is empty or missing but caches, copies or a journal show that there was a vault."""
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        size = -1
    if size > 0:
        return
    journal = path.with_name(f"{path.name}-wal")
    leftovers = [journal.name] if journal.exists() and journal.stat().st_size else []
    if size == 0:
        leftovers += [
            entry.name
            for entry in sorted(path.parent.iterdir())
            if entry.is_dir() or (entry.suffix == path.suffix and entry != path)
        ]
    if leftovers:
        state = "is empty (0 bytes)" if size == 0 else "is gone"
        way_back = "" if size == 0 else "; if it was only renamed, put it back"
        raise damage_error(path, f"{state}, though there was one here: {leftovers[0]} is still beside it{way_back}")


def refuse_foreign(db: sqlite3.Connection, path: Path, schema: str) -> None:
    """Raise an error for another application's database, without changing even its journal mode."""
    db.execute("BEGIN")  # both are of the same moment: another process may be making the tables
    try:
        version = int(db.execute("PRAGMA user_version").fetchone()[0])
        tables = {str(row[0]) for row in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    finally:
        db.rollback()
    own = {name for name in tables if not name.startswith("sqlite_")}
    missing = REQUIRED_TABLES[schema] - own
    if (version == 0 and not own) or (version > 0 and not missing):
        return
    if missing == REQUIRED_TABLES[schema]:
        sample = ", ".join(sorted(own)[:3]) or "none"
        raise damage_error(path, f"belongs to another application (its tables: {sample[:100]})")
    raise damage_error(path, f"is damaged (tables are missing: {', '.join(sorted(missing))})")


def diagnose(path: Path, schema: str) -> str | None:
    """Check a database completely that no process has open; return what is wrong, None when nothing is."""
    try:
        refuse_lost(path)
        if not path.stat().st_size:
            return "is empty (0 bytes)"
        with explain_errors(path), contextlib.closing(sqlite3.connect(path)) as db:
            refuse_foreign(db, path, schema)
            result = str(db.execute("PRAGMA integrity_check(1)").fetchone()[0])
    except DatabaseDamaged as error:
        return error.cause
    return None if result == "ok" else f"is damaged ({result.splitlines()[-1]})"


def quick_check(db: sqlite3.Connection, seconds: float) -> str | None:
    """What is wrong with a database, as far as it can be seen within `seconds`; None when nothing is."""
    deadline = time.monotonic() + seconds
    db.set_progress_handler(lambda: time.monotonic() > deadline, STEPS)
    try:
        result = db.execute("PRAGMA quick_check(1)").fetchone()
        return None if result is None or result[0] == "ok" else str(result[0]).splitlines()[-1]
    except sqlite3.DatabaseError as error:
        return str(error) if is_damage(error) else None
    finally:
        db.set_progress_handler(None, 0)
