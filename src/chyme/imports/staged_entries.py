"""Copies the content of entries into the vault's staging folder, or only hashes it."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from chyme.core.files.vault_folder import decode_path
from chyme.errors import UsageError
from chyme.imports.entries import Entry
from chyme.vault.file_names import safe_file_name, safe_folder_name
from chyme.vault.intake.new_files import MAX_FOLDER_BYTES, MODE
from chyme.vault.intake.upload_placement import StagedFile
from chyme.vault.open_vault import OpenVault
from chyme.vault.safe_move import NEW_FILE

PIECE = 1024 * 1024
CHECK_EVERY = 64 * PIECE  # bytes between two looks at the room on the disk
_LATEST = 4e9  # seconds; a time stamp beyond that is nonsense


@dataclass(frozen=True, slots=True)
class StagedEntry:
    """An entry with its hash and where it should go; `file` has a staged copy unless it was only hashed."""

    entry: Entry
    file: StagedFile


def target_of(vault: OpenVault, entry: Entry, folder: tuple[str, ...]) -> tuple[tuple[str, ...], str]:
    """A safe folder and name for an entry. Raises UsageError for what chyme would ignore there."""
    last = entry.name.replace("\\", "/").rpartition("/")[2]
    name = safe_file_name(last)
    parts = (*folder, *map(safe_folder_name, entry.folder))
    path = "/".join([*parts, name])
    if last.startswith(".") or vault.scanner.ignores(path):
        raise UsageError("chyme ignores such files, as they are hidden or in .chymeignore")
    if len(os.fsencode("/".join(parts))) > MAX_FOLDER_BYTES:
        raise UsageError("its folders have too long names; choose shorter ones")
    return tuple(map(decode_path, parts)), name


def stage(vault: OpenVault, entry: Entry, folder: tuple[str, ...], staging: Path, number: int) -> StagedEntry:
    """Copy an entry's content into the staging folder. Raises UsageError, OSError or DiskFull."""
    parts, name = target_of(vault, entry, folder)
    path = staging / str(number)
    hash_, size = hashlib.sha256(), 0
    vault.upload_limits.check_disk(staging, 0, vault.folder.root.name)
    with open(os.open(path, NEW_FILE, MODE), "wb") as target, _opened(entry) as source:
        for piece in _pieces(source):
            if size // CHECK_EVERY != (size + len(piece)) // CHECK_EVERY:
                vault.upload_limits.check_disk(staging, 0, vault.folder.root.name)
            target.write(piece)
            hash_.update(piece)
            size += len(piece)
        target.flush()
        os.fsync(target.fileno())
    if entry.modified is not None and 0 < entry.modified < _LATEST:
        os.utime(path, (entry.modified, entry.modified))
    return StagedEntry(entry, StagedFile(entry.label, parts, name, str(number), size, hash_.hexdigest()))


def hash_only(vault: OpenVault, entry: Entry, folder: tuple[str, ...]) -> StagedEntry:
    """The same without a copy."""
    parts, name = target_of(vault, entry, folder)
    hash_, size = hashlib.sha256(), 0
    with _opened(entry) as source:
        for piece in _pieces(source):
            hash_.update(piece)
            size += len(piece)
    return StagedEntry(entry, StagedFile(entry.label, parts, name, "", size, hash_.hexdigest()))


@contextlib.contextmanager
def _opened(entry: Entry) -> Iterator[BinaryIO | bytes]:
    if isinstance(entry.content, bytes):
        yield entry.content
        return
    stream = entry.content()
    try:
        yield stream
    finally:
        stream.close()


def _pieces(source: BinaryIO | bytes) -> Iterator[bytes]:
    if isinstance(source, bytes):
        yield source
        return
    while piece := source.read(PIECE):
        yield piece
