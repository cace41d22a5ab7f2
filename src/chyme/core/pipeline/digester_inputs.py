"""What a digester may see of a file: its bytes and the completed outputs it declared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from sqlite3 import Connection
from typing import BinaryIO

from chyme.core.pipeline.attempt import Attempt
from chyme.core.pipeline.registry_rules import Rules
from chyme.core.store import artifacts as sqlar
from chyme.core.store import digests, text_places
from chyme.digester import Digester, Makes, StaysHome
from chyme.errors import UsageError
from chyme.model import Digest, File, Form, Status, Upstream


def inputs_of(db: Connection, rules: Rules, attempt: Attempt) -> tuple[Upstream, ...]:
    """The outputs that an attempt reads, no longer than its digester needs, and what recorders add to them."""
    file, digester = attempt.file, attempt.digester
    max_text = digester.max_text
    read = (_read_output(db, rules, file, name, max_text, digester.inputs.artifacts) for name in attempt.inputs)
    extra = (extra for recorder in rules.recorders for extra in recorder.extra_inputs(db, attempt))
    return (*read, *extra)


def _read_output(
    db: Connection, rules: Rules, file: File, name: str, max_text: int | None, artifacts: bool
) -> Upstream:
    makes = rules.traits.get(name, Makes())
    limit = max_text if makes.form is Form.TEXT else None
    content = digests.content(db, file.id, name, limit)
    found = sqlar.of_digest(db, file.path, name) if artifacts else {}
    places = text_places.of_digest(db, file.id, name)
    if limit is not None:
        places = tuple(replace(place, end=min(place.end, limit)) for place in places if place.start < limit)
    return Upstream(name, content, places, found, makes.form, makes.corrects)


class StoredSource(StaysHome):
    """The source for asking a digester for its time limit: metadata and texts, but no bytes."""

    def __init__(
        self, db: Connection, rules: Rules, file: File, digester: Digester, rows: Mapping[str, Digest]
    ) -> None:
        """`rows`: the file's digests, as they are now."""
        self._db = db
        self._rows = rows
        self._rules = rules
        self._digester = digester
        self.file = file
        self.scratch = Path()

    def open(self) -> BinaryIO:
        raise UsageError("a time limit is decided without reading the file")

    def output(self, name: str) -> Upstream | None:
        row = self._rows.get(name)
        readable = name in self._digester.reads and row is not None and row.status is Status.COMPLETED
        if not readable:
            return None
        return _read_output(self._db, self._rules, self.file, name, self._digester.max_text, artifacts=False)

    def progress(self, fraction: float) -> None:
        """Ignored: nothing is being made."""
