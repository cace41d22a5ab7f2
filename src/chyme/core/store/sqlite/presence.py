"""Know whether the database that is open is still the file at its path.

A folder that is deleted, renamed or replaced takes open files along: SQLite goes on writing to them without an error,
and what is written is nowhere to be found.
"""

from __future__ import annotations

import ctypes
import logging
import os
import sqlite3
import stat
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
        problem = self.find_problem()
        if problem is not None:
            raise VaultGone(problem)

    def find_problem(self) -> str | None:
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
        if self._root is not None and not _may_be_folder(self._root):
            return f"{self._root} is gone (deleted, renamed or not mounted); nothing is written until it is back"
        try:
            found = _identity_of(self._database)
        except PermissionError:  # as for the folder
            return None
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


def _may_be_folder(path: Path) -> bool:
    """Whether the folder is there, or we may not look, which says nothing. Any other error means that it is gone."""
    try:
        return stat.S_ISDIR(os.stat(path).st_mode)
    except PermissionError:
        return True
    except OSError:
        return False


def _identity_of(path: Path) -> tuple[int, int] | None:
    """Device and inode of the file, None when it is gone. PermissionError if we may not look."""
    try:
        status = os.stat(path)
    except PermissionError:
        raise
    except OSError:
        return None
    return status.st_dev, status.st_ino
