"""Folders beside Python, in which chyme keeps files for every user of this machine who may run it."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

READABLE, ENTERABLE = 0o644, 0o755  # children may run as another user
STALE_SECONDS = 86_400.0  # remains of an interrupted run are removed after this long


def make_shared_folder(folder: Path) -> None:
    """Make a folder that everyone may enter, with those above it that are missing, whatever the umask."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for path in missing:
        path.chmod(ENTERABLE)


def remove_stale(folder: Path, prefix: str) -> None:
    """Remove the temporary folders that interrupted runs left here; those of running ones stay."""
    for leftover in folder.glob(prefix + "*"):
        if time.time() - leftover.stat().st_mtime > STALE_SECONDS:
            shutil.rmtree(leftover, ignore_errors=True)
