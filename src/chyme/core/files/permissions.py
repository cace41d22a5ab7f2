"""Keeps what chyme writes private to its owner: folders 0700, files 0600, whatever the umask is."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from typing import IO

from chyme.errors import VaultError

FOLDER_MODE, FILE_MODE = 0o700, 0o600
OTHERS = 0o077
_PATH_ONLY = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_STATE_NAME = ".chyme"
_OWN_NAMES = re.compile(  # names that chyme uses in its own folders
    r"(vault|server)\..*|settings(\.restored)?(\.before-\w+)?\.toml|\.chyme-.*|[\w-]+\.lock|"
    r"trash|scratch|incoming|pages|vectors"
)


def make_private_folder(folder: Path) -> None:
    """Create the folder and missing folders above it for the owner alone; tighten an existing folder.

    Raises VaultError if others may use a folder that chyme would write to, and that cannot be changed. The target of a
    link is never changed: otherwise the author of the link could make a server that runs as root close any folder.
    """
    missing = list(takewhile(lambda missing_folder: not os.path.lexists(missing_folder), (folder, *folder.parents)))
    for missing_folder in reversed(missing):
        with contextlib.suppress(FileExistsError):  # another process was quicker
            missing_folder.mkdir(FOLDER_MODE)
    if folder.is_symlink():
        mode = stat.S_IMODE(folder.stat().st_mode)
        if mode & OTHERS and os.access(folder, os.W_OK):
            raise _not_private(folder, mode, "it is a link, and its target may belong to another user")
        return
    handle = os.open(folder, _PATH_ONLY)
    try:
        _tighten_folder(handle, folder)
    finally:
        os.close(handle)


def make_private_state(folder: Path) -> None:
    """Make the folder of a database private, with the files and folders of chyme in it.

    That also protects everything deeper. A folder that holds other things keeps its mode: others may need it.
    """
    if os.path.lexists(folder):
        tighten_state(folder)
    else:
        make_private_folder(folder)


def tighten_state(folder: Path) -> None:
    """Make a database folder private if it exists."""
    folder = folder.resolve()  # a link called .chyme does not make its target ours
    try:  # kept open from here on, because another folder may be put in its place meanwhile
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return
    try:
        names = os.listdir(handle)
        mode = stat.S_IMODE(os.fstat(handle).st_mode)
        own = [name for name in names if folder.name == _STATE_NAME or _OWN_NAMES.fullmatch(name)]
        if len(own) == len(names):
            _tighten_folder(handle, folder)
        elif mode & stat.S_IWOTH:  # others could replace our files
            raise _not_private(folder, mode, "it holds other things, too")
        for name in own:
            tighten_file(Path(name), handle)
    finally:
        os.close(handle)


def tighten_file(path: Path, folder: int | None = None) -> None:
    """Let only the owner use a file or a folder. What cannot be changed is left: its folder keeps others out.

    `folder`: the descriptor of the parent folder, for a path that is only a name. Never changes the target of a link,
    nor a file that has a second name elsewhere. Opened with O_PATH: closing another kind of descriptor would release
    the locks that SQLite holds on the file.
    """
    with contextlib.suppress(OSError):
        handle = os.open(path, _PATH_ONLY | os.O_NONBLOCK, dir_fd=folder)
        try:
            status = os.fstat(handle)
            plain = stat.S_ISREG(status.st_mode) and status.st_nlink == 1
            if (plain or stat.S_ISDIR(status.st_mode)) and status.st_mode & OTHERS:
                _change_mode(handle, stat.S_IMODE(status.st_mode) & ~OTHERS)
        finally:
            os.close(handle)


@contextlib.contextmanager
def write_private(path: Path) -> Iterator[IO[bytes]]:
    """Write a file that only the owner may read; replaces its old content."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    with open(os.open(path, flags, FILE_MODE), "wb") as stream:
        os.fchmod(stream.fileno(), FILE_MODE)  # it may exist already, with another mode
        yield stream


def _tighten_folder(handle: int, folder: Path) -> None:
    mode = stat.S_IMODE(os.fstat(handle).st_mode)
    if not mode & OTHERS:
        return
    reason = ""
    try:
        _change_mode(handle, mode & ~OTHERS)
        if not stat.S_IMODE(os.fstat(handle).st_mode) & OTHERS:
            return
        reason = "the file system keeps no modes"
    except OSError as error:
        if error.errno == errno.EROFS:
            return
        reason = error.strerror or ""
    if os.access(folder, os.W_OK):  # otherwise nothing new appears that others could read
        raise _not_private(folder, mode, reason)


def _not_private(folder: Path, mode: int, reason: str) -> VaultError:
    return VaultError(
        f"{folder}: other users of this machine may use this folder (mode {mode:04o}), and that cannot be changed "
        f"({reason}); have its owner run 'chmod 700' on it, or choose another folder: state_dir (CHYME_STATE_DIR) for "
        "a vault's database, server_dir (CHYME_SERVER_DIR) for accounts"
    )


def _change_mode(handle: int, mode: int) -> None:
    """Change the mode of the open file, wherever its name leads by now. fchmod refuses O_PATH descriptors."""
    os.chmod(f"/proc/self/fd/{handle}", mode)
