"""Renames a file within its folder without ever overwriting another file."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
from functools import cache

_NOREPLACE = 1  # RENAME_NOREPLACE of linux/fs.h
_UNSUPPORTED = (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP)  # an old kernel, or a file system without support
_NO_HARD_LINKS = (*_UNSUPPORTED, errno.EPERM, errno.EMLINK, errno.EXDEV)
_CREATE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def rename_in(folder: int, old: str, new: str) -> None:
    """Rename within an open folder. Raises FileExistsError, and changes nothing, if the name is taken."""
    try:
        _rename_noreplace(folder, old, new)
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise
        rename_by_hard_link(folder, old, new)


def rename_by_hard_link(folder: int, old: str, new: str) -> None:
    """The same for systems that cannot do it in one step: for a moment the file has both names."""
    try:
        os.link(old, new, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS:
            raise
        rename_over_placeholder(folder, old, new)
        return
    os.unlink(old, dir_fd=folder)


def rename_over_placeholder(folder: int, old: str, new: str) -> None:
    """The same for disks without hard links: an empty file reserves the name, and the real one replaces it."""
    handle = os.open(new, _CREATE_FLAGS, 0o600, dir_fd=folder)
    try:
        ours, current = os.fstat(handle), os.stat(new, dir_fd=folder, follow_symlinks=False)
        if (ours.st_dev, ours.st_ino) != (current.st_dev, current.st_ino) or current.st_size:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), new)
        try:
            os.rename(old, new, src_dir_fd=folder, dst_dir_fd=folder)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(new, dir_fd=folder)
            raise
    finally:
        os.close(handle)


def _rename_noreplace(folder: int, old: str, new: str) -> None:
    call = _renameat2()
    if call is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    if call(folder, os.fsencode(old), folder, os.fsencode(new), _NOREPLACE):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), old)


@cache
def _renameat2() -> ctypes._NamedFuncPointer | None:
    """Return the function of the C library, which glibc has since 2.28."""
    try:
        call = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return None
    call.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    call.restype = ctypes.c_int
    return call
