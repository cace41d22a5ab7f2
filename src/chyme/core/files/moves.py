"""Recognises moved files: decides which missing file has reappeared at a new path."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from chyme.model import File, Seen

DISPLACED = ".chyme/displaced/"  # placeholder path of a file whose path was taken by another; never on disk
TRASH_REASON = "put into the trash"  # why a file vanished that a person deleted here
TRASHED = ".chyme/trashed/"  # placeholder path of a file that a person put into the trash; never on disk


@dataclass(frozen=True, slots=True)
class Move:
    """A known file that is now at `seen.path`."""

    file_id: int
    seen: Seen


def find_origin(seen: Seen, gone: Sequence[File]) -> File | None:
    """The missing file that `seen` continues, or None when `seen` is a new file.

    A match has the same device, inode, size and time, or the same content. The inode alone never decides (it is reused
    at once), and empty files never match. Among several matches: same stamp, then same name, then same folder, then the
    oldest.
    """
    if seen.stamp.size == 0:
        return None
    matches = [file for file in gone if file.stamp == seen.stamp or file.hash == seen.hash]
    if not matches:
        return None
    return min(
        matches,
        key=lambda file: (
            file.stamp != seen.stamp,
            file.name != seen.name,
            file.path.rpartition("/")[0] != seen.folder,
            file.created_at,
            file.id,
        ),
    )


def displaced_path(file: File) -> str:
    """The placeholder path of a file that has no path."""
    return f"{DISPLACED}{file.id}/{file.name}"


def trashed_path(file: File) -> str:
    """The placeholder path of a file in the trash."""
    return f"{TRASHED}{file.id}/{file.name}"
