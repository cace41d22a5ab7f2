"""Why digestion is paused: a full disk, a missing vault or a damaged database."""

from __future__ import annotations

import errno
import logging
import os
import tempfile
import threading
import time
from pathlib import Path

from chyme.core.store.sqlite.database import Database

log = logging.getLogger(__name__)

ROOM_BYTES = 16 << 20  # must be free before digestion resumes: a few bytes would be used up at once
LOOK_SECONDS = 5.0  # between two checks


class Pause:
    """Everything that can pause digestion: a damaged database, a missing vault, a full disk."""

    def __init__(self, database: Database, folder: Path) -> None:
        self._database = database
        self.disk = DiskSpace(folder)

    def reason(self) -> str | None:
        """The reason, for people; None if digestion is not paused."""
        if self._database.damaged is not None:
            return str(self._database.damaged)
        return self._database.presence.find_problem() or self.disk.paused


class DiskSpace:
    """Whether digestion is paused because the disk is full, shared by everything that writes."""

    def __init__(self, folder: Path, room_bytes: int = ROOM_BYTES, look_seconds: float = LOOK_SECONDS) -> None:
        self._folder = folder
        self._room_bytes = room_bytes
        self._look_seconds = look_seconds
        self._guard = threading.Lock()
        self._checked_at = 0.0
        self.paused: str | None = None  # the reason, for people
        self.resumed = 0  # how often digestion resumed after a pause

    def pause(self, reason: str, resumed: int) -> None:
        """The disk is full. Only the first report is logged.

        `resumed`: its value when the failed work began. Failures of work from before the last resumption are ignored.
        """
        with self._guard:
            if resumed != self.resumed:
                return
            first, self.paused = self.paused is None, self.paused or reason
            self._checked_at = time.monotonic()
        if first:
            log.error("digestion is paused: %s", reason)

    def may_resume(self) -> bool:
        """Whether digestion is not paused (any more); checks for free space from time to time while it is."""
        with self._guard:
            if self.paused is None:
                return True
            if time.monotonic() - self._checked_at < self._look_seconds:
                return False
            self._checked_at = time.monotonic()
            if not has_space(self._folder, self._room_bytes):
                return False
            self.paused = None
            self.resumed += 1
        log.warning("there is room on the disk again; digestion goes on")
        return True


def has_space(folder: Path, size: int) -> bool:
    """Whether so many bytes can be written. Tries it, because the free space of a disk does not show quotas."""
    try:
        with tempfile.TemporaryFile(dir=folder) as probe:  # without a name: nothing is left if this process is killed
            os.posix_fallocate(probe.fileno(), 0, size)
    except OSError as error:
        return error.errno not in (errno.ENOSPC, errno.EDQUOT)
    return True
