"""Passages as embedders read them, with their vectors. An id is never assigned twice and never changes its vector."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from sqlite3 import Connection

from chyme.model import Passage
from chyme.search.tables.embedders import Reads
from chyme.search.tables.keyword_queries import Condition
from chyme.search.tables.passages import PASSAGE_COLUMNS, from_row, to_row

NUMBER_BYTES = 4  # float32


def replace(
    db: Connection,
    file_id: int,
    embedder_id: int,
    passages: Sequence[Passage],
    vectors: bytes,
    dimension: int,
    keep_others: bool,
) -> None:
    """Replace this embedder's passages of the file, and those of others that read the same unless `keep_others`.

    What is unchanged at its position stays, with its id, so that caches need not read it again.
    """
    width = dimension * NUMBER_BYTES
    if len(vectors) != width * len(passages):
        raise ValueError(
            f"{len(passages)} passages need {width * len(passages)} bytes of vectors, there are {len(vectors)}"
        )
    unchanged = _unchanged_ordinals(of_file(db, file_id, embedder_id), passages, vectors, width)
    db.execute(
        """
        DELETE FROM semantic_passages
         WHERE file_id = :file
           AND iif(embedder_id = :embedder, ordinal NOT IN (SELECT value FROM json_each(:stay)),
                   NOT :keep AND embedder_id IN (SELECT others.id FROM embedders JOIN embedders AS others USING (reads)
                                                  WHERE embedders.id = :embedder))
        """,
        {"file": file_id, "embedder": embedder_id, "keep": keep_others, "stay": json.dumps(list(unchanged))},
    )
    db.executemany(
        f"""
        INSERT INTO semantic_passages (file_id, embedder_id, {PASSAGE_COLUMNS})
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """,
        [
            (file_id, embedder_id, *to_row(passage, ordinal))
            for ordinal, passage in enumerate(passages)
            if ordinal not in unchanged
        ],
    )
    ids = db.execute(
        "SELECT id, ordinal FROM semantic_passages WHERE file_id = ? AND embedder_id = ? ORDER BY ordinal",
        (file_id, embedder_id),
    ).fetchall()
    db.executemany(
        "INSERT INTO vectors (id, vector) VALUES (?, ?)",
        [
            (id_, vectors[position * width : (position + 1) * width])
            for id_, position in ids
            if position not in unchanged
        ],
    )


def _unchanged_ordinals(
    stored: Sequence[tuple[int, Passage, bytes]], passages: Sequence[Passage], vectors: bytes, width: int
) -> set[int]:
    """The ordinals at which a stored passage and its vector are unchanged."""
    return {
        position
        for _, known, vector in stored
        if (position := known.ordinal) < len(passages)
        and (known.source, known.place, known.text)
        == (passages[position].source, passages[position].place, passages[position].text)
        and vector == vectors[position * width : (position + 1) * width]
    }


def remove(db: Connection, file_id: int, reads: Reads | None = None) -> None:
    """Delete the file's passages and vectors of all embedders, or of those of texts or of pictures."""
    db.execute(
        """
        DELETE FROM semantic_passages
         WHERE file_id = :file
           AND (:reads IS NULL OR embedder_id IN (SELECT id FROM embedders WHERE reads = :reads))
        """,
        {"file": file_id, "reads": reads},
    )


def remove_of_model(db: Connection, file_id: int, model: str) -> None:
    """Delete this model's passages and vectors of the file."""
    db.execute(
        """
        DELETE FROM semantic_passages
         WHERE file_id = ? AND embedder_id = (SELECT id FROM embedders WHERE embedders.model = ?)
        """,
        (file_id, model),
    )


def copy(db: Connection, from_file_id: int, to_file_id: int, reads: Reads = "texts") -> None:
    """Give a file the vectors of another with equal content. Vectors of embedders that the other file lacks stay."""
    files = {"from": from_file_id, "to": to_file_id, "reads": reads}
    db.execute(
        """
        DELETE FROM semantic_passages
         WHERE file_id = :to
           AND embedder_id IN (SELECT embedder_id FROM semantic_passages JOIN embedders ON embedders.id = embedder_id
                                WHERE file_id = :from AND embedders.reads = :reads)
        """,
        files,
    )
    db.execute(
        f"""
        INSERT INTO semantic_passages (file_id, embedder_id, {PASSAGE_COLUMNS})
        SELECT :to, embedder_id, {PASSAGE_COLUMNS} FROM semantic_passages
         WHERE file_id = :from AND embedder_id IN (SELECT id FROM embedders WHERE reads = :reads)
         ORDER BY embedder_id, ordinal
        """,
        files,
    )
    db.execute(
        """
        INSERT INTO vectors (id, vector)
        SELECT given.id, vectors.vector
          FROM semantic_passages AS given
         CROSS JOIN semantic_passages AS taken
            ON taken.file_id = :from AND taken.embedder_id = given.embedder_id AND taken.ordinal = given.ordinal
         CROSS JOIN vectors ON vectors.id = taken.id
         WHERE given.file_id = :to AND given.embedder_id IN (SELECT id FROM embedders WHERE reads = :reads)
        """,
        files,
    )


def list_after(db: Connection, embedder_id: int, after_id: int, limit: int) -> list[tuple[int, int, bytes]]:
    """The embedder's next vectors after this id, lowest first: id, file and vector."""
    return db.execute(
        """
        SELECT semantic_passages.id, semantic_passages.file_id, vectors.vector
          FROM semantic_passages INDEXED BY semantic_passages_of_embedder
         CROSS JOIN vectors ON vectors.id = semantic_passages.id
         WHERE semantic_passages.embedder_id = ? AND semantic_passages.id > ?
         ORDER BY semantic_passages.id LIMIT ?
        """,
        (embedder_id, after_id, limit),
    ).fetchall()


def by_id(db: Connection, ids: Collection[int]) -> dict[int, tuple[int, Passage]]:
    """Passages and their files by the passages' ids; deleted ones are left out."""
    rows = db.execute(
        f"""
        SELECT id, file_id, {PASSAGE_COLUMNS} FROM semantic_passages WHERE id IN (SELECT value FROM json_each(?))
        """,
        (json.dumps(list(ids)),),
    )
    return {id_: (file_id, from_row(rest)) for id_, file_id, *rest in rows}


def vectors_by_id(db: Connection, ids: Collection[int]) -> dict[int, bytes]:
    """Vectors by the ids of their passages; deleted ones are left out."""
    rows = db.execute(
        "SELECT id, vector FROM vectors WHERE id IN (SELECT value FROM json_each(?))", (json.dumps(list(ids)),)
    )
    return dict(rows)


def first_of_files(
    db: Connection, embedder_id: int, file_ids: Collection[int], count: int
) -> list[tuple[int, int, bytes]]:
    """The embedder's first passages of each of these files, at most `count` of one: id, file and vector."""
    return db.execute(
        """
        SELECT semantic_passages.id, semantic_passages.file_id, vectors.vector
          FROM json_each(:files) AS wanted
         CROSS JOIN semantic_passages
            ON semantic_passages.file_id = wanted.value AND semantic_passages.embedder_id = :embedder
           AND semantic_passages.ordinal < :count
         CROSS JOIN vectors ON vectors.id = semantic_passages.id
        """,
        {"files": json.dumps(list(file_ids)), "embedder": embedder_id, "count": count},
    ).fetchall()


def of_file(db: Connection, file_id: int, embedder_id: int) -> list[tuple[int, Passage, bytes]]:
    """This embedder's ids, passages and vectors of a file, in order."""
    rows = db.execute(
        f"""
        SELECT id, vector, {PASSAGE_COLUMNS} FROM semantic_passages JOIN vectors USING (id)
         WHERE file_id = ? AND embedder_id = ? ORDER BY ordinal
        """,
        (file_id, embedder_id),
    )
    return [(id_, from_row(rest), vector) for id_, vector, *rest in rows]


def texts_of(db: Connection, file_id: int, embedder_id: int) -> list[str]:
    """The passages of a file that this embedder has embedded."""
    rows = db.execute(
        "SELECT text FROM semantic_passages WHERE file_id = ? AND embedder_id = ?", (file_id, embedder_id)
    )
    return [text for (text,) in rows]


def ids_of_files_where(db: Connection, embedder_id: int, where: Condition, limit: int) -> list[int]:
    """Up to `limit` of the embedder's passages in visible files that meet the condition."""
    rows = db.execute(
        f"""
        SELECT semantic_passages.id
          FROM shelf CROSS JOIN semantic_passages
            ON semantic_passages.file_id = shelf.file_id AND semantic_passages.embedder_id = :embedder
         WHERE {where.sql}
         LIMIT :limit
        """,
        {**where.values, "embedder": embedder_id, "limit": limit},
    )
    return [id_ for (id_,) in rows]


def visible(db: Connection, ids: Collection[int], where: Condition) -> dict[int, int]:
    """Those of these passages that still exist in visible files that meet the condition, with their files."""
    rows = db.execute(
        f"""
        SELECT semantic_passages.id, shelf.file_id
          FROM json_each(:ids) AS wanted
         CROSS JOIN semantic_passages INDEXED BY semantic_passage_owner ON semantic_passages.id = wanted.value
         CROSS JOIN shelf ON shelf.file_id = semantic_passages.file_id
         WHERE {where.sql}
        """,
        {**where.values, "ids": json.dumps(list(ids))},
    )
    return dict(rows)


def count(db: Connection, embedder_id: int) -> int:
    """How many passages this embedder has embedded."""
    row = db.execute("SELECT count(*) FROM semantic_passages WHERE embedder_id = ?", (embedder_id,)).fetchone()
    return int(row[0])


def highest_id(db: Connection, embedder_id: int) -> int:
    """The id of the embedder's newest passage, 0 if it has none."""
    row = db.execute("SELECT max(id) FROM semantic_passages WHERE embedder_id = ?", (embedder_id,)).fetchone()
    return int(row[0] or 0)


def last_assigned(db: Connection) -> int:
    """The highest id any passage ever had. It decreases only if an older state of the database was restored."""
    row = db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'semantic_passages'").fetchone()
    return int(row[0]) if row else 0


def list_existing(db: Connection, embedder_id: int, low: int, high: int) -> list[int]:
    """The embedder's passages with an id above `low`, up to and including `high`, in order."""
    rows = db.execute(
        """
        SELECT id FROM semantic_passages INDEXED BY semantic_passages_of_embedder
         WHERE embedder_id = ? AND id > ? AND id <= ? ORDER BY id
        """,
        (embedder_id, low, high),
    )
    return [id_ for (id_,) in rows]
