"""What a digester may see of a file: its bytes and the completed outputs it declared."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from sqlite3 import Connection
from typing import BinaryIO

from chyme.digester import Digester
from chyme.errors import UsageError
from chyme.model import File, Status, Upstream
from chyme.store import digests, places, sqlar


def inputs_of(db: Connection, file: File, names: Iterable[str]) -> tuple[Upstream, ...]:
    """These outputs, those without content left out."""
    return tuple(found for name in names if (found := _output(db, file, name)) is not None)


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
        row = digests.of_file(self._db, self.file.id).get(name)
        readable = name in self._digester.reads and row is not None and row.status is Status.COMPLETED
        return _output(self._db, self.file, name) if readable else None

    def progress(self, fraction: float) -> None:
        """Nobody watches."""
