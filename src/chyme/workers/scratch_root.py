"""The one folder in which a worker keeps files while it works on them."""

from __future__ import annotations

import fcntl
import os
import shutil
from pathlib import Path

from chyme.errors import UsageError

LOCK, RUNS = "lock", "runs"
SPARE_BYTES = 64 << 20  # of the disk, which stay free


class ScratchRoot:
    """A folder under a lock. Whatever an earlier worker left in it is removed at the start."""

    def __init__(self, folder: Path, quota_bytes: int) -> None:
        self.folder = folder
        self._quota = quota_bytes
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._lock)
            raise UsageError(f"{folder}: another worker uses this folder; give each its own with --scratch") from None
        self._runs = folder / RUNS
        shutil.rmtree(self._runs, ignore_errors=True)
        self._runs.mkdir(mode=0o711)  # children, which may run as another user, work in folders below

    def make(self, run_id: str) -> Path:
        """A new folder for one run."""
        folder = self._runs / run_id
        folder.mkdir(mode=0o711)
        return folder

    def remove(self, folder: Path) -> None:
        shutil.rmtree(folder, ignore_errors=True)

    def free_bytes(self) -> int:
        """How many bytes new runs may still take."""
        used = sum(_size(Path(parent) / name) for parent, _, names in os.walk(self._runs) for name in names)
        on_disk = shutil.disk_usage(self._runs).free - SPARE_BYTES
        return max(0, min(self._quota - used, on_disk))

    def close(self) -> None:
        shutil.rmtree(self._runs, ignore_errors=True)
        os.close(self._lock)


def _size(path: Path) -> int:
    try:
        return path.lstat().st_blocks * 512
    except OSError:
        return 0
