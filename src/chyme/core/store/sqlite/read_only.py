"""Read a database where nothing can be written: a read-only disk, or another user's folder."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from chyme.errors import VaultError

REMEDY = "make it writable, or keep the database elsewhere: set state_dir (CHYME_STATE_DIR) to a folder of your own"


def is_writable(path: Path) -> bool:
    """Whether a database can be changed. Its folder must be writable, too: SQLite keeps the journal beside it."""
    if not os.access(path.parent, os.W_OK | os.X_OK):
        return False
    return not path.exists() or os.access(path, os.W_OK)


def read_only_error(path: Path) -> VaultError:
    """The error for an attempt to change something."""
    if not path.exists():
        return VaultError(f"{path.parent} is read-only, so chyme cannot keep its database there; {REMEDY}")
    return VaultError(f"{path} is read-only: what is known can be searched and shown, but nothing changed; {REMEDY}")


def connect_read_only(path: Path) -> sqlite3.Connection:
    """A connection that leaves no trace. VaultError where that is not safe.

    Without a journal there is no writer, and the file is read as it is. With one, the journal's pages must be read too,
    for which SQLite needs the shared index beside it.
    """
    address = path.absolute().as_uri()
    in_use = any(Path(f"{path}{suffix}").exists() for suffix in ("-wal", "-shm"))
    try:
        return _open_checked(f"{address}?mode=ro" if in_use else f"{address}?immutable=1")
    except sqlite3.OperationalError as error:
        raise VaultError(
            f"{path} is read-only, and the journal beside it cannot be read ({error}); "
            "open the vault once where it can be written"
        ) from error


def _open_checked(address: str) -> sqlite3.Connection:
    db = sqlite3.connect(address, uri=True, isolation_level=None, check_same_thread=False)
    try:
        db.execute("PRAGMA query_only = ON")
        db.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    except BaseException:
        db.close()
        raise
    return db
