"""Moves a file from one open folder to another, even on another disk, without ever overwriting a file."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
import stat

from chyme.vault.safe_rename import rename_in

_OPEN_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CREATE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_NO_HARD_LINKS = (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP, errno.EPERM, errno.EMLINK, errno.EXDEV)


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
    temporary = f".{secrets.token_hex(8)}.part"  # hidden, so that it is not taken for a file of the vault
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
    with open(os.open(name, _OPEN_FLAGS, dir_fd=source_folder), "rb") as source:
        before = os.fstat(source.fileno())
        if not stat.S_ISREG(before.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", name)
        with open(os.open(new_name, _CREATE_FLAGS, 0o600, dir_fd=target_folder), "wb") as target:
            shutil.copyfileobj(source, target, 1 << 20)
            target.flush()
            os.fchmod(target.fileno(), stat.S_IMODE(before.st_mode) & 0o777)
            os.utime(target.fileno(), ns=(before.st_atime_ns, before.st_mtime_ns))
            os.fsync(target.fileno())
        after = os.fstat(source.fileno())
        if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
            raise OSError(errno.EBUSY, "it is being written just now", name)
