"""One vault with everything needed to put files into it, find them and take them away."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from chyme.core.files.vault_folder import Vault, decode_path
from chyme.core.store import files
from chyme.core.store.sqlite.database import Database
from chyme.errors import UsageError
from chyme.model import File
from chyme.vault.file_registry import FileRegistry
from chyme.vault.intake.upload_limits import UploadLimits
from chyme.vault.intake.upload_staging import UploadStaging
from chyme.vault.private_files import PrivateFiles
from chyme.vault.watch.scanner import Scanner

PATIENCE_SECONDS = 0.5  # how long to wait for a running scan
MAX_WAITING_REQUESTS = 4  # how many may wait at the same time


class OpenVault:
    """The folder, the database, and what stands between the two: scanner, registry, staging, private patterns."""

    def __init__(
        self, folder: Vault, database: Database, registry: FileRegistry, state: Path, upload_limits: UploadLimits
    ) -> None:
        self.folder = folder
        self.database = database
        self.registry = registry
        self.state = state
        self.upload_limits = upload_limits
        self.scanner = Scanner(folder, database, registry)
        self.private = PrivateFiles(folder.root)
        self.staging = UploadStaging(folder.root)
        self.written_links: dict[str, str] = {}  # address → path, of link files that may not be registered yet
        # Checks a path soon. Set while a watcher follows the folder.
        self.rescan_path: Callable[[str], None] | None = None
        self._waiting = threading.BoundedSemaphore(MAX_WAITING_REQUESTS)

    def files_below(self, paths: Sequence[str]) -> list[File]:
        """Return the files at and below these paths; without paths, all files."""
        db = self.database.read()
        if not paths:
            return files.below(db, "")
        found: dict[int, File] = {}
        for path in paths:
            here = files.below(db, path)
            if not here and path:
                raise UsageError(f"{path}: is not a file or folder of this vault; 'chyme digest' takes in what is new")
            found.update((file.id, file) for file in here)
        return list(found.values())

    def has_file(self, path: str) -> bool:
        """Whether this file exists; a new one is registered first."""
        if files.by_path(self.database.read(), path) is not None:
            return True
        try:
            inside = self.folder.relative(os.fspath(self.folder.root / decode_path(path)))
            status = self.folder.status(decode_path(inside))
        except (UsageError, OSError, ValueError):  # outside the vault, too long, or not a path
            return False
        if status is None or not stat.S_ISREG(status.st_mode):
            return False
        self.ingest([decode_path(inside)])
        return files.by_path(self.database.read(), path) is not None

    def ingest(self, raw_paths: Sequence[str]) -> None:
        """Register files (paths as spelled on disk) now, or soon if a scan is running.

        A first scan may take hours, and a few requests that wait for it would block the whole server.
        """
        if self.rescan_path is None:
            self.scanner.scan_paths(raw_paths)
            return
        may_wait = self._waiting.acquire(blocking=False)
        try:
            if self.scanner.scan_paths_within(raw_paths, PATIENCE_SECONDS if may_wait else 0.0) is None:
                self.schedule_check(raw_paths)
        finally:
            if may_wait:
                self._waiting.release()

    def schedule_check(self, raw_paths: Sequence[str]) -> None:
        """Have the watcher check these paths (as spelled on disk) at once, because files were written there."""
        if self.rescan_path is not None:
            for path in raw_paths:
                self.rescan_path(path)
