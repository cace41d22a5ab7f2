"""Where new files of the vault go: folders that are held open, and names that nobody has."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
from collections.abc import Iterator, Sequence

from chyme.core.files.vault_folder import FOLDER_ITSELF, decode_path
from chyme.errors import UsageError, VaultGone
from chyme.vault.intake.link_names import safe_name
from chyme.vault.open_vault import OpenVault

NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
MODE = 0o666  # less what the umask of whoever runs chyme takes away
DEEPEST = 1000  # bytes of a folder's path: no system opens a path of more than four thousand
_NO_HARD_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EINVAL)


def folder_parts(vault: OpenVault, folder: str) -> list[str]:
    """The parts of a folder's path, as the disk spells them. Refuses what lies outside, and what chyme never reads."""
    raw = decode_path(folder)
    parts = [part for part in raw.split("/") if part not in ("", ".")]
    if raw.startswith("/") or ".." in parts or "\0" in raw:
        raise UsageError(f"{folder!r}: is not a folder inside the vault")
    try:
        longest = max(len(os.fsencode(part)) for part in ("", *parts))
    except UnicodeEncodeError:
        raise UsageError(f"{folder[:50]!r}: is no text, so no folder is called so; choose another") from None
    if len(os.fsencode(raw)) > DEEPEST or longest > 255:
        raise UsageError(f"{folder[:50]!r} …: is too long for a folder; choose another")
    if parts and vault.scanner.ignores("/".join(parts)):
        raise UsageError(f"{folder}: chyme passes over this folder, as it is hidden or in .chymeignore; choose another")
    return parts


@contextlib.contextmanager
def open_folder(vault: OpenVault, parts: Sequence[str]) -> Iterator[int]:
    """The folder, made where it is missing. Links are not followed, not even by one that appears just now."""
    vault.database.presence.require()
    handle = os.open(vault.folder.root, FOLDER_ITSELF)
    try:
        for part in parts:
            below = _below(handle, part)
            os.close(handle)
            handle = below
        yield handle
        os.fsync(handle)
        _require_at_its_path(vault, handle, "/".join(parts))
    finally:
        os.close(handle)


def _require_at_its_path(vault: OpenVault, handle: int, folder: str) -> None:
    """Raise VaultGone unless the folder we hold open is the one at its path: what is in another is not in the vault."""
    vault.database.presence.require()
    try:
        there = os.stat(vault.folder.disk_path(folder), follow_symlinks=False)
    except OSError:
        there = None
    if there is None or not os.path.samestat(there, os.fstat(handle)):
        raise VaultGone(f"{folder or vault.folder.root}: was moved away while it was written to; try it again")


def _below(handle: int, part: str) -> int:
    try:
        return os.open(part, FOLDER_ITSELF, dir_fd=handle)
    except FileNotFoundError:
        if safe_name(part) != part:
            raise UsageError(f"{part!r}: is no name for a new folder; choose one without special characters") from None
    except NotADirectoryError:
        raise UsageError(f"{part}: is no folder, or a link to one; choose another") from None
    with contextlib.suppress(FileExistsError):
        os.mkdir(part, dir_fd=handle)
    return os.open(part, FOLDER_ITSELF, dir_fd=handle)


def is_taken(handle: int, name: str) -> bool:
    """Whether something has this name in the folder."""
    try:
        os.stat(name, dir_fd=handle, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def write_new(handle: int, name: str, data: bytes) -> bool:
    """Whether the file is there now, whole, and was not before."""
    temporary = hidden_name()
    try:
        with open(os.open(temporary, NEW, MODE, dir_fd=handle), "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        return move_into_place(handle, temporary, handle, name)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=handle)


def hidden_name() -> str:
    """A name that nobody takes for a file of the vault."""
    return f".{secrets.token_hex(8)}.part"


def move_into_place(source: int, temporary: str, handle: int, name: str) -> bool:
    """Give a whole file its name in a folder, of the same disk as its own. False when something has that name.

    The temporary name may stay.
    """
    try:
        os.link(temporary, name, src_dir_fd=source, dst_dir_fd=handle, follow_symlinks=False)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS:
            raise
        return _take(source, temporary, handle, name)
    return True


def _take(source: int, temporary: str, handle: int, name: str) -> bool:
    """On disks without hard links: take the name with an empty file, and put the whole one in its place."""
    try:
        os.close(os.open(name, NEW, MODE, dir_fd=handle))
    except FileExistsError:
        return False
    os.rename(temporary, name, src_dir_fd=source, dst_dir_fd=handle)
    return True
