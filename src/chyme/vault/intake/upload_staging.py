"""Files on their way into the vault. Whoever brings them has a folder of their own, which goes when they do."""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

from chyme.core.files.permissions import make_private_folder
from chyme.core.files.vault_folder import STATE

FOLDER = "incoming"


class UploadStaging:
    """In the vault's own `.chyme`, wherever the database lives: a file that is whole moves in without being copied."""

    def __init__(self, root: Path) -> None:
        self.folder = root / STATE / FOLDER

    @contextlib.contextmanager
    def temporary_folder(self) -> Iterator[Path]:
        """An empty folder, gone afterwards; should this process die, the next to `sweep` takes it away."""
        path, handle = self._held()
        try:
            yield path
        finally:
            shutil.rmtree(path, ignore_errors=True)
            os.close(handle)

    def _held(self) -> tuple[Path, int]:
        while True:
            path = self.folder / secrets.token_hex(8)
            make_private_folder(path)
            with contextlib.suppress(FileNotFoundError):  # swept away before it was locked
                handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
                if _locked(handle) and path.exists():
                    return path, handle
                os.close(handle)

    def sweep(self) -> int:
        """Take away what dead processes left. Returns how many folders."""
        count = 0
        with contextlib.suppress(OSError):
            for path in list(self.folder.iterdir()):
                count += _removed(path)
        return count


def _removed(path: Path) -> bool:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        if not _locked(handle):
            return False
        shutil.rmtree(path, ignore_errors=True)
        return True
    finally:
        os.close(handle)


def _locked(handle: int) -> bool:
    """Whether the folder is ours now; the lock goes with the process."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
