"""Know whether the database that is open is still the file at its path.

A folder that is deleted, renamed or replaced takes open files along: SQLite goes on writing to them without an error,
and what is written is nowhere to be found.
"""

from __future__ import annotations

import ctypes
import logging
import os
import sqlite3
import threading
from pathlib import Path

from chyme.errors import VaultGone

log = logging.getLogger(__name__)


class Presence:
    """Two questions to the file system, so it may be asked before every commit. Any thread may ask."""

    def __init__(self, database: Path, root: Path | None = None) -> None:
        self._database = database
        self._root = root  # the vault's folder, where the database may lie elsewhere
        self._opened = _identity_of(database)
        self._guard = threading.Lock()
        self._reported = False

    def require(self) -> None:
        """Raise VaultGone unless the vault and its database are where they were."""
        problem = self.problem()
        if problem is not None:
            raise VaultGone(problem)

    def problem(self) -> str | None:
        """What is missing, for people; None when all is there. Logs when that begins, and when it ends."""
        problem = self._find_problem()
        if (problem is not None) != self._reported:
            with self._guard:
                if problem is not None and not self._reported:
                    log.error("everything is paused: %s", problem)
                elif problem is None and self._reported:
                    log.warning("%s is back; work goes on", self._database)
                self._reported = problem is not None
        return problem

    def _find_problem(self) -> str | None:
        if self._root is not None and not os.path.isdir(self._root):  # False for any error
            return f"{self._root} is gone (deleted, renamed or not mounted); nothing is written until it is back"
        found = _identity_of(self._database)
        if found is None:
            return (
                f"{self._database} is gone (deleted or renamed); put its folder back, "
                "or stop chyme and start it again to begin anew"
            )
        if found != self._opened:
            return (
                f"{self._database} is not the database that chyme has opened; put that one back, "
                "or stop chyme and start it again to use this one"
            )
        return None


def keep_open(db: sqlite3.Connection) -> None:
    """Leave a connection open until the process ends.

    SQLite removes the write-ahead log when the last connection is closed, by its path, and there the log of another
    database may be by now. A connection that nobody closes keeps it from doing so.
    """
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(db))


def _identity_of(path: Path) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino
