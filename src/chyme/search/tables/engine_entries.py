"""The entries that the search servers must hold: every passage, name and vector in the database, and nothing else.
Private files are left out if the servers are on other machines (kept_here)."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from sqlite3 import Connection

from chyme.search.tables import embedders, engine_outbox
from chyme.search.tables.embedders import Embedder
from chyme.search.tables.engine_outbox import ChangedFile
from chyme.search.tables.keyword_queries import Condition

_NOT_PRIVATE = "file_id NOT IN (SELECT file_id FROM kept_here)"
_MAX_FILES, _MAX_ENTRIES = 200, 4000  # files, and passages with vectors, read from the database together


@dataclass(frozen=True, slots=True)
class Batch:
    """Some files of the outbox, and all that the engines must hold of them. Read in one snapshot, sent afterwards."""

    files: tuple[ChangedFile, ...]
    private: tuple[int, ...]  # those of them that the engines must hold nothing of
    passages: list[tuple[int, int, str]]  # as the index reads them: id, file and text
    names: list[tuple[int, str, str, str, str]]  # as the index reads them: file, name, title, tags and summary
    vectors: dict[Embedder, list[tuple[int, int, bytes]]]  # id, file and vector


def next_batch(db: Connection, but: Collection[int], private: Callable[[str], bool]) -> Batch | None:
    """The present state of the files that have waited longest, except those in `but`; None if there are no others."""
    waiting = [file for file in engine_outbox.list_changed(db, _MAX_FILES + len(but)) if file.file_id not in but]
    return batch_of(db, _limit_entries(db, waiting), private) if waiting else None


def _limit_entries(db: Connection, files: Sequence[ChangedFile]) -> list[ChangedFile]:
    """As many files as fit into memory together, at least one."""
    rows = db.execute(
        """
        SELECT wanted.value, (SELECT count(*) FROM passages WHERE file_id = wanted.value)
                           + (SELECT count(*) FROM semantic_passages WHERE file_id = wanted.value)
          FROM json_each(?) AS wanted
        """,
        (json.dumps([file.file_id for file in files]),),
    )
    sizes: dict[int, int] = dict(rows)
    taken: list[ChangedFile] = []
    room = _MAX_ENTRIES
    for file in files:
        room -= sizes.get(file.file_id, 0)
        if taken and room < 0:
            break
        taken.append(file)
    return taken


def batch_of(db: Connection, files: Sequence[ChangedFile], private: Callable[[str], bool]) -> Batch:
    """The present state of these files. `private`: whether a path must not be sent to the engines."""
    private_ids = {id_ for id_, path in paths(db, [file.file_id for file in files]) if private(path)}
    ids = json.dumps([file.file_id for file in files if file.file_id not in private_ids])
    passages = db.execute(
        """
        SELECT passages.id, passages.file_id, coalesce(passages.segmented, passages.text)
          FROM json_each(?) AS wanted CROSS JOIN passages ON passages.file_id = wanted.value
         WHERE passages.digester = 'search-keyword'
        """,
        (ids,),
    ).fetchall()
    names = db.execute(
        """
        SELECT file_terms.file_id, file_terms.name, file_terms.title, file_terms.tags, file_terms.summary
          FROM json_each(?) AS wanted CROSS JOIN file_terms ON file_terms.file_id = wanted.value
        """,
        (ids,),
    ).fetchall()
    vectors = {embedder: _vectors(db, ids, embedder.id) for embedder in embedders.list_all(db)}
    return Batch(tuple(files), tuple(private_ids), passages, names, vectors)


def _vectors(db: Connection, file_ids: str, embedder_id: int) -> list[tuple[int, int, bytes]]:
    return db.execute(
        """
        SELECT semantic_passages.id, semantic_passages.file_id, vectors.vector
          FROM json_each(?) AS wanted
         CROSS JOIN semantic_passages
            ON semantic_passages.file_id = wanted.value AND semantic_passages.embedder_id = ?
         CROSS JOIN vectors ON vectors.id = semantic_passages.id
        """,
        (file_ids, embedder_id),
    ).fetchall()


def paths(db: Connection, file_ids: Collection[int] | None = None) -> list[tuple[int, str]]:
    """The paths of these files, or of all."""
    if file_ids is None:
        return db.execute("SELECT id, path FROM files").fetchall()
    return db.execute(
        "SELECT files.id, files.path FROM json_each(?) AS wanted CROSS JOIN files ON files.id = wanted.value",
        (json.dumps(list(file_ids)),),
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


def known_passages(db: Connection, ids: Collection[int], where: Condition) -> dict[int, int]:
    """Those of a server's passages that still exist in visible files that meet the condition, with their files."""
    rows = db.execute(
        f"""
        SELECT passages.id, shelf.file_id
          FROM json_each(:ids) AS wanted
         CROSS JOIN passages INDEXED BY passage_owner ON passages.id = wanted.value
         CROSS JOIN shelf ON shelf.file_id = passages.file_id
         WHERE {where.sql}
        """,
        {**where.values, "ids": json.dumps(list(ids))},
    )
    return dict(rows)


def known_files(db: Connection, ids: Collection[int], where: Condition) -> set[int]:
    """Those of a server's files that are visible and meet the condition."""
    rows = db.execute(
        f"""
        SELECT shelf.file_id
          FROM json_each(:ids) AS wanted CROSS JOIN shelf ON shelf.file_id = wanted.value
         WHERE {where.sql}
        """,
        {**where.values, "ids": json.dumps(list(ids))},
    )
    return {file_id for (file_id,) in rows}
