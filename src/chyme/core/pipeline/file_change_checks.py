"""A file opened for an attempt: what is read must be what was looked at, from the beginning to the end."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from chyme.core.files.vault_folder import Vault, stamp_of
from chyme.errors import FileChanged
from chyme.model import File


@contextlib.contextmanager
def open_unchanged(vault: Vault, file: File) -> Iterator[int]:
    """The file's bytes, or FileChanged when it is not there any more or is another."""
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
    """FileChanged unless what was read is what is there; a result from anything else is worth nothing."""
    if stamp_of(os.fstat(fd)) != file.stamp:
        raise FileChanged(f"{file.path}: changed while it was read")
