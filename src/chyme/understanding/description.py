"""What a document is called and about, worked out anew from its digests, its tags and what persons set."""

from __future__ import annotations

from sqlite3 import Connection

from chyme.core.pipeline.document_state import CLASSIFIERS
from chyme.core.pipeline.recorders import RefreshNames
from chyme.core.store import digests, documents, events, files
from chyme.understanding.classification.result import Classification, from_json
from chyme.understanding.edit_rules import Description, apply_edits
from chyme.understanding.tables import edits, tags
from chyme.understanding.tags.lookup import current_names


def describe(db: Connection, file_id: int, now: str, refresh_names: RefreshNames) -> bool:
    """Bring document, index and whoever watches in line; in the transaction of what changed. Whether anything did."""
    file = files.by_id(db, file_id)
    if file is None:
        return False
    told = _told(db, file_id)
    if not documents.describe(db, file_id, told.title, told.summary, told.date, told.language, told.tags):
        return False
    refresh_names(db, file_id)
    documents.complete_titled(db, file_id)
    events.record(db, now, "document", file_id, file.path, detail="described")
    return True


def find_misdescribed(db: Connection, most: int = 20) -> list[str]:
    """Files whose document says something else than their digests and edits do; empty when all is well."""
    wrong = []
    for file_id, path in db.execute("SELECT id, path FROM files").fetchall():
        row, told = documents.of_file(db, file_id), _told(db, file_id)
        if row is not None and (row.title, row.summary, row.date, row.language, row.tags) != (
            *(told.title, told.summary, told.date, told.language, told.tags),
        ):
            wrong.append(path)
            if len(wrong) == most:
                break
    return wrong


def _told(db: Connection, file_id: int) -> Description:
    return apply_edits(compute_description(db, file_id), edits.of_file(db, file_id), current_names(tags.rules(db)))


def compute_description(db: Connection, file_id: int) -> Description:
    """What was found out, whatever persons say: the classifier's word, and until it speaks the text's own title."""
    document = documents.of_file(db, file_id)
    said = _classified(db, file_id)
    title = said.title or (document.found_title if document else None)
    return Description(title, said.summary, said.date, said.language, tuple(tags.of_file(db, file_id)))


def _classified(db: Connection, file_id: int) -> Classification:
    for name in sorted(CLASSIFIERS):
        content = digests.content(db, file_id, name)
        if content:
            try:
                return from_json(content)
            except (ValueError, TypeError, KeyError, RecursionError):
                continue
    return Classification()
