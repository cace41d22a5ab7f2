"""Checks whether the database is consistent. Each check is one statement."""

from __future__ import annotations

from sqlite3 import Connection

from chyme.core.store import artifacts, digest_counts
from chyme.search.tables import file_terms, passages

DAMAGE = "database: "  # prefix of problems that SQLite itself found

_CHECKS = {
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
    "files listed as something else than they are": """
        SELECT f.path
          FROM files f LEFT JOIN documents d ON d.file_id = f.id LEFT JOIN shelf s ON s.file_id = f.id
         WHERE (s.file_id IS NULL) <> (f.vanished_at IS NOT NULL)
            OR (s.file_id IS NOT NULL
                AND (s.name, s.size, s.kind, s.title, s.folder, s.state, s.tags) IS NOT
                    (substr(f.name, 1, 100), f.size, f.kind, substr(coalesce(d.title, f.name), 1, 100), f.folder,
                     d.state, coalesce(d.tags, '[]')))
    """,
    "files listed under other tags than they have": """
        SELECT f.path
          FROM documents d JOIN files f ON f.id = d.file_id
         WHERE EXISTS (SELECT 1 FROM json_each(d.tags) AS t
                        WHERE NOT EXISTS (SELECT 1 FROM shelf_tags s WHERE s.tag = t.value AND s.file_id = f.id))
         UNION
        SELECT coalesce(f.path, 'file ' || s.file_id) FROM shelf_tags s
          LEFT JOIN files f ON f.id = s.file_id LEFT JOIN documents d ON d.file_id = s.file_id
         WHERE NOT EXISTS (SELECT 1 FROM json_each(d.tags) AS t WHERE t.value = s.tag COLLATE NOCASE)
    """,
    "documents called completed though a digest is not settled": """
        SELECT f.path FROM documents d JOIN files f ON f.id = d.file_id
         WHERE d.state = 'completed'
           AND EXISTS (SELECT 1 FROM digests g
                        WHERE g.file_id = f.id AND g.settled = 0 AND g.held = 0
                          AND g.digester NOT IN ('tag-embeddings', 'search-semantic'))
    """,
    "digests of vanished files that are not held": """
        SELECT d.file_path || ' ' || d.digester FROM digests d JOIN files f ON f.id = d.file_id
         WHERE (f.vanished_at IS NOT NULL) <> d.held
    """,
    "voices without a group": """
        SELECT f.path || ' ' || v.speaker FROM voices v JOIN files f ON f.id = v.file_id
         WHERE NOT EXISTS (SELECT 1 FROM voice_groups g WHERE g.id = v.group_id AND g.model = v.model)
    """,
    "groups of voices without a person": """
        SELECT 'group ' || id FROM voice_groups g WHERE NOT EXISTS (SELECT 1 FROM people p WHERE p.id = g.person_id)
    """,
    "groups without voices": """
        SELECT 'group ' || id FROM voice_groups g WHERE NOT EXISTS (SELECT 1 FROM voices v WHERE v.group_id = g.id)
    """,
    "people without name and voices": """
        SELECT 'Person ' || id FROM people p
         WHERE name IS NULL AND NOT EXISTS (SELECT 1 FROM voice_groups g WHERE g.person_id = p.id)
    """,
    "digests that name another speaker than their file's voices": """
        SELECT d.file_path || ' ' || json_extract(entry.value, '$.speaker')
          FROM digests d, json_each(iif(json_valid(d.content), d.content, '{}'), '$.speakers') AS entry
         WHERE d.digester = 'speaker-embedding' AND d.content NOT NULL
           AND NOT EXISTS (
               SELECT 1 FROM voices v JOIN voice_groups g ON g.id = v.group_id
                WHERE v.file_id = d.file_id AND v.speaker = json_extract(entry.value, '$.speaker')
                  AND v.id = json_extract(entry.value, '$.voice_id')
                  AND g.person_id = json_extract(entry.value, '$.person_id'))
    """,
    "voices that their file's digest does not name": """
        SELECT d.file_path || ' ' || v.speaker FROM digests d JOIN voices v ON v.file_id = d.file_id
         WHERE d.digester = 'speaker-embedding' AND d.status = 'completed'
           AND NOT EXISTS (
               SELECT 1 FROM json_each(iif(json_valid(d.content), d.content, '{}'), '$.speakers') AS entry
                WHERE json_extract(entry.value, '$.voice_id') = v.id)
    """,
    "semantic passages without a vector": """
        SELECT f.path FROM semantic_passages p JOIN files f ON f.id = p.file_id
         WHERE NOT EXISTS (SELECT 1 FROM vectors v WHERE v.id = p.id)
         GROUP BY f.path
    """,
    "vectors of another length than their embedder's": """
        SELECT f.path || ' ' || e.model
          FROM vectors v JOIN semantic_passages p ON p.id = v.id JOIN embedders e ON e.id = p.embedder_id
          JOIN files f ON f.id = p.file_id
         WHERE length(v.vector) <> 4 * e.dimension
         GROUP BY f.path, e.model
    """,
    "semantic passages without their digest": """
        SELECT f.path FROM semantic_passages p JOIN files f ON f.id = p.file_id
         WHERE NOT EXISTS (SELECT 1 FROM digests d WHERE d.file_id = p.file_id AND d.digester = 'search-semantic')
         GROUP BY f.path
    """,
    "files with another number of semantic passages than their digest says": """
        SELECT d.file_path
          FROM digests d JOIN embedders e ON e.serves = 1 AND e.model = d.embedder
         WHERE d.digester = 'search-semantic' AND d.status = 'completed'
           AND iif(json_valid(d.content), coalesce(d.content ->> '$.passages', 0), 0)
               <> (SELECT count(*) FROM semantic_passages p WHERE p.file_id = d.file_id AND p.embedder_id = e.id)
    """,
    "documents that wait though nothing is left to make": """
        SELECT f.path FROM documents d JOIN files f ON f.id = d.file_id
         WHERE d.state = 'processing' AND f.vanished_at IS NULL
           AND EXISTS (SELECT 1 FROM digests g WHERE g.file_id = f.id)
           AND NOT EXISTS (SELECT 1 FROM digests g WHERE g.file_id = f.id AND g.settled = 0)
    """,
    "embedders of which not exactly one serves": """
        SELECT model FROM embedders WHERE (SELECT count(*) FROM embedders WHERE serves = 1) <> 1
    """,
    "files kept for larger engines though there are none": """
        SELECT coalesce(f.path, 'file ' || o.file_id || ', which is gone')
          FROM outbox o LEFT JOIN files f ON f.id = o.file_id
         WHERE NOT (SELECT active FROM outbox_state)
    """,
}


