"""Keeps a document's title, summary, date, language and tags in step with its digests."""

from __future__ import annotations

from collections.abc import Collection
from sqlite3 import Connection

from chyme.core.pipeline.recorders import Completion, Recorder, RefreshNames
from chyme.core.store import documents
from chyme.digester import Digester, Makes, Title
from chyme.model import Digest, File, Kind
from chyme.understanding.classification.outputs import CLASSIFIERS
from chyme.understanding.description import describe
from chyme.understanding.tags import assignment
from chyme.understanding.tags.names import TAG_EMBEDDINGS, TAGS

DESCRIBING = frozenset({*CLASSIFIERS, TAGS})


class DescriptionRecorder(Recorder):
    """Gives files their tags and documents their description, in the transaction of the digest they come from."""

    def __init__(self, refresh_names: RefreshNames) -> None:
        self._refresh_names = refresh_names

    def complete(self, db: Connection, completion: Completion, content: str | None) -> str | None:
        if completion.output.name == TAGS:
            return assignment.assign_tags(db, completion.file, completion.output, completion.now)
        if completion.output.name == TAG_EMBEDDINGS:
            assignment.store_tag_vectors(db, completion.output)
        return content

    def completed(self, db: Connection, completion: Completion) -> None:
        output, digester = completion.output, completion.attempt.digester
        self._set_found_title(db, completion.file, digester.traits[output.name], output.title, completion.now)
        if output.name in DESCRIBING:
            self._describe(db, completion.file, completion.now)

    def copied(self, db: Connection, file: File, donor: Digest, digester: Digester, now: str) -> None:
        theirs = documents.of_file(db, donor.file_id)
        if theirs is None:
            return
        self._set_found_title(db, file, digester.traits[donor.digester], theirs.found_title, now)
        if donor.digester in DESCRIBING:
            self._describe(db, file, now)

    def reset(self, db: Connection, file: File, outputs: Collection[str], now: str) -> None:
        if TAGS in outputs:
            assignment.remove_tags(db, file.id)
        if DESCRIBING.intersection(outputs):
            self._describe(db, file, now)

    def forget_content(self, db: Connection, file: File) -> None:
        assignment.remove_tags(db, file.id)

    def content_replaced(self, db: Connection, file: File, now: str) -> None:
        self._describe(db, file, now)

    def purge(self, db: Connection, file: File, prepared: object) -> None:
        assignment.remove_tags(db, file.id)

    def _set_found_title(self, db: Connection, file: File, makes: Makes, title: str | None, now: str) -> None:
        """The text itself gives the title until a classifier does."""
        if makes.title is Title.NONE or (makes.title is Title.FALLBACK and title is None):
            return
        if makes.title is Title.FALLBACK and file.kind is not Kind.TEXT:
            known = documents.of_file(db, file.id)
            if known is None or known.found_title is not None:
                return
        if documents.set_found_title(db, file.id, title):
            self._describe(db, file, now)

    def _describe(self, db: Connection, file: File, now: str) -> None:
        describe(db, file.id, now, self._refresh_names)
