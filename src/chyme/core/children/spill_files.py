"""Content that is too large for a frame travels as a file in the scratch folder."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from chyme.core.children.frames import BadFrame
from chyme.core.children.serialization import FileBulk

ANSWER = ".answer"
INPUT = ".input"


def write_spill_file(bulk: list[bytes], scratch: int, name: str) -> int:
    """Write these bytes to a new file, which stays open. The folder may hold traps; an existing name is not
    followed."""
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(name, flags, 0o600, dir_fd=scratch)
    try:
        for data in bulk:
            view = memoryview(data)
            while view:
                view = view[os.write(fd, view) :]
    except BaseException:
        os.close(fd)
        remove_spill_file(scratch, name)
        raise
    return fd


def remove_spill_file(scratch: int, name: str) -> None:
    """Remove a file that an earlier attempt left behind."""
    with suppress(FileNotFoundError, IsADirectoryError):
        os.unlink(name, dir_fd=scratch)


@contextmanager
def open_answer(scratch: int, size: int) -> Iterator[FileBulk]:
    """Open a child's large answer without trusting the child, and remove it afterwards."""
    fd = os.open(ANSWER, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=scratch)
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1 or status.st_size != size:
            raise BadFrame("its answer is not the file it announced")
        yield FileBulk(fd, size)
    finally:
        os.close(fd)
        remove_spill_file(scratch, ANSWER)
