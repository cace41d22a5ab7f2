"""Opening files of our own in folders that others may have written to: no links, no pipes, nothing cut short."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO, Literal


def open_regular(path: Path) -> BinaryIO:
    """A plain file, to be read; OSError for anything else."""
    return _checked(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), path, "rb")


def open_lock(path: Path) -> BinaryIO:
    """A file to hold a lock on, made if it is not there; what it holds is not touched."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    return _checked(os.open(path, flags, 0o600), path, "r+b")


def _checked(handle: int, path: Path, mode: Literal["rb", "r+b"]) -> BinaryIO:
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "is no plain file", str(path))
    return os.fdopen(handle, mode)
