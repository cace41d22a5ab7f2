"""Renames a file of the vault on disk, within its folder, if it is unchanged, and without replacing another file."""

from __future__ import annotations

import contextlib
import os
import unicodedata
from collections.abc import Callable, Iterable
from itertools import count

from chyme.core.files.vault_folder import decode_path, encode_path, raw_path, stamp_of
from chyme.errors import UsageError
from chyme.model import File, Seen
from chyme.vault.file_names import numbered_name
from chyme.vault.moved_files import Move
from chyme.vault.open_vault import OpenVault
from chyme.vault.safe_move import rename_in

_MAX_TRIES = 100


class RenameError(UsageError):
    """The file keeps its name. The message follows its path, and says why and what helps."""


class FreeNames:
    """The names taken in folders of the vault; ignores case, because some file systems do."""

    def __init__(self, vault: OpenVault) -> None:
        self._vault = vault
        self._taken: dict[str, set[str]] = {}  # folder → normalised names

    def take(self, file: File, wanted: str) -> str:
        """Reserve and return the wanted name, or the first numbered one that is free."""
        taken = self._names_in(_folder_of(raw_path(file)))
        numbered = (numbered_name(wanted, number) for number in count(1))
        name = next(name for name in numbered if _normalise(name) not in taken)
        taken.add(_normalise(name))
        return name

    def _names_in(self, folder: str) -> set[str]:
        if folder not in self._taken:
            try:
                with self._vault.folder.open_folder(folder) as handle:
                    self._taken[folder] = set(map(_normalise, os.listdir(handle)))
            except OSError:
                self._taken[folder] = set()  # renaming will report the reason
        return self._taken[folder]


def rename_on_disk(vault: OpenVault, file: File, name: str, another: Callable[[], str]) -> Move:
    """Rename the file and return the move. `another` gives the next name to try if a name was taken meanwhile.

    Raises RenameError, and changes nothing, if that fails.
    """
    raw = raw_path(file)
    try:
        with vault.folder.open_folder(_folder_of(raw)) as handle:
            _refuse_changed(vault, file, raw)
            for _ in range(_MAX_TRIES):
                if vault.scanner.ignores(raw_path_beside(raw, name)):
                    raise RenameError(f"chyme would ignore it as {name} (.chymeignore)")
                _refuse_uncovering(vault, file, name)
                try:
                    rename_in(handle, _name_of(raw), name)
                except FileExistsError:
                    name = another()
                    continue
                return _move_to(vault, file, raw_path_beside(raw, name))
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise RenameError(f"cannot be renamed ({reason}); see who may write in its folder") from error
    raise RenameError("every name is taken as soon as it is chosen; try again")


def sync_folders(vault: OpenVault, moves: Iterable[Move]) -> None:
    """Make renames survive a power cut, before they are recorded in the database."""
    for folder in {_folder_of(decode_path(move.seen.path)) for move in moves}:
        with contextlib.suppress(OSError), vault.folder.open_folder(folder) as handle:
            os.fsync(handle)


def path_beside(file: File, name: str) -> str:
    """The path of a file of this name in the same folder."""
    return encode_path(raw_path_beside(raw_path(file), name))[0]


def raw_path_beside(raw: str, name: str) -> str:
    folder = _folder_of(raw)
    return f"{folder}/{name}" if folder else name


def name_on_disk(path: str) -> str:
    """The last part of a path, as the disk spells it."""
    return _name_of(decode_path(path))


def _refuse_changed(vault: OpenVault, file: File, raw: str) -> None:
    status = vault.folder.status(raw)
    if status is None:
        raise RenameError("is not where it was; 'chyme digest' finds it again")
    if stamp_of(status) != file.stamp:
        raise RenameError("has changed since it was digested; 'chyme digest' looks at it again")


def _refuse_uncovering(vault: OpenVault, file: File, name: str) -> None:
    """Refuse a name under which a private file would no longer be private and be sent to a model."""
    if vault.private.problem is not None:
        raise RenameError(f"keeps its name for now: {vault.private.problem}")
    if vault.private(file.path) and not vault.private(path_beside(file, name)):
        raise RenameError(f"is private, and would not be so as {name}; add a pattern for that to .chymeprivate first")


def _move_to(vault: OpenVault, file: File, raw: str) -> Move:
    path, escaped = encode_path(raw)
    status = vault.folder.status(raw)
    stamp = stamp_of(status) if status is not None else file.stamp
    return Move(file.id, Seen(path, escaped, file.kind, file.mime, stamp, file.hash))


def _folder_of(raw: str) -> str:
    return raw.rpartition("/")[0]


def _name_of(raw: str) -> str:
    return raw.rpartition("/")[2]


def _normalise(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()
