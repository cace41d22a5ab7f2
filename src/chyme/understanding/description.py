"""A document's title, summary, date, language and tags, computed from its digests, its tags and what people set."""

from __future__ import annotations

from sqlite3 import Connection

from chyme.core.pipeline.recorders import RefreshNames
from chyme.core.store import digests, documents, events, files
from chyme.understanding.classification.outputs import CLASSIFIERS
from chyme.understanding.classification.result import Classification, from_json
from chyme.understanding.edit_rules import Description, apply_edits
from chyme.understanding.tables import edits, tags
from chyme.understanding.tags.lookup import current_names


def describe(db: Connection, file_id: int, now: str, refresh_names: RefreshNames) -> bool:
    """Update document, index and events, in the transaction of the change. Returns whether anything changed."""
    file = files.by_id(db, file_id)
    if file is None:
        return False
    description = _edited_description(db, file_id)
    if not documents.describe(
        db, file_id, description.title, description.summary, description.date, description.language, description.tags
    ):
        return False
    refresh_names(db, file_id)
    documents.complete_titled(db, file_id)
    events.record(db, now, "document", file_id, file.path, detail="described")
    return True


def find_misdescribed(db: Connection, limit: int = 20) -> list[str]:
    """Files whose document does not match their digests and edits; empty if all is well."""
    wrong = []
    for file_id, path in db.execute("SELECT id, path FROM files").fetchall():
        row, description = documents.of_file(db, file_id), _edited_description(db, file_id)
        if row is not None and (row.title, row.summary, row.date, row.language, row.tags) != (
            *(description.title, description.summary, description.date, description.language, description.tags),
        ):
            wrong.append(path)
            if len(wrong) == limit:
                break
    return wrong


def _edited_description(db: Connection, file_id: int) -> Description:
    return apply_edits(compute_description(db, file_id), edits.of_file(db, file_id), current_names(tags.rules(db)))


def compute_description(db: Connection, file_id: int) -> Description:
    """The description without people's edits: from the classifier, and before it has run the text's own title."""
    document = documents.of_file(db, file_id)
    classification = _classification(db, file_id)
    title = classification.title or (document.found_title if document else None)
    return Description(
        title, classification.summary, classification.date, classification.language, tuple(tags.of_file(db, file_id))
    )


def _classification(db: Connection, file_id: int) -> Classification:
    for name in CLASSIFIERS:
        content = digests.content(db, file_id, name)
        if content:
            try:
                return from_json(content)
            except (ValueError, TypeError, KeyError, RecursionError):
                continue
    return Classification()
