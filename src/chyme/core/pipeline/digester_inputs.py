"""What a digester may see of a file: its bytes and the completed outputs it declared."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from sqlite3 import Connection
from typing import BinaryIO

from chyme.core.pipeline.output_updates import Attempt
from chyme.core.store import artifacts as sqlar
from chyme.core.store import digests, text_places
from chyme.core.store.search import embedders, vectors
from chyme.digester import Digester, StaysHome
from chyme.errors import UsageError
from chyme.model import File, Status, Upstream
from chyme.search.embedders.passage_hashes import EMBEDDED_BEFORE, SEMANTIC, ReusablePassages, passage_hash


def inputs_of(db: Connection, attempt: Attempt) -> tuple[Upstream, ...]:
    """The outputs an attempt is given, as much of each as its digester looks at, and what it need not embed again."""
    file, digester = attempt.file, attempt.digester
    most = digester.reads_at_most if attempt.inputs else {}
    read = (_output(db, file, name, most.get(name), digester.reads_artifacts) for name in attempt.inputs)
    return (*read, *_embedded_before(db, attempt))


def _output(db: Connection, file: File, name: str, most: int | None, pictures: bool) -> Upstream:
    content = digests.content(db, file.id, name, most)
    artifacts = sqlar.of_digest(db, file.path, name) if pictures else {}
    found = text_places.of_digest(db, file.id, name)
    if most is not None:
        found = tuple(replace(place, end=min(place.end, most)) for place in found if place.start < most)
    return Upstream(name, content, found, artifacts)


def _embedded_before(db: Connection, attempt: Attempt) -> tuple[Upstream, ...]:
    """For a digester that embeds: which passages of the file it need not embed again, by the same recipe as today."""
    model, before = attempt.digester.embedder, attempt.before.get(SEMANTIC)
    if (
        model is None
        or before is None
        or before.content_hash is None
        or digests.embedder_of(db, attempt.file.id) != model
    ):
        return ()
    embedder = embedders.by_model(db, model)
    if embedder is None:
        return ()
    hashes = frozenset(map(passage_hash, vectors.texts_of(db, attempt.file.id, embedder.id)))
    return (Upstream(EMBEDDED_BEFORE, ReusablePassages(embedder.dimension, hashes).as_json()),) if hashes else ()


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
