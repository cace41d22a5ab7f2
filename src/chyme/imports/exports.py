"""Opens the export of any of the programs that chyme imports from."""

from __future__ import annotations

import contextlib
import os
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from chyme.errors import UsageError
from chyme.imports.bookmarks import read_bookmarks
from chyme.imports.entries import SOURCES, Entry, Problem
from chyme.imports.export_files import open_export
from chyme.imports.karakeep import read_karakeep
from chyme.imports.paperless import read_paperless
from chyme.imports.sidecar_folder import read_sidecar_folder

_ONE_FILE = {"karakeep": read_karakeep, "bookmarks": read_bookmarks}
_MANY_FILES = {"paperless": read_paperless, "folder": read_sidecar_folder}


@contextlib.contextmanager
def entries_of(source: str, path: Path) -> Iterator[Iterator[Entry | Problem]]:
    """The entries of an export, which are read while they are asked for. Raises UsageError if it is no such export."""
    if source not in SOURCES:
        raise UsageError(f"{source!r}: chyme imports from {', '.join(SOURCES)}")
    if source in _MANY_FILES:
        with open_export(path) as files:
            yield _MANY_FILES[source](files)
        return
    if path.is_dir() or zipfile.is_zipfile(path):
        raise UsageError(f"{path.name}: is no single file of {source}; unpack it and name the file in it")
    yield _ONE_FILE[source](lambda: _open(path))


def _open(path: Path) -> BinaryIO:
    try:
        return os.fdopen(os.open(path, os.O_RDONLY | os.O_CLOEXEC), "rb")
    except OSError as error:
        raise UsageError(f"{path.name}: cannot be read ({error.strerror})") from error
