"""Moves and renames files, even to another disk, without ever overwriting another file."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import secrets
import shutil
import stat
from functools import cache

_NOREPLACE = 1  # RENAME_NOREPLACE of linux/fs.h
_UNSUPPORTED = (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP)  # an old kernel, or a file system without support
_NO_HARD_LINKS = (*_UNSUPPORTED, errno.EPERM, errno.EMLINK, errno.EXDEV)
NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
EXISTING_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def hidden_name() -> str:
    """A name that is not taken for a file of the vault."""
    return f".{secrets.token_hex(8)}.part"


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
    handle = os.open(new, NEW_FILE, 0o600, dir_fd=folder)
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


def move(source_folder: int, name: str, target_folder: int, new_name: str) -> None:
    """Move the file by a hard link if the disk supports it, otherwise by a copy; symbolic links stay links.

    Raises FileExistsError if the name is taken. Whatever happens, one of the two files is complete.
    """
    try:
        os.link(name, new_name, src_dir_fd=source_folder, dst_dir_fd=target_folder, follow_symlinks=False)
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS:
            raise
        copy(source_folder, name, target_folder, new_name)
    os.fsync(target_folder)
    try:
        os.unlink(name, dir_fd=source_folder)
    except OSError:
        os.unlink(new_name, dir_fd=target_folder)  # it stays only where it was
        raise
    os.fsync(source_folder)


def copy(source_folder: int, name: str, target_folder: int, new_name: str) -> None:
    """Make a durable copy under a free name. Raises OSError if the file changes meanwhile."""
    temporary = hidden_name()
    try:
        if stat.S_ISLNK(os.stat(name, dir_fd=source_folder, follow_symlinks=False).st_mode):
            os.symlink(os.readlink(name, dir_fd=source_folder), temporary, dir_fd=target_folder)
        else:
            _copy_bytes(source_folder, name, target_folder, temporary)
        rename_in(target_folder, temporary, new_name)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary, dir_fd=target_folder)
        raise


def _copy_bytes(source_folder: int, name: str, target_folder: int, new_name: str) -> None:
    with open(os.open(name, EXISTING_FILE, dir_fd=source_folder), "rb") as source:
        before = os.fstat(source.fileno())
        if not stat.S_ISREG(before.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", name)
        with open(os.open(new_name, NEW_FILE, 0o600, dir_fd=target_folder), "wb") as target:
            shutil.copyfileobj(source, target, 1 << 20)
            target.flush()
            os.fchmod(target.fileno(), stat.S_IMODE(before.st_mode) & 0o777)
            os.utime(target.fileno(), ns=(before.st_atime_ns, before.st_mtime_ns))
            os.fsync(target.fileno())
        after = os.fstat(source.fileno())
        if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
            raise OSError(errno.EBUSY, "it is being written just now", name)
