"""Files in folders that others may have written to, such as a child that read a hostile file: no links, no pipes."""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Literal


def write_atomically(path: Path, data: bytes) -> None:
    """Write the whole file or nothing, by renaming. The folder is untrusted: symbolic links are not followed."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with open(fd, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(fd)
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


@contextmanager
def open_untrusted(path: Path, max_bytes: int) -> Iterator[BinaryIO]:
    """Open a plain file of at most `max_bytes` without following links; otherwise raise an OSError."""
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(fd, "rb") as stream:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1 or status.st_size > max_bytes:
            raise OSError(f"{path.name} is not the file it should be")
        yield stream


def open_regular(path: Path) -> BinaryIO:
    """Open a regular file for reading; OSError for anything else."""
    return _as_regular_file(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), path, "rb")


def open_lock(path: Path) -> BinaryIO:
    """Open a file to lock, creating it if missing; its content is not touched."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    return _as_regular_file(os.open(path, flags, 0o600), path, "r+b")


def _as_regular_file(handle: int, path: Path, mode: Literal["rb", "r+b"]) -> BinaryIO:
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "is no plain file", str(path))
    return os.fdopen(handle, mode)


def try_lock(file: int | BinaryIO) -> bool:
    """Lock an open file or folder unless another process has it; the lock ends with the process."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
