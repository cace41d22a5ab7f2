"""Read one file on disk to find its hash and its kind."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass

from chyme.core.files.vault_folder import Vault, stamp_of
from chyme.files.kind_detection import identify
from chyme.files.link_files import LINK_BYTES, link_in, remove_credentials
from chyme.model import File, Kind, Seen, Stamp

HEAD = 64 * 1024
PIECE = 1024 * 1024
_NO_STAMP = Stamp("", "", 0, 0)


@dataclass(frozen=True, slots=True)
class DiskFile:
    """A regular file on disk whose path is new or whose content may have changed."""

    raw: str  # the path as the disk spells it
    path: str
    escaped: bool
    stamp: Stamp
    ctime: float


class FileInspection:
    """Reads one file piece by piece. Raises OSError when the file cannot be read. Must be closed."""

    def __init__(self, vault: Vault, path: str, escaped: bool) -> None:
        self._path = path
        self._escaped = escaped
        self._name = path.rpartition("/")[2]
        self._fd = vault.open(File(0, path, self._name, Kind.OTHER, "", _NO_STAMP, "", 1, escaped))
        try:
            self._stamp = stamp_of(os.fstat(self._fd))
            self._head = os.pread(self._fd, HEAD, 0)
        except OSError:
            os.close(self._fd)
            raise
        self._digest = hashlib.sha256(self._head)
        self._position = len(self._head)

    @property
    def size_left(self) -> int:
        return max(0, self._stamp.size - self._position)

    def read_piece(self) -> bool:
        """Read the next piece and return whether there may be more: False at the end, or if the file became shorter."""
        if self._position >= self._stamp.size:
            return False
        piece = os.pread(self._fd, PIECE, self._position)
        self._digest.update(piece)
        self._position += len(piece)
        return bool(piece)

    def has_changed(self) -> bool:
        """Whether the file was written to since the inspection began."""
        return stamp_of(os.fstat(self._fd)) != self._stamp

    def kind(self) -> tuple[Kind, str]:
        """The kind and the MIME type. Reads only a little of the file, however large it is."""
        return identify(self._name, self._head, self._stamp.size, lambda offset, size: os.pread(self._fd, size, offset))

    def _read_link(self) -> str | None:
        address = link_in(self._name, self._head[: LINK_BYTES + 1])
        return remove_credentials(address) if address else None

    def result(self) -> Seen | None:
        """What the file is, or None if it changed while it was read."""
        kind, mime = self.kind()
        if self._position != self._stamp.size or self.has_changed():
            return None
        link = self._read_link() if kind is Kind.URL else None
        return Seen(self._path, self._escaped, kind, mime, self._stamp, self._digest.hexdigest(), link)

    def close(self) -> None:
        os.close(self._fd)


def inspect_kind(vault: Vault, path: str, escaped: bool) -> tuple[Kind, str]:
    """The kind and the MIME type of the file at this path. Raises OSError when it cannot be read."""
    with contextlib.closing(FileInspection(vault, path, escaped)) as inspection:
        return inspection.kind()


def inspect_file(vault: Vault, path: str, escaped: bool, between_pieces: Callable[[], None]) -> Seen | None:
    """What is at this path now, or None if it changed while it was read. Raises OSError when it cannot be read.

    `between_pieces` is called between the pieces of a large file and may raise to end the reading.
    """
    with contextlib.closing(FileInspection(vault, path, escaped)) as inspection:
        while inspection.read_piece():
            between_pieces()
        return inspection.result()
