"""Move a file from one opened folder to another, on the same disk or not, without ever writing over another file."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
import stat

from chyme.vault.safe_rename import rename_in

_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_NO_HARD_LINKS = (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP, errno.EPERM, errno.EMLINK, errno.EXDEV)


def move(folder: int, name: str, to: int, becomes: str) -> None:
    """The file goes there, by a second name where the disk allows it and by a copy elsewhere; links as links.

    FileExistsError when the name is taken. Whatever happens, one of the two is whole.
    """
    try:
        os.link(name, becomes, src_dir_fd=folder, dst_dir_fd=to, follow_symlinks=False)
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS:
            raise
        copy(folder, name, to, becomes)
    os.fsync(to)
    try:
        os.unlink(name, dir_fd=folder)
    except OSError:
        os.unlink(becomes, dir_fd=to)  # it stays where it was, and there only
        raise
    os.fsync(folder)


def copy(folder: int, name: str, to: int, becomes: str) -> None:
    """A durable copy under a name that nobody has. A file that changes meanwhile is not copied."""
    temporary = f".{secrets.token_hex(8)}.part"  # hidden: nobody takes it for a file of the vault
    try:
        if stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            os.symlink(os.readlink(name, dir_fd=folder), temporary, dir_fd=to)
        else:
            _copy_bytes(folder, name, to, temporary)
        rename_in(to, temporary, becomes)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary, dir_fd=to)
        raise


def _copy_bytes(folder: int, name: str, to: int, becomes: str) -> None:
    with open(os.open(name, _FILE, dir_fd=folder), "rb") as source:
        before = os.fstat(source.fileno())
        if not stat.S_ISREG(before.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", name)
        with open(os.open(becomes, _NEW, 0o600, dir_fd=to), "wb") as target:
            shutil.copyfileobj(source, target, 1 << 20)
            target.flush()
            os.fchmod(target.fileno(), stat.S_IMODE(before.st_mode) & 0o777)
            os.utime(target.fileno(), ns=(before.st_atime_ns, before.st_mtime_ns))
            os.fsync(target.fileno())
        after = os.fstat(source.fileno())
        if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
            raise OSError(errno.EBUSY, "it is being written just now", name)
