"""Temporary folders for files that are being uploaded, one for each upload."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

from chyme.core.files.permissions import make_private_folder
from chyme.core.files.untrusted_files import try_lock
from chyme.core.files.vault_folder import STATE

FOLDER = "incoming"


class UploadStaging:
    """In the vault's own `.chyme`, wherever the database is, so that complete files are moved without copying."""

    def __init__(self, root: Path) -> None:
        self.folder = root / STATE / FOLDER

    @contextlib.contextmanager
    def temporary_folder(self) -> Iterator[Path]:
        """An empty folder, removed afterwards; if this process dies, the next `sweep` removes it."""
        path, handle = self._make_locked_folder()
        try:
            yield path
        finally:
            shutil.rmtree(path, ignore_errors=True)
            os.close(handle)

    def _make_locked_folder(self) -> tuple[Path, int]:
        while True:
            path = self.folder / secrets.token_hex(8)
            make_private_folder(path)
            with contextlib.suppress(FileNotFoundError):  # removed by `sweep` before it was locked
                handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
                if try_lock(handle) and path.exists():
                    return path, handle
                os.close(handle)

    def sweep(self) -> int:
        """Remove the folders of dead processes. Return how many."""
        count = 0
        with contextlib.suppress(OSError):
            for path in list(self.folder.iterdir()):
                count += _remove_if_unused(path)
        return count


def _remove_if_unused(path: Path) -> bool:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        if not try_lock(handle):
            return False
        shutil.rmtree(path, ignore_errors=True)
        return True
    finally:
        os.close(handle)
