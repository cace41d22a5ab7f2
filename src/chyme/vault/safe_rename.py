"""Give a file another name in its folder without ever writing over another file."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
from functools import cache

_NOREPLACE = 1  # RENAME_NOREPLACE of linux/fs.h
_NOT_HERE = (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP)  # an old kernel, or a file system that cannot
_NO_HARD_LINKS = (*_NOT_HERE, errno.EPERM, errno.EMLINK, errno.EXDEV)
_PLACE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def rename_in(folder: int, was: str, becomes: str) -> None:
    """Rename within an opened folder. FileExistsError when the name is taken; then nothing has changed."""
    try:
        _without_replacing(folder, was, becomes)
    except OSError as error:
        if error.errno not in _NOT_HERE:
            raise
        rename_by_hard_link(folder, was, becomes)


def rename_by_hard_link(folder: int, was: str, becomes: str) -> None:
    """The same where the system cannot do it in one step: for a moment the file has both names."""
    try:
        os.link(was, becomes, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS:
            raise
        rename_over_placeholder(folder, was, becomes)
        return
    os.unlink(was, dir_fd=folder)


def rename_over_placeholder(folder: int, was: str, becomes: str) -> None:
    """The same on disks without hard links: an empty file takes the name, and the real one its place."""
    held = os.open(becomes, _PLACE, 0o600, dir_fd=folder)
    try:
        ours, there = os.fstat(held), os.stat(becomes, dir_fd=folder, follow_symlinks=False)
        if (ours.st_dev, ours.st_ino) != (there.st_dev, there.st_ino) or there.st_size:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), becomes)
        try:
            os.rename(was, becomes, src_dir_fd=folder, dst_dir_fd=folder)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(becomes, dir_fd=folder)
            raise
    finally:
        os.close(held)


def _without_replacing(folder: int, was: str, becomes: str) -> None:
    call = _renameat2()
    if call is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    if call(folder, os.fsencode(was), folder, os.fsencode(becomes), _NOREPLACE):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), was)


@cache
def _renameat2() -> ctypes._NamedFuncPointer | None:
    """The C library's own; there since glibc 2.28."""
    try:
        call = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return None
    call.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    call.restype = ctypes.c_int
    return call
