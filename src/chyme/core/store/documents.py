"""What people see of a file, as a projection of its digests."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from sqlite3 import Connection

from chyme.core.pipeline.document_state import NO_TITLE


@dataclass(frozen=True, slots=True)
class DocumentRow:
    """One document as the table stores it."""

    file_id: int
    title: str | None
    summary: str | None
    date: str | None
    language: str | None
    tags: tuple[str, ...]
    state: str
    reason: str | None
    degraded: bool
    moved_at: str
    pages: int | None = None
    face: str | None = None  # the output whose thumbnail represents the document
    found_title: str | None = None  # the title in the text itself


def of_file(db: Connection, file_id: int) -> DocumentRow | None:
    row = db.execute(
        """
        SELECT file_id, title, summary, date, language, tags, state, reason, degraded, moved_at, pages, face,
               found_title
          FROM documents WHERE file_id = ?
        """,
        (file_id,),
    ).fetchone()
    if row is None:
        return None
    return DocumentRow(*(*row[:5], tuple(json.loads(row[5])), *row[6:8], bool(row[8]), *row[9:]))


def state_of(db: Connection, file_id: int) -> tuple[str | None, bool]:
    """The document's state, and whether it has a title; (None, False) if there is no document."""
    row = db.execute("SELECT state, title IS NOT NULL FROM documents WHERE file_id = ?", (file_id,)).fetchone()
    return (row[0], row[1] == 1) if row else (None, False)


def count_by_language(db: Connection) -> dict[str, int]:
    """How many documents there are in each language that was detected."""
    rows = db.execute("SELECT language, count(*) FROM documents WHERE language IS NOT NULL GROUP BY language")
    return dict(rows.fetchall())


def register(db: Connection, file_id: int, now: str) -> None:
    """Add a document for a new file."""
    db.execute(
        "INSERT OR IGNORE INTO documents (file_id, state, reason, moved_at) VALUES (?, 'processing', 'new', ?)",
        (file_id, now),
    )


def set_state(db: Connection, file_id: int, state: str, reason: str | None, degraded: bool, now: str) -> None:
    """Set the state and the time of the last progress."""
    db.execute(
        "UPDATE documents SET state = ?, reason = ?, degraded = ?, moved_at = ? WHERE file_id = ?",
        (state, reason, int(degraded), now, file_id),
    )


def find_inconsistent(db: Connection) -> list[int]:
    """Files whose document needs classification although one of their digests failed for good."""
    rows = db.execute(
        """
        SELECT file_id FROM documents INDEXED BY documents_by_state WHERE state = 'needs-classification'
           AND EXISTS (SELECT 1 FROM digests g
                        WHERE g.file_id = documents.file_id AND g.status = 'failed' AND g.settled = 1)
        """
    )
    return [file_id for (file_id,) in rows]


def set_found_title(db: Connection, file_id: int, title: str | None) -> bool:
    """Set the title in the text itself. Returns whether it changed."""
    statement = "UPDATE documents SET found_title = ? WHERE file_id = ? AND found_title IS NOT ?"
    return db.execute(statement, (title, file_id, title)).rowcount == 1


def complete_titled(db: Connection, file_id: int) -> None:
    """Complete a document that lacked only a title and has one now."""
    db.execute(
        """
        UPDATE documents SET state = 'completed', reason = NULL
         WHERE file_id = ? AND state = 'needs-classification' AND reason = ? AND title IS NOT NULL
        """,
        (file_id, NO_TITLE),
    )


def describe(
    db: Connection,
    file_id: int,
    title: str | None,
    summary: str | None,
    date: str | None,
    language: str | None,
    tags: Sequence[str],
) -> bool:
    """Set what the document is about. Returns whether that changed."""
    tags_json = json.dumps(list(tags), ensure_ascii=False)
    changed = db.execute(
        """
        UPDATE documents SET title = :title, summary = :summary, date = :date, language = :language, tags = :tags
         WHERE file_id = :file
           AND (title, summary, date, language, tags) IS NOT (:title, :summary, :date, :language, :tags)
        """,
        {"title": title, "summary": summary, "date": date, "language": language, "tags": tags_json, "file": file_id},
    ).rowcount
    return changed == 1


