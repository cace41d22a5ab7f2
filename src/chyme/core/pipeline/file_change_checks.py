"""Opens a file for an attempt and checks that it is the scanned one, before and after reading."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from chyme.core.files.vault_folder import Vault, stamp_of
from chyme.errors import FileChanged
from chyme.model import File


@contextlib.contextmanager
def open_unchanged(vault: Vault, file: File) -> Iterator[int]:
    """A descriptor of the file; FileChanged if it is gone or has changed since it was scanned."""
    try:
        fd = vault.open(file)
    except FileNotFoundError:
        raise FileChanged(f"{file.path}: is not there any more") from None
    try:
        if stamp_of(os.fstat(fd)) != file.stamp:
            raise FileChanged(f"{file.path}: is not what it was when it was last looked at")
        yield fd
    finally:
        os.close(fd)


def ensure_unchanged(file: File, fd: int) -> None:
    """Raise FileChanged if the file changed while it was read: the result would be worthless."""
    if stamp_of(os.fstat(fd)) != file.stamp:
        raise FileChanged(f"{file.path}: changed while it was read")
