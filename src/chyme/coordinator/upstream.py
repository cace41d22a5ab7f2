"""What a digester may see of a file: its bytes and the completed outputs it declared."""

from __future__ import annotations

from pathlib import Path
from sqlite3 import Connection
from typing import BinaryIO

from chyme.digester import Digester
from chyme.errors import UsageError
from chyme.model import File, Status, Upstream
from chyme.store import digests, places, sqlar


def inputs_of(db: Connection, file: File, digester: Digester) -> tuple[Upstream, ...]:
    """The completed outputs named in `reads`, those without content left out."""
    if not digester.reads:
        return ()
    rows = digests.of_file(db, file.id)
    done = [name for name in digester.reads if name in rows and rows[name].status is Status.COMPLETED]
    return tuple(found for name in done if (found := _output(db, file, name)) is not None)


def _output(db: Connection, file: File, name: str) -> Upstream | None:
    content = digests.content(db, file.id, name)
    artifacts = sqlar.of_digest(db, file.path, name)
    if content is None and not artifacts:
        return None
    return Upstream(name, content, places.of_digest(db, file.id, name), artifacts)


class StoredSource:
    """A source for asking a digester how long it may take: values and outputs, not the bytes."""

    def __init__(self, db: Connection, file: File, digester: Digester) -> None:
        self._db = db
        self._digester = digester
        self.file = file
        self.scratch = Path()

    def open(self) -> BinaryIO:
        raise UsageError("a time limit is decided without reading the file")

    def output(self, name: str) -> Upstream | None:
        return next((found for found in inputs_of(self._db, self.file, self._digester) if found.name == name), None)

    def progress(self, fraction: float) -> None:
        """Nobody watches."""
