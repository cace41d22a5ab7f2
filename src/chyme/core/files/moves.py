"""Which file, among those no longer at their path, a new path is the continuation of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from chyme.model import File, Seen

DISPLACED = ".chyme/displaced/"  # where a file's row waits whose path was taken by another; never on disk
TRASH_REASON = "put into the trash"  # why a file vanished that a person has deleted here
TRASHED = ".chyme/trashed/"  # where the row of a file waits that a person has put into the trash; never on disk


@dataclass(frozen=True, slots=True)
class Move:
    """A known file that is at `seen.path` now."""

    file_id: int
    seen: Seen


def find_origin(seen: Seen, gone: Sequence[File]) -> File | None:
    """The file that `seen` continues, or None when it is a new one.

    Same device and inode with same size and time, or same content. The inode alone never decides (it is reused at
    once), and empty files are all alike. Of several: same stamp, then same name, then same folder, then the oldest.
    """
    if seen.stamp.size == 0:
        return None
    alike = [file for file in gone if file.stamp == seen.stamp or file.hash == seen.hash]
    if not alike:
        return None
    return min(
        alike,
        key=lambda file: (
            file.stamp != seen.stamp,
            file.name != seen.name,
            file.path.rpartition("/")[0] != seen.folder,
            file.created_at,
            file.id,
        ),
    )


def displaced_path(file: File) -> str:
    """The path of a file that is at no path."""
    return f"{DISPLACED}{file.id}/{file.name}"


def trashed_path(file: File) -> str:
    """The path of a file that is in the trash."""
    return f"{TRASHED}{file.id}/{file.name}"
