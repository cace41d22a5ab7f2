"""A folder for what is not finished: gone when the work ends, and swept by the next one if we were killed."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

LOCK = "lock"


@contextlib.contextmanager
def temporary_folder(beside: Path, prefix: str) -> Iterator[Path]:
    """A private folder inside `beside`, on the same disk, so that finished files can be moved out of it."""
    _sweep(beside, prefix)
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=beside))
    lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def _sweep(beside: Path, prefix: str) -> None:
    """Remove the folders of processes that did not live to do so."""
    for folder in beside.glob(f"{prefix}*"):
        try:
            lock = os.open(folder / LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            continue  # of somebody who has only just begun
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
        except BlockingIOError:
            pass
        finally:
            os.close(lock)
