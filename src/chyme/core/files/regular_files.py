"""Opens our own files in folders that others may have written to: no links, no pipes, no truncating."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from pathlib import Path
from typing import BinaryIO, Literal


def open_regular(path: Path) -> BinaryIO:
    """Open a regular file for reading; OSError for anything else."""
    return _as_regular_file(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), path, "rb")


def open_lock(path: Path) -> BinaryIO:
    """Open a file to lock, creating it if missing; its content is not touched."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    return _as_regular_file(os.open(path, flags, 0o600), path, "r+b")


def try_lock(file: int | BinaryIO) -> bool:
    """Lock an open file or folder unless another process has it; the lock ends with the process."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _as_regular_file(handle: int, path: Path, mode: Literal["rb", "r+b"]) -> BinaryIO:
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "is no plain file", str(path))
    return os.fdopen(handle, mode)
