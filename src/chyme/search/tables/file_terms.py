"""The fields by which a file is found besides its text: name, title, tags, summary, properties, people heard in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from sqlite3 import Connection

from chyme.core.store import documents, files
from chyme.model import File
from chyme.search.searchable_texts import NameTerms, name_terms
from chyme.search.tables import passages
from chyme.speech.people.tables import voices
from chyme.understanding.tables import properties


def write(db: Connection, file: File, title: str | None, tags: Sequence[str], summary: str | None) -> None:
    """Index the file's name, title, tags and summary. These texts are short, so they are tokenised here."""
    passages.write_names(db, file.id, _terms(db, file, title, tags, summary))


def rewrite(db: Connection, file_id: int) -> None:
    """The same after a change outside the file, such as a person's new name."""
    file, document = files.by_id(db, file_id), documents.of_file(db, file_id)
    if file is not None and document is not None:
        write(db, file, document.title, document.tags, document.summary)


def find_misindexed(db: Connection) -> list[str]:
    """Files that are not found by the people heard in them, or still found by others; empty if all is well."""
    wrong = []
    for (file_id,) in db.execute("SELECT DISTINCT file_id FROM voices").fetchall():
        file, document = files.by_id(db, file_id), documents.of_file(db, file_id)
        if file is not None and document is not None:
            terms = _terms(db, file, document.title, document.tags, document.summary)
            stored = db.execute("SELECT tags FROM file_terms WHERE file_id = ?", (file_id,)).fetchone()
            if stored is None or stored[0] != terms.tags:
                wrong.append(file.path)
    return wrong


def _terms(db: Connection, file: File, title: str | None, tags: Sequence[str], summary: str | None) -> NameTerms:
    speakers = [person.name for person in voices.people_in(db, file.id) if person.name]
    return name_terms(file.name, title, [*tags, *speakers, *_values(properties.of_file(db, file.id))], summary)


def _values(values: Mapping[str, str]) -> list[str]:
    """Properties as they are searched: an archive number also with its usual abbreviation."""
    return [f"ASN {value}" if name == "archive number" else value for name, value in values.items()]
