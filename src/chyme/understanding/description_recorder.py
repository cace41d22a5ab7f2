"""Keeps a document's title, summary, date, language and tags in step with its digests."""

from __future__ import annotations

from collections.abc import Collection
from sqlite3 import Connection

from chyme.core.pipeline.document_state import CLASSIFIERS, heading_title, title_from_json
from chyme.core.pipeline.recorders import Completion, Recorder, RefreshNames
from chyme.core.store import documents
from chyme.model import Digest, File, Kind, Output
from chyme.understanding.description import describe
from chyme.understanding.tags import assignment
from chyme.understanding.tags.names import TAG_EMBEDDINGS, TAGS

DESCRIBING = frozenset({*CLASSIFIERS, TAGS})


class DescriptionRecorder(Recorder):
    """Gives files their tags and documents their description, in the transaction of the digest they come from."""

    def __init__(self, refresh_names: RefreshNames) -> None:
        self._refresh_names = refresh_names

    def prepare(self, db: Connection, file: File, output: Output) -> str | None:
        """The title that the text itself has."""
        if output.name == "doc-to-markdown":
            return heading_title(output.content)
        if output.name == "url-metadata":
            return title_from_json(output.content)
        if output.name == "search-keyword" and file.mime == "text/markdown" and output.passages:
            return heading_title(output.passages[0].text)
        if output.name == "search-keyword" and file.kind is Kind.URL:
            return title_from_json(output.content)  # written beside the address by a person
        return None

    def complete(self, db: Connection, completion: Completion, content: str | None) -> str | None:
        if completion.output.name == TAGS:
            return assignment.assign_tags(db, completion.file, completion.output, completion.now)
        if completion.output.name == TAG_EMBEDDINGS:
            assignment.store_tag_vectors(db, completion.output)
        return content

    def completed(self, db: Connection, completion: Completion) -> None:
        title = completion.prepared if isinstance(completion.prepared, str) else None
        self._set_found_title(db, completion.file, completion.output.name, title, completion.now)
        if completion.output.name in DESCRIBING:
            self._describe(db, completion.file, completion.now)

    def copied(self, db: Connection, file: File, donor: Digest, now: str) -> None:
        theirs = documents.of_file(db, donor.file_id)
        if theirs is None:
            return
        self._set_found_title(db, file, donor.digester, theirs.found_title, now)
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

    def _set_found_title(self, db: Connection, file: File, name: str, title: str | None, now: str) -> None:
        """The text itself gives the title until a classifier does."""
        speaks = name in ("doc-to-markdown", "url-metadata") or (name == "search-keyword" and file.kind is Kind.TEXT)
        if name == "search-keyword" and file.kind is Kind.URL and title is not None:
            known = documents.of_file(db, file.id)
            speaks = known is not None and known.found_title is None  # the page could not be read, or has no title
        if speaks and documents.set_found_title(db, file.id, title):
            self._describe(db, file, now)

    def _describe(self, db: Connection, file: File, now: str) -> None:
        describe(db, file.id, now, self._refresh_names)
