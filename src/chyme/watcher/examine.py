"""Look into one file: its hash and its kind."""

from __future__ import annotations

import hashlib
import os

from chyme.engines.kinds import identify
from chyme.engines.vault import Vault, stamp_of
from chyme.model import File, Kind, Seen, Stamp

HEAD = 64 * 1024
PIECE = 1024 * 1024


def examine(vault: Vault, path: str, escaped: bool) -> Seen | None:
    """What is at this path now, or None when it is gone, unreadable, or changed while we looked."""
    blank = File(0, path, path.rpartition("/")[2], Kind.OTHER, "", Stamp("", "", 0, 0), "", 1, escaped)
    try:
        fd = vault.open(blank)
    except OSError:
        return None
    try:
        before = stamp_of(os.fstat(fd))
        head = os.pread(fd, HEAD, 0)
        digest = hashlib.sha256(head)
        position = len(head)
        while position < before.size:
            piece = os.pread(fd, PIECE, position)
            if not piece:
                break
            digest.update(piece)
            position += len(piece)
        kind, mime = identify(blank.name, head, before.size, lambda at, size: os.pread(fd, size, at))
        if stamp_of(os.fstat(fd)) != before:
            return None
    except OSError:
        return None
    finally:
        os.close(fd)
    return Seen(path, escaped, kind, mime, before, digest.hexdigest())
