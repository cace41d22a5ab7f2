"""Recognises moved and renamed files: which known file has reappeared at a new path, and so keeps its digests.

A rename is recognised by the inode and the stamp alone, without reading the file; a file that got another inode (copied
and deleted, moved to another disk, restored) by its content.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from sqlite3 import Connection

from chyme.core.files.vault_folder import Vault, raw_path, stamp_of
from chyme.core.store import files
from chyme.core.store.files import TRASHED
from chyme.model import File, Seen
from chyme.vault.watch.file_inspection import DiskFile

DISPLACED = ".chyme/displaced/"  # placeholder path of a file whose path was taken by another; never on disk
TRASH_REASON = "put into the trash"  # why a file vanished that a person deleted here


@dataclass(frozen=True, slots=True)
class Move:
    """A known file that is now at `seen.path`."""

    file_id: int
    seen: Seen


def find_renamed(db: Connection, vault: Vault, found: DiskFile, claimed: Collection[int]) -> File | None:
    """The known file that is at this path now, by inode and stamp alone; `claimed` files have a new path already."""
    if not found.stamp.size:
        return None
    alike = files.same_inode(db, found.stamp)
    moved = [file for file in alike if file.path != found.path and _is_elsewhere(vault, file, claimed)]
    if not moved:
        return None
    first = moved[0]
    return find_origin(Seen(found.path, found.escaped, first.kind, first.mime, found.stamp, first.hash), moved)


def find_moved(db: Connection, vault: Vault, seen: Seen, claimed: Collection[int]) -> File | None:
    """The known file that is at this path now with another inode, by its content."""
    alike = files.same_content(db, seen.hash) if seen.stamp.size else []
    return find_origin(seen, [file for file in alike if file.path != seen.path and _is_gone(vault, file, claimed)])


def find_origin(seen: Seen, gone: Sequence[File]) -> File | None:
    """The missing file that `seen` continues, or None when `seen` is a new file.

    A match has the same device, inode, size and time, or the same content. The inode alone never decides (it is reused
    at once), and empty files never match. Among several matches: same stamp, then same name, then same folder, then the
    oldest.
    """
    if seen.stamp.size == 0:
        return None
    matches = [file for file in gone if file.stamp == seen.stamp or file.hash == seen.hash]
    return min(
        matches,
        key=lambda file: (
            file.stamp != seen.stamp,
            file.name != seen.name,
            file.path.rpartition("/")[0] != seen.folder,
            file.created_at,
            file.id,
        ),
        default=None,
    )


def _is_elsewhere(vault: Vault, file: File, claimed: Collection[int]) -> bool:
    """Whether this file is no longer at its path. False if that cannot be checked: an error proves nothing."""
    if file.id in claimed:
        return False
    try:
        status = vault.status(raw_path(file))
    except OSError:
        return False
    return status is None or stamp_of(status) != file.stamp


def _is_gone(vault: Vault, file: File, claimed: Collection[int]) -> bool:
    """Whether nothing is at the file's path any more: a path that still exists keeps its file."""
    if file.id in claimed:
        return False
    try:
        return vault.status(raw_path(file)) is None
    except OSError:
        return False


def displaced_path(file: File) -> str:
    """The placeholder path of a file that has no path."""
    return f"{DISPLACED}{file.id}/{file.name}"


def trashed_path(file: File) -> str:
    """The placeholder path of a file in the trash."""
    return f"{TRASHED}{file.id}/{file.name}"
