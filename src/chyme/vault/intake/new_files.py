"""Writes new files into the vault: into folders kept open, and under free names."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator, Sequence

from chyme.core.files.vault_folder import FOLDER_ITSELF, decode_path
from chyme.errors import UsageError, VaultGone
from chyme.vault.file_names import safe_name
from chyme.vault.open_vault import OpenVault
from chyme.vault.safe_move import NEW_FILE, hidden_name

MODE = 0o666  # minus the umask of the process
MAX_FOLDER_BYTES = 1000  # of a folder's path: no system opens paths of more than four thousand
_NO_HARD_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EINVAL)


def folder_parts(vault: OpenVault, folder: str) -> list[str]:
    """Return the parts of a folder's path, as spelled on disk. Refuses folders outside the vault and ignored ones."""
    raw = decode_path(folder)
    parts = [part for part in raw.split("/") if part not in ("", ".")]
    if raw.startswith("/") or ".." in parts or "\0" in raw:
        raise UsageError(f"{folder!r}: is not a folder inside the vault")
    try:
        longest = max(len(os.fsencode(part)) for part in ("", *parts))
    except UnicodeEncodeError:
        raise UsageError(f"{folder[:50]!r}: is no text, so no folder is called so; choose another") from None
    if len(os.fsencode(raw)) > MAX_FOLDER_BYTES or longest > 255:
        raise UsageError(f"{folder[:50]!r} …: is too long for a folder; choose another")
    if parts and vault.scanner.ignores("/".join(parts)):
        raise UsageError(f"{folder}: chyme ignores this folder, as it is hidden or in .chymeignore; choose another")
    return parts


@contextlib.contextmanager
def open_folder(vault: OpenVault, parts: Sequence[str]) -> Iterator[int]:
    """Open the folder, and create it if it is missing. Symbolic links are not followed, even if they appear now."""
    vault.database.presence.require()
    handle = os.open(vault.folder.root, FOLDER_ITSELF)
    try:
        for part in parts:
            subfolder = _open_subfolder(handle, part)
            os.close(handle)
            handle = subfolder
        yield handle
        os.fsync(handle)
        _require_at_its_path(vault, handle, "/".join(parts))
    finally:
        os.close(handle)


def _require_at_its_path(vault: OpenVault, handle: int, folder: str) -> None:
    """Raise VaultGone unless the open folder is still at its path: files in a moved folder are not in the vault."""
    vault.database.presence.require()
    try:
        status = os.stat(vault.folder.disk_path(folder), follow_symlinks=False)
    except OSError:
        status = None
    if status is None or not os.path.samestat(status, os.fstat(handle)):
        raise VaultGone(f"{folder or vault.folder.root}: was moved away while it was written to; try it again")


def _open_subfolder(handle: int, part: str) -> int:
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
    """Whether the folder has an entry of this name."""
    try:
        os.stat(name, dir_fd=handle, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def write_new(handle: int, name: str, data: bytes) -> bool:
    """Write a complete new file. Return False if the name is taken."""
    temporary = hidden_name()
    try:
        with open(os.open(temporary, NEW_FILE, MODE, dir_fd=handle), "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        return move_into_place(handle, temporary, handle, name)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=handle)


def move_into_place(source: int, temporary: str, handle: int, name: str) -> bool:
    """Give a complete file its name in a folder on the same disk. Return False if the name is taken.

    The temporary name may remain.
    """
    try:
        os.link(temporary, name, src_dir_fd=source, dst_dir_fd=handle, follow_symlinks=False)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS:
            raise
        return _rename_over_placeholder(source, temporary, handle, name)
    return True


def _rename_over_placeholder(source: int, temporary: str, handle: int, name: str) -> bool:
    """The same for disks without hard links: reserve the name with an empty file, and replace it."""
    try:
        os.close(os.open(name, NEW_FILE, MODE, dir_fd=handle))
    except FileExistsError:
        return False
    os.rename(temporary, name, src_dir_fd=source, dst_dir_fd=handle)
    return True
