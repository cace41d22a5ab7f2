"""Keep what chyme writes readable by its owner alone: folders 0700, files 0600, whatever the umask is."""

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
_PATH = getattr(os, "O_PATH", os.O_RDONLY) | os.O_NOFOLLOW | os.O_CLOEXEC
_STATE = ".chyme"
_OWN = re.compile(  # what chyme puts into a folder of its own
    r"(vault|server)\..*|settings(\.restored)?(\.before-\w+)?\.toml|\.chyme-.*|[\w-]+\.lock|"
    r"trash|scratch|incoming|pages|vectors"
)


def make_private_folder(folder: Path) -> None:
    """Make the folder, and folders above it that are missing, for the owner alone; tighten one that was there.

    VaultError if others may use a folder that chyme would write to, and that cannot be changed. What a link leads to is
    never changed: whoever put the link there would otherwise have a server that runs as root close any folder.
    """
    missing = list(takewhile(lambda one: not os.path.lexists(one), (folder, *folder.parents)))
    for one in reversed(missing):
        with contextlib.suppress(FileExistsError):  # another process was quicker
            one.mkdir(FOLDER_MODE)
    if folder.is_symlink():
        mode = stat.S_IMODE(folder.stat().st_mode)
        if mode & OTHERS and os.access(folder, os.W_OK):
            raise _not_private(folder, mode, "it is a link, and what it leads to may be somebody else's")
        return
    handle = os.open(folder, _PATH)
    try:
        _tighten_whole(handle, folder)
    finally:
        os.close(handle)


def make_private_state(folder: Path) -> None:
    """The same for the folder of a database, with the files and folders in it that are chyme's.

    What lies deeper cannot be reached past them. A folder with other things in it keeps its mode: others may need it.
    """
    if os.path.lexists(folder):
        tighten_state(folder)
    else:
        make_private_folder(folder)


def tighten_state(folder: Path) -> None:
    """The same for a folder that may be missing."""
    folder = folder.resolve()  # a link called .chyme does not make what it leads to ours
    try:  # held open from here on: another folder may be put in its place meanwhile
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return
    try:
        names = os.listdir(handle)
        mode = stat.S_IMODE(os.fstat(handle).st_mode)
        own = [name for name in names if folder.name == _STATE or _OWN.fullmatch(name)]
        if len(own) == len(names):
            _tighten_whole(handle, folder)
        elif mode & stat.S_IWOTH:  # others could put a file in the place of ours
            raise _not_private(folder, mode, "it holds other things, too")
        for name in own:
            tighten_file(Path(name), handle)
    finally:
        os.close(handle)


def tighten_file(path: Path, folder: int | None = None) -> None:
    """Let the owner alone use a file or a folder. What cannot be changed is left: its folder keeps others out.

    `folder`: the descriptor of the folder that it is in, for a path that is a name alone.
    Never changes what a link leads to, nor a file that has a second name elsewhere. Opened with O_PATH: closing another
    kind of descriptor would release the locks that SQLite holds on the file.
    """
    with contextlib.suppress(OSError):
        handle = os.open(path, _PATH | os.O_NONBLOCK, dir_fd=folder)
        try:
            status = os.fstat(handle)
            plain = stat.S_ISREG(status.st_mode) and status.st_nlink == 1
            if (plain or stat.S_ISDIR(status.st_mode)) and status.st_mode & OTHERS:
                _change_mode(handle, stat.S_IMODE(status.st_mode) & ~OTHERS)
        finally:
            os.close(handle)


@contextlib.contextmanager
def write_private(path: Path) -> Iterator[IO[bytes]]:
    """Write a file that the owner alone may read; what was in it before is gone."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    with open(os.open(path, flags, FILE_MODE), "wb") as stream:
        os.fchmod(stream.fileno(), FILE_MODE)  # it may have been there, with another mode
        yield stream


def _tighten_whole(handle: int, folder: Path) -> None:
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
    if os.access(folder, os.W_OK):  # otherwise nothing new comes in that others could read
        raise _not_private(folder, mode, reason)


def _not_private(folder: Path, mode: int, reason: str) -> VaultError:
    return VaultError(
        f"{folder}: other users of this machine may use this folder (mode {mode:04o}), and that cannot be changed "
        f"({reason}); have its owner run 'chmod 700' on it, or choose another folder: state_dir (CHYME_STATE_DIR) for "
        "a vault's database, server_dir (CHYME_SERVER_DIR) for accounts"
    )


def _change_mode(handle: int, mode: int) -> None:
    """Of what is open, whatever its name leads to by now. fchmod refuses a descriptor that was opened with O_PATH."""
    if hasattr(os, "O_PATH"):
        os.chmod(f"/proc/self/fd/{handle}", mode)
    else:
        os.fchmod(handle, mode)