def find_problems(db: Connection) -> list[str]:
    """Describe all problems; empty if there are none. Runs on the writer: FTS5's check is a write, and kept counts are
    corrected."""
    found = [f"{DAMAGE}{row[0]}" for row in db.execute("PRAGMA integrity_check") if row[0] != "ok"]
    if found:
        return found  # the other checks would read damaged data
    found += [f"database: {row[0]} refers to a missing row" for row in db.execute("PRAGMA foreign_key_check")]
    found += passages.check(db)
    for description, statement in _CHECKS.items():
        found += [f"{description}: {row[0]}" for row in db.execute(statement + " LIMIT 20")]
    found += [f"numbers of digests that were wrong, and are corrected: {wrong}" for wrong in digest_counts.correct(db)]
    found += [
        f"files that are not found by the people heard in them: {path}" for path in file_terms.find_misindexed(db)[:20]
    ]
    thumbnails = db.execute(
        "SELECT f.path, d.face FROM documents d JOIN files f ON f.id = d.file_id WHERE d.face NOT NULL"
    )
    missing = [path for path, face in thumbnails if not artifacts.has_thumbnail(db, path, face)]
    found += [f"documents whose thumbnail is missing: {path}" for path in missing]
    known = db.execute("SELECT file_path, digester FROM digests").fetchall()
    found += [f"artifact without its digest: {name}" for name in artifacts.find_orphans(db, known)]
    return found
