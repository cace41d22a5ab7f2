"""A file on disk that has to be inspected."""

from __future__ import annotations

from dataclasses import dataclass

from chyme.model import Stamp


@dataclass(frozen=True, slots=True)
class DiskFile:
    """A regular file on disk whose path is new or whose content may have changed."""

    raw: str  # the path as the disk spells it
    path: str
    escaped: bool
    stamp: Stamp
    ctime: float
