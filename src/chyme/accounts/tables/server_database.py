"""The server's own database: users, tokens and sessions. It is created with the first of them."""

from __future__ import annotations

import errno
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import TypeVar

from chyme.core.files.permissions import make_private_state
from chyme.core.store.sqlite.damage import damage_error
from chyme.core.store.sqlite.database import Database
from chyme.errors import VaultError

T = TypeVar("T")

FILE_NAME = "server.db"
SCHEMA = "server_migrations"


class ServerDatabase:
    """Opened when needed, so that another process may create it while we run."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE_NAME
        self._database: Database | None = None
        self._guard = threading.Lock()

    def read(self) -> sqlite3.Connection | None:
        """This thread's connection; None while there is no database, and so no accounts."""
        if self._database is None and not self.path.exists():
            return None
        return self._open_database().read()

    def write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` in a transaction; creates the database if there is none."""
        return self._open_database().write(work)

    def submit(self, work: Callable[[sqlite3.Connection], T]) -> Future[T]:
        """Like `write`, without waiting."""
        return self._open_database().submit(work)

    def version(self) -> int:
        """A number that changes with every commit, by any process; 0 while there is no database."""
        return 0 if self.read() is None else self._open_database().version()

    def explain(self, error: BaseException) -> BaseException:
        """Return an error that people can read; damage is remembered, and logged the first time."""
        return error if self._database is None else self._database.explain(error)

    def close(self) -> None:
        with self._guard:
            if self._database is not None:
                self._database.close()

    def _open_database(self) -> Database:
        with self._guard:
            if self._database is None:
                if self.path.exists() and not self.path.stat().st_size:
                    # Treated as new, it would mean that there are no accounts, and let everyone in.
                    raise damage_error(self.path, "is empty (0 bytes)")
                self._make_private()
                self._database = Database(self.path.parent, file_name=FILE_NAME, schema=SCHEMA)
            return self._database

    def _make_private(self) -> None:
        """Make sure that no other user can read it; SQLite gives its journal the same permissions."""
        try:
            make_private_state(self.path.parent)
            if self.path.is_symlink():
                raise OSError(errno.ELOOP, "is a link")
        except OSError as error:
            raise VaultError(
                f"{self.path}: accounts cannot be kept there ({error.strerror}); set server_dir (CHYME_SERVER_DIR)"
            ) from error
