"""What a digester may see of a file: its bytes and the completed outputs it declared."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from sqlite3 import Connection
from typing import BinaryIO

from chyme.core.pipeline.attempt import Attempt
from chyme.core.pipeline.registry_rules import Rules
from chyme.core.store import artifacts as sqlar
from chyme.core.store import digests, text_places
from chyme.digester import Digester, StaysHome
from chyme.errors import UsageError
from chyme.model import File, Status, Upstream


def inputs_of(db: Connection, rules: Rules, attempt: Attempt) -> tuple[Upstream, ...]:
    """The outputs an attempt is given, as much of each as its digester looks at, and what recorders add to them."""
    file, digester = attempt.file, attempt.digester
    most = digester.reads_at_most if attempt.inputs else {}
    read = (_output(db, file, name, most.get(name), digester.reads_artifacts) for name in attempt.inputs)
    extra = (extra for recorder in rules.recorders for extra in recorder.extra_inputs(db, attempt))
    return (*read, *extra)


def _output(db: Connection, file: File, name: str, most: int | None, pictures: bool) -> Upstream:
    content = digests.content(db, file.id, name, most)
    artifacts = sqlar.of_digest(db, file.path, name) if pictures else {}
    found = text_places.of_digest(db, file.id, name)
    if most is not None:
        found = tuple(replace(place, end=min(place.end, most)) for place in found if place.start < most)
    return Upstream(name, content, found, artifacts)


class StoredSource(StaysHome):
    """A source for asking a digester how long it may take: values and texts, no bytes."""

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
        most = self._digester.reads_at_most.get(name)
        return _output(self._db, self.file, name, most, False) if readable else None

    def progress(self, fraction: float) -> None:
        """Nobody watches."""
