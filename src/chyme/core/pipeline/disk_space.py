"""Digestion stands still while the disk is full: it stops at once, and goes on only when there is clearly room."""

from __future__ import annotations

import errno
import logging
import os
import tempfile
import threading
import time
from pathlib import Path

log = logging.getLogger(__name__)

ROOM_BYTES = 16 << 20  # must be free before digestion goes on: a few bytes would be full again at once
LOOK_SECONDS = 5.0  # between two looks


class DiskSpace:
    """Why digestion is paused for want of room, for people; one for all who write."""

    def __init__(self, folder: Path, room_bytes: int = ROOM_BYTES, look_seconds: float = LOOK_SECONDS) -> None:
        self._folder = folder
        self._room_bytes = room_bytes
        self._look_seconds = look_seconds
        self._guard = threading.Lock()
        self._looked = 0.0
        self.paused: str | None = None
        self.resumed = 0  # how many times digestion went on after a pause

    def pause(self, reason: str, resumed: int) -> None:
        """The disk is full. Only the first to say so is logged.

        `resumed`: its value when the work that failed began. A failure from before the last pause ended is not news.
        """
        with self._guard:
            if resumed != self.resumed:
                return
            first, self.paused = self.paused is None, self.paused or reason
            self._looked = time.monotonic()
        if first:
            log.error("digestion is paused: %s", reason)

    def may_resume(self) -> bool:
        """Whether there is nothing to wait for; looks for room now and then while there is."""
        with self._guard:
            if self.paused is None:
                return True
            if time.monotonic() - self._looked < self._look_seconds:
                return False
            self._looked = time.monotonic()
            if not has_space(self._folder, self._room_bytes):
                return False
            self.paused = None
            self.resumed += 1
        log.warning("there is room on the disk again; digestion goes on")
        return True


def has_space(folder: Path, size: int) -> bool:
    """Whether so many bytes can be written: asked of the disk itself, since quotas do not show in its free space."""
    try:
        with tempfile.TemporaryFile(dir=folder) as probe:  # has no name, so nothing is left if we are killed
            os.posix_fallocate(probe.fileno(), 0, size)
    except OSError as error:
        return error.errno not in (errno.ENOSPC, errno.EDQUOT)
    return True
