"""Replaces files safely: the new one is made in a temporary folder, and the old one is kept under another name."""

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
def temporary_folder(parent: Path, prefix: str) -> Iterator[Path]:
    """Make a private folder inside `parent`, on the same disk, so that finished files can be moved out of it.

    It is removed when the work ends, or by the next run if the process was killed.
    """
    _remove_leftovers(parent, prefix)
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
    lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def _remove_leftovers(parent: Path, prefix: str) -> None:
    """Remove the folders of processes that were killed."""
    for folder in parent.glob(f"{prefix}*"):
        try:
            lock = os.open(folder / LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            continue  # of a process that has only just started
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
        except BlockingIOError:
            pass
        finally:
            os.close(lock)


def keep_as(source: Path, name: Path) -> None:
    """Give a file another name besides its own; a copy, where the file system has no hard links."""
    try:
        os.link(source, name)
    except OSError:
        shutil.copy2(source, name)


def sync(path: Path) -> None:
    """Return once a file, or the names in a folder, are on disk."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
