"""Check whether the open database is still the file at its path.

When a folder is deleted, renamed or replaced, open files go with it: SQLite keeps writing to them without an error,
and what it writes is lost.
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
    """Makes two file system calls, so it can be used before every commit. Safe to call from any thread."""

    def __init__(self, database: Path, root: Path | None = None) -> None:
        self._database = database
        self._root = root  # the vault's folder; the database may be elsewhere
        self._opened_identity = _identity_of(database)
        self._guard = threading.Lock()
        self._reported = False

    def require(self) -> None:
        """Raise VaultGone unless the vault and its database are where they were."""
        problem = self.find_problem()
        if problem is not None:
            raise VaultGone(problem)

    def find_problem(self) -> str | None:
        """What is missing, for people; None when nothing is. Logs when a problem starts and when it ends."""
        problem = self._check()
        if (problem is not None) != self._reported:
            with self._guard:
                if problem is not None and not self._reported:
                    log.error("everything is paused: %s", problem)
                elif problem is None and self._reported:
                    log.warning("%s is back; work goes on", self._database)
                self._reported = problem is not None
        return problem

    def _check(self) -> str | None:
        if self._root is not None and not _may_be_folder(self._root):
            return f"{self._root} is gone (deleted, renamed or not mounted); nothing is written until it is back"
        try:
            identity = _identity_of(self._database)
        except PermissionError:  # as for the folder: it says nothing
            return None
        if identity is None:
            return (
                f"{self._database} is gone (deleted or renamed); put its folder back, "
                "or stop chyme and start it again to begin anew"
            )
        if identity != self._opened_identity:
            return (
                f"{self._database} is not the database that chyme has opened; put that one back, "
                "or stop chyme and start it again to use this one"
            )
        return None


def keep_open(db: sqlite3.Connection) -> None:
    """Leave a connection open until the process ends.

    When the last connection is closed, SQLite removes the write-ahead log by its path, where the log of another
    database may be by now. A connection that is never closed prevents that.
    """
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(db))


def _may_be_folder(path: Path) -> bool:
    """Whether the folder exists, or we lack permission, which says nothing. Other errors mean that it is gone."""
    try:
        return stat.S_ISDIR(os.stat(path).st_mode)
    except PermissionError:
        return True
    except OSError:
        return False


def _identity_of(path: Path) -> tuple[int, int] | None:
    """Device and inode of the file; None when it is gone. PermissionError if we lack permission."""
    try:
        status = os.stat(path)
    except PermissionError:
        raise
    except OSError:
        return None
    return status.st_dev, status.st_ino
