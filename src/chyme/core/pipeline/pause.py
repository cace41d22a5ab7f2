"""Why digestion is paused."""

from __future__ import annotations

from pathlib import Path

from chyme.core.pipeline.disk_space import DiskSpace
from chyme.core.store.sqlite.database import Database


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
