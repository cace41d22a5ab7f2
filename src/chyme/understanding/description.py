"""A document's title, summary, date, language and tags, computed from its digests, its tags and what people set."""

from __future__ import annotations

import json
from collections.abc import Collection
from itertools import islice
from sqlite3 import Connection

from chyme.core.pipeline.attempt import Attempt
from chyme.core.pipeline.recorders import Completion, Recorder, RefreshNames
from chyme.core.store import digests, documents, events, files
from chyme.digester import Digester, Makes, Title
from chyme.model import Digest, File, Kind, Upstream
from chyme.understanding.classification.result import CLASSIFIERS, Classification, read_classification
from chyme.understanding.edit_rules import Description, apply_edits
from chyme.understanding.tables import edits, tags
from chyme.understanding.tags.existing_tag_reuse import assign_tags
from chyme.understanding.tags.names import TAG_EMBEDDINGS, TAGS, TAGS_EMBEDDED_BEFORE, current_names
from chyme.understanding.tags.vocabulary import TagVocabulary

DESCRIBING = frozenset({*CLASSIFIERS, TAGS})
MAX_MISDESCRIBED = 20  # files that are listed


class DescriptionRecorder(Recorder):
    """Gives files their tags and documents their description, in the transaction of the digest they come from."""

    def __init__(self, refresh_names: RefreshNames) -> None:
        self._refresh_names = refresh_names
        self._vocabulary = TagVocabulary()

    def extra_inputs(self, db: Connection, attempt: Attempt) -> tuple[Upstream, ...]:
        """For the digester of tags' vectors: the tags that need none, because they got it when they were assigned."""
        if attempt.digester.name != TAG_EMBEDDINGS:
            return ()
        models = tags.models_of_file(db, attempt.file.id)
        return (Upstream(TAGS_EMBEDDED_BEFORE, json.dumps(models)),) if models else ()

    def complete(self, db: Connection, completion: Completion, content: str | None) -> str | None:
        if completion.output.name == TAGS:
            return assign_tags(db, completion.file, completion.output, completion.now, self._vocabulary)
        if completion.output.name == TAG_EMBEDDINGS:
            for vector in completion.output.tag_vectors:
                tags.set_missing_vector(db, vector)
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
            tags.set_file_tags(db, file.id, ())
        if DESCRIBING.intersection(outputs):
            self._describe(db, file, now)

    def forget_content(self, db: Connection, file: File) -> None:
        tags.set_file_tags(db, file.id, ())

    def content_replaced(self, db: Connection, file: File, now: str) -> None:
        self._describe(db, file, now)

    def purge(self, db: Connection, file: File, prepared: object) -> None:
        tags.set_file_tags(db, file.id, ())

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


def describe(db: Connection, file_id: int, now: str, refresh_names: RefreshNames) -> bool:
    """Update document, index and events, in the transaction of the change. Returns whether anything changed."""
    path = files.path_of(db, file_id)
    if path is None:
        return False
    description = _edited_description(db, file_id)
    if not documents.describe(
        db, file_id, description.title, description.summary, description.date, description.language, description.tags
    ):
        return False
    refresh_names(db, file_id)
    documents.complete_titled(db, file_id)
    events.record(db, now, "document", file_id, path, detail="described")
    return True


def find_misdescribed(db: Connection) -> list[str]:
    """The first files whose document does not match their digests and edits; empty if all is well."""
    paths = db.execute("SELECT id, path FROM files").fetchall()
    wrong = (
        path
        for file_id, path in paths
        if (shown := shown_description(db, file_id)) and shown != _edited_description(db, file_id)
    )
    return list(islice(wrong, MAX_MISDESCRIBED))


def shown_description(db: Connection, file_id: int) -> Description | None:
    """The description in the document; None if there is no document."""
    row = documents.of_file(db, file_id)
    return Description(row.title, row.summary, row.date, row.language, row.tags) if row else None


def _edited_description(db: Connection, file_id: int) -> Description:
    return apply_edits(compute_description(db, file_id), edits.of_file(db, file_id), current_names(tags.rules(db)))


def compute_description(db: Connection, file_id: int) -> Description:
    """The description without people's edits: from the classifier, and before it has run the text's own title."""
    document = documents.of_file(db, file_id)
    contents = (digests.content(db, file_id, name) for name in CLASSIFIERS)
    classification = read_classification(contents) or Classification()
    title = classification.title or (document.found_title if document else None)
    return Description(
        title, classification.summary, classification.date, classification.language, tuple(tags.of_file(db, file_id))
    )
