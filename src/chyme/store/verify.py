"""Does the database agree with itself? Each question is one statement."""

from __future__ import annotations

from sqlite3 import Connection

from chyme.store import passages, sqlar

_QUESTIONS = {
    "digests with a path that is not their file's": """
        SELECT d.file_path || ' ' || d.digester FROM digests d JOIN files f ON f.id = d.file_id
         WHERE f.path <> d.file_path
    """,
    "locks of files that are not worked on": """
        SELECT f.path FROM processing_locks l JOIN files f ON f.id = l.file_id
         WHERE NOT EXISTS (SELECT 1 FROM digests d WHERE d.file_id = l.file_id AND d.status = 'in-progress')
    """,
    "passages without their digest": """
        SELECT p.file_id || ' ' || p.digester FROM passages p
         WHERE NOT EXISTS (SELECT 1 FROM digests d WHERE d.file_id = p.file_id AND d.digester = p.digester)
         GROUP BY p.file_id, p.digester
    """,
    "places without their digest": """
        SELECT p.file_id || ' ' || p.digester FROM places p
         WHERE NOT EXISTS (SELECT 1 FROM digests d WHERE d.file_id = p.file_id AND d.digester = p.digester)
         GROUP BY p.file_id, p.digester
    """,
    "digests whose artifact is missing": """
        SELECT d.file_path || ' ' || d.digester FROM digests d
         WHERE d.sqlar_name IS NOT NULL AND NOT EXISTS (SELECT 1 FROM sqlar s WHERE s.name = d.sqlar_name)
    """,
    "files without a document": """
        SELECT path FROM files f WHERE NOT EXISTS (SELECT 1 FROM documents d WHERE d.file_id = f.id)
    """,
    "files that cannot be found by their name": """
        SELECT path FROM files f WHERE NOT EXISTS (SELECT 1 FROM file_terms t WHERE t.file_id = f.id)
    """,
    "documents called completed though a digest is not settled": """
        SELECT f.path FROM documents d JOIN files f ON f.id = d.file_id
         WHERE d.state = 'completed'
           AND EXISTS (SELECT 1 FROM digests g WHERE g.file_id = f.id AND g.settled = 0 AND g.held = 0)
    """,
    "digests of vanished files that are not held": """
        SELECT d.file_path || ' ' || d.digester FROM digests d JOIN files f ON f.id = d.file_id
         WHERE (f.vanished_at IS NOT NULL) <> d.held
    """,
}


def problems(db: Connection) -> list[str]:
    """Everything that is wrong, in words; empty when all is well. Runs on the writer (FTS5's check is a write)."""
    found = [f"database: {row[0]}" for row in db.execute("PRAGMA integrity_check") if row[0] != "ok"]
    found += [f"database: {row[0]} refers to a missing row" for row in db.execute("PRAGMA foreign_key_check")]
    found += passages.check(db)
    for question, statement in _QUESTIONS.items():
        found += [f"{question}: {row[0]}" for row in db.execute(statement + " LIMIT 20")]
    shown = db.execute("SELECT f.path, d.face FROM documents d JOIN files f ON f.id = d.file_id WHERE d.face NOT NULL")
    faceless = [path for path, face in shown if not sqlar.has_face(db, path, face)]
    found += [f"documents whose thumbnail is missing: {path}" for path in faceless]
    known = db.execute("SELECT file_path, digester FROM digests").fetchall()
    found += [f"artifact without its digest: {name}" for name in sqlar.orphans(db, known)]
    return found
