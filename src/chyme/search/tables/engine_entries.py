"""The entries that the search servers must hold: every passage, name and vector in the database, and nothing else.
Private files are left out if the servers are on other machines (kept_here)."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from sqlite3 import Connection

_NOT_PRIVATE = "file_id NOT IN (SELECT file_id FROM kept_here)"


def paths(db: Connection, file_ids: Collection[int] | None = None) -> list[tuple[int, str]]:
    """The paths of these files, or of all."""
    if file_ids is None:
        return db.execute("SELECT id, path FROM files").fetchall()
    return db.execute(
        "SELECT files.id, files.path FROM json_each(?) AS wanted CROSS JOIN files ON files.id = wanted.value",
        (json.dumps(list(file_ids)),),
    ).fetchall()


def sizes(db: Connection, file_ids: Collection[int]) -> dict[int, int]:
    """The number of passages and vectors of each file."""
    rows = db.execute(
        """
        SELECT wanted.value, (SELECT count(*) FROM passages WHERE file_id = wanted.value)
                           + (SELECT count(*) FROM semantic_passages WHERE file_id = wanted.value)
          FROM json_each(?) AS wanted
        """,
        (json.dumps(list(file_ids)),),
    )
    return dict(rows)


def passages_of(db: Connection, file_ids: Collection[int]) -> list[tuple[int, int, str]]:
    """The files' passages as the index reads them: id, file and text."""
    return db.execute(
        """
        SELECT passages.id, passages.file_id, coalesce(passages.segmented, passages.text)
          FROM json_each(?) AS wanted CROSS JOIN passages ON passages.file_id = wanted.value
         WHERE passages.digester = 'search-keyword'
        """,
        (json.dumps(list(file_ids)),),
    ).fetchall()


def names_of(db: Connection, file_ids: Collection[int]) -> list[tuple[int, str, str, str, str]]:
    """The files' names as the index reads them: file, name, title, tags and summary."""
    return db.execute(
        """
        SELECT file_terms.file_id, file_terms.name, file_terms.title, file_terms.tags, file_terms.summary
          FROM json_each(?) AS wanted CROSS JOIN file_terms ON file_terms.file_id = wanted.value
        """,
        (json.dumps(list(file_ids)),),
    ).fetchall()


def vectors_of(db: Connection, file_ids: Collection[int], embedder_id: int) -> list[tuple[int, int, bytes]]:
    """The embedder's vectors of these files: id, file and vector."""
    return db.execute(
        """
        SELECT semantic_passages.id, semantic_passages.file_id, vectors.vector
          FROM json_each(?) AS wanted
         CROSS JOIN semantic_passages
            ON semantic_passages.file_id = wanted.value AND semantic_passages.embedder_id = ?
         CROSS JOIN vectors ON vectors.id = semantic_passages.id
        """,
        (json.dumps(list(file_ids)), embedder_id),
    ).fetchall()


def files_embedded_by(db: Connection, embedder_id: int) -> list[int]:
    rows = db.execute("SELECT DISTINCT file_id FROM semantic_passages WHERE embedder_id = ?", (embedder_id,))
    return [file_id for (file_id,) in rows]


def every_passage(db: Connection) -> Iterator[tuple[int, int]]:
    """Ids with their files."""
    return db.execute(f"SELECT id, file_id FROM passages WHERE digester = 'search-keyword' AND {_NOT_PRIVATE}")


def every_name(db: Connection) -> Iterator[tuple[int, int]]:
    """The same for names, which have the ids of their files."""
    return db.execute(f"SELECT file_id, file_id FROM file_terms WHERE {_NOT_PRIVATE}")


def every_vector(db: Connection, embedder_id: int) -> Iterator[tuple[int, int]]:
    """The same for one embedder's vectors."""
    return db.execute(
        f"SELECT id, file_id FROM semantic_passages JOIN vectors USING (id) WHERE embedder_id = ? AND {_NOT_PRIVATE}",
        (embedder_id,),
    )
