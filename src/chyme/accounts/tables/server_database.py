"""The server's own database: users, tokens and sessions. It is made with the first of them, and not before."""

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
    """Opened when it is needed, so that another process may make it while we run."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE_NAME
        self._opened: Database | None = None
        self._guard = threading.Lock()

    def read(self) -> sqlite3.Connection | None:
        """This thread's connection; None while there is no database, which is to say nobody."""
        if self._opened is None and not self.path.exists():
            return None
        return self._database().read()

    def write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` in a transaction; makes the database if there is none."""
        return self._database().write(work)

    def submit(self, work: Callable[[sqlite3.Connection], T]) -> Future[T]:
        """The same without waiting for it."""
        return self._database().submit(work)

    def explain(self, error: BaseException) -> BaseException:
        """An error as people should read it; damage is remembered, and logged the first time it is met."""
        return error if self._opened is None else self._opened.explain(error)

    def close(self) -> None:
        with self._guard:
            if self._opened is not None:
                self._opened.close()

    def _database(self) -> Database:
        with self._guard:
            if self._opened is None:
                if self.path.exists() and not self.path.stat().st_size:
                    # Taken for a new one, it would say that there are no accounts, and open the door to everybody.
                    raise damage_error(self.path, "is empty (0 bytes)")
                self._make_private()
                self._opened = Database(self.path.parent, file_name=FILE_NAME, schema=SCHEMA)
            return self._opened

    def _make_private(self) -> None:
        """Nobody else on this machine may read it; SQLite gives its journal the same rights."""
        try:
            make_private_state(self.path.parent)
            if self.path.is_symlink():
                raise OSError(errno.ELOOP, "is a link")
        except OSError as error:
            raise VaultError(
                f"{self.path}: accounts cannot be kept there ({error.strerror}); set server_dir (CHYME_SERVER_DIR)"
            ) from error