def set_thumbnail(db: Connection, file_id: int, output: str, pages: int | None) -> None:
    """This output holds the thumbnail, and the number of pages if there are any."""
    db.execute("UPDATE documents SET face = ?, pages = ? WHERE file_id = ?", (output, pages, file_id))


def clear_thumbnail(db: Connection, file_id: int, output: str) -> None:
    """The output's pictures are gone."""
    db.execute("UPDATE documents SET face = NULL, pages = NULL WHERE file_id = ? AND face = ?", (file_id, output))


def clear_findings(db: Connection, file_id: int, now: str) -> None:
    """The file has other content: clear what was found in the old one."""
    db.execute(
        """
        UPDATE documents
           SET title = NULL, found_title = NULL, summary = NULL, date = NULL, language = NULL, tags = '[]',
               state = 'processing', reason = 'content changed', degraded = 0, pages = NULL, face = NULL, moved_at = ?
         WHERE file_id = ?
        """,
        (now, file_id),
    )


def list_stalled(db: Connection, since: str, until: str, limit: int) -> list[str]:
    """Files whose documents are in progress and last changed between these times."""
    rows = db.execute(
        """
        SELECT f.path FROM documents d JOIN files f ON f.id = d.file_id
         WHERE d.state = 'processing' AND d.moved_at >= ? AND d.moved_at < ? AND f.vanished_at IS NULL
         ORDER BY d.moved_at LIMIT ?
        """,
        (since, until, limit),
    )
    return [path for (path,) in rows]


def counts(db: Connection, stale_before: str) -> dict[str, int]:
    """How many documents of files on disk are in each state; stale means that nothing changed for a while."""
    by_state = db.execute("SELECT state, count(*) FROM documents INDEXED BY documents_by_state GROUP BY state")
    found: Counter[str] = Counter(dict(by_state.fetchall()))
    stale = db.execute(
        "SELECT count(*) FROM documents INDEXED BY documents_by_state WHERE state = 'processing' AND moved_at < ?",
        (stale_before,),
    ).fetchone()[0]
    found.update({"stale": stale, "processing": -stale})
    vanished = db.execute(
        """
        SELECT CASE WHEN d.state = 'processing' AND d.moved_at < ? THEN 'stale' ELSE d.state END AS shown, count(*)
          FROM files f INDEXED BY files_vanished CROSS JOIN documents d ON d.file_id = f.id
         WHERE f.vanished_at IS NOT NULL GROUP BY shown
        """,
        (stale_before,),
    )  # separately, because the index does not know which files have vanished
    found.subtract(dict(vanished.fetchall()))
    return {state: found[state] for state in ("processing", "stale", "completed", "needs-classification", "failed")}


@dataclass(frozen=True, slots=True)
class ExportRow:
    """A file with its document."""

    file_id: int
    path: str
    kind: str
    mime: str
    size: int
    title: str | None
    summary: str | None
    date: str | None
    language: str | None
    tags: tuple[str, ...]
    state: str
    pages: int | None
    created_at: str
    updated_at: str


def list_for_export(db: Connection, path: str, limit: int) -> list[ExportRow]:
    """The next files on disk after this path, in the order of their paths; begin with ''."""
    rows = db.execute(
        """
        SELECT f.id, f.path, f.kind, f.mime, f.size, d.title, d.summary, d.date, d.language, d.tags, d.state, d.pages,
               f.created_at, f.updated_at
          FROM files f JOIN documents d ON d.file_id = f.id
         WHERE f.path > ? AND f.vanished_at IS NULL
         ORDER BY f.path LIMIT ?
        """,
        (path, limit),
    )
    return [ExportRow(*(*row[:9], tuple(json.loads(row[9])), *row[10:])) for row in rows]
