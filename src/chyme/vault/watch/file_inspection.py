"""Look into one file: its hash and its kind."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable

from chyme.core.files.vault_folder import Vault, stamp_of
from chyme.files.kind_detection import identify
from chyme.files.link_files import LINK_BYTES, link_in, remove_credentials
from chyme.model import File, Kind, Seen, Stamp

HEAD = 64 * 1024
PIECE = 1024 * 1024

_UNSEEN = Stamp("", "", 0, 0)


class FileInspection:
    """Reads one file piece by piece. Raises OSError when it cannot be read. Must be closed."""

    def __init__(self, vault: Vault, path: str, escaped: bool) -> None:
        self._path = path
        self._escaped = escaped
        self._name = path.rpartition("/")[2]
        self._fd = vault.open(File(0, path, self._name, Kind.OTHER, "", _UNSEEN, "", 1, escaped))
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
        """Whether there may be more to read. False at the end, and once the file is shorter than it was."""
        if self._position >= self._stamp.size:
            return False
        piece = os.pread(self._fd, PIECE, self._position)
        self._digest.update(piece)
        self._position += len(piece)
        return bool(piece)

    def has_changed(self) -> bool:
        """Whether the file was written to since we began."""
        return stamp_of(os.fstat(self._fd)) != self._stamp

    def kind(self) -> tuple[Kind, str]:
        """The kind and the MIME type. Reads little of the file, however large it is."""
        return identify(self._name, self._head, self._stamp.size, lambda at, size: os.pread(self._fd, size, at))

    def _link(self) -> str | None:
        address = link_in(self._name, self._head[: LINK_BYTES + 1])
        return remove_credentials(address) if address else None

    def result(self) -> Seen | None:
        """What the file is; None when it has changed while it was read."""
        kind, mime = self.kind()
        if self._position != self._stamp.size or self.has_changed():
            return None
        link = self._link() if kind is Kind.URL else None
        return Seen(self._path, self._escaped, kind, mime, self._stamp, self._digest.hexdigest(), link)

    def close(self) -> None:
        os.close(self._fd)


def inspect_kind(vault: Vault, path: str, escaped: bool) -> tuple[Kind, str]:
    """The kind and the MIME type of the file at this path. Raises OSError when it cannot be read."""
    with contextlib.closing(FileInspection(vault, path, escaped)) as examination:
        return examination.kind()


def inspect_file(vault: Vault, path: str, escaped: bool, pulse: Callable[[], None]) -> Seen | None:
    """What is at this path now, or None when it changed while we looked. Raises OSError when it cannot be read.

    `pulse` is called between pieces of a large file and may raise to end it.
    """
    with contextlib.closing(FileInspection(vault, path, escaped)) as examination:
        while examination.read_piece():
            pulse()
        return examination.result()
