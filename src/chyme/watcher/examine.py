"""Look into one file: its hash and its kind."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable

from chyme.engines.kinds import identify
from chyme.engines.vault import Vault, stamp_of
from chyme.model import File, Kind, Seen, Stamp

HEAD = 64 * 1024
PIECE = 1024 * 1024

_UNSEEN = Stamp("", "", 0, 0)


def examine(vault: Vault, path: str, escaped: bool, pulse: Callable[[], None]) -> Seen | None:
    """What is at this path now, or None when it changed while we looked. Raises OSError when it cannot be read.

    `pulse` is called between pieces of a large file and may raise to end it.
    """
    name = path.rpartition("/")[2]
    fd = vault.open(File(0, path, name, Kind.OTHER, "", _UNSEEN, "", 1, escaped))
    try:
        before = stamp_of(os.fstat(fd))
        head = os.pread(fd, HEAD, 0)
        digest = hashlib.sha256(head)
        position = len(head)
        while position < before.size:
            pulse()
            piece = os.pread(fd, PIECE, position)
            if not piece:
                break
            digest.update(piece)
            position += len(piece)
        kind, mime = identify(name, head, before.size, lambda at, size: os.pread(fd, size, at))
        if position != before.size or stamp_of(os.fstat(fd)) != before:
            return None
    finally:
        os.close(fd)
    return Seen(path, escaped, kind, mime, before, digest.hexdigest())
