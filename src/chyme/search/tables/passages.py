"""Passages and names as the keyword indexes hold them. Only triggers write to the indexes, and keep them exact."""

from __future__ import annotations

import dataclasses
import json
import sqlite3
from collections.abc import Collection, Iterable, Sequence
from sqlite3 import Connection
from typing import Any, Literal, NamedTuple

from chyme.model import Passage, Place
from chyme.search.searchable_texts import NameTerms
from chyme.search.tables import dictionary

PASSAGE_COLUMNS = 'source, ordinal, start, "end", page, heading, seconds, until, speaker, box, text'
_COLUMNS = f"{PASSAGE_COLUMNS}, segmented"


def replace(
    db: Connection,
    file_id: int,
    digester: str,
    passages: Sequence[Passage],
    words: Iterable[str] = (),
    forgotten_words: Iterable[str] = (),
) -> None:
    """Replace the passages that the digester cut before; words are added and forgotten with them.

    A passage that is unchanged at its position stays, and so does its entry in the index.
    """
    stored = of_file(db, file_id, digester)
    unchanged = {
        position
        for _, known in stored
        if (position := known.ordinal) < len(passages)
        and known == dataclasses.replace(passages[position], ordinal=position)
    }
    removed = [(id_,) for id_, known in stored if known.ordinal not in unchanged]
    db.executemany("DELETE FROM passages WHERE id = ?", removed)
    dictionary.forget(db, forgotten_words)
    db.executemany(
        f"INSERT INTO passages (file_id, digester, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (file_id, digester, *to_row(passage, ordinal), passage.segmented)
            for ordinal, passage in enumerate(passages)
            if ordinal not in unchanged
        ],
    )
    dictionary.learn(db, words)


def remove(db: Connection, file_id: int, digester: str | None = None) -> None:
    """Remove the file's passages from the index: one digester's, or all."""
    db.execute(
        "DELETE FROM passages WHERE file_id = :file AND (:digester IS NULL OR digester = :digester)",
        {"file": file_id, "digester": digester},
    )


def copy(db: Connection, from_file_id: int, to_file_id: int, digester: str) -> None:
    """Give a file the passages of another with equal content."""
    remove(db, to_file_id, digester)
    db.execute(
        f"""
        INSERT INTO passages (file_id, digester, {_COLUMNS})
        SELECT ?, digester, {_COLUMNS} FROM passages WHERE file_id = ? AND digester = ? ORDER BY ordinal
        """,
        (to_file_id, from_file_id, digester),
    )


def write_names(db: Connection, file_id: int, terms: NameTerms) -> None:
    """Index the file under these fields. Repeating this costs nothing."""
    db.execute(
        """
        INSERT INTO file_terms (file_id, name, title, tags, summary) VALUES (?, ?, ?, ?, ?)
            ON CONFLICT (file_id) DO UPDATE
           SET name = excluded.name, title = excluded.title, tags = excluded.tags, summary = excluded.summary
         WHERE (name, title, tags, summary) IS NOT (excluded.name, excluded.title, excluded.tags, excluded.summary)
        """,
        (file_id, terms.name, terms.title, terms.tags, terms.summary),
    )
    dictionary.learn(db, terms.words)


def remove_names(db: Connection, file_id: int) -> None:
    db.execute("DELETE FROM file_terms WHERE file_id = ?", (file_id,))


def check(db: Connection) -> list[str]:
    """Problems of the indexes, in words for people. Runs on the writer: FTS5's own check is a write command."""
    problems: list[str] = []
    for index in ("passage_fts", "file_fts"):
        try:
            db.execute(f"INSERT INTO {index} ({index}, rank) VALUES ('integrity-check', 1)")
        except sqlite3.DatabaseError as error:
            problems.append(f"{index} does not agree with its texts ({error}); run: chyme index --rebuild")
    return problems


def rebuild(db: Connection) -> None:
    """Rebuild both indexes from the stored texts."""
    for index in ("passage_fts", "file_fts"):
        db.execute(f"INSERT INTO {index} ({index}) VALUES ('rebuild')")


def sweep(db: Connection, pages: int = 500) -> bool:
    """One bounded step of merging away what deleted files left in the indexes; False when nothing is left to do.

    FTS5 keeps the words of deleted rows until its segments are merged. After a purge, call this until it returns False.
    """
    busy = False
    for index in ("passage_fts", "file_fts"):
        before = db.total_changes
        db.execute(f"INSERT INTO {index} ({index}, rank) VALUES ('merge', ?)", (-pages,))
        busy |= db.total_changes - before >= 2  # this is how FTS5 reports that it merged something
    return busy


def has(db: Connection, file_id: int, digester: str) -> bool:
    """Whether the digester has cut any passage of this file."""
    row = db.execute("SELECT 1 FROM passages WHERE file_id = ? AND digester = ? LIMIT 1", (file_id, digester))
    return row.fetchone() is not None


def of_file(db: Connection, file_id: int, digester: str) -> list[tuple[int, Passage]]:
    """A file's passages with their ids, in order."""
    rows = db.execute(
        f"SELECT id, {_COLUMNS} FROM passages WHERE file_id = ? AND digester = ? ORDER BY ordinal", (file_id, digester)
    )
    return [(id_, from_row(rest)) for id_, *rest in rows]


def by_id(db: Connection, ids: Collection[int]) -> dict[int, tuple[int, Passage]]:
    """Passages with their files, by their ids; deleted ones are left out. An id may belong to another passage now."""
    rows = db.execute(
        f"SELECT id, file_id, {_COLUMNS} FROM passages WHERE id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(ids)),),
    )
    return {id_: (file_id, from_row(rest)) for id_, file_id, *rest in rows}


def first_of_files(db: Connection, file_ids: Collection[int], digester: str, count: int) -> dict[int, int]:
    """The ids of the first passages of each of these files, at most `count` of one, with their files."""
    rows = db.execute(
        """
        SELECT passages.id, passages.file_id
          FROM json_each(:files) AS wanted
         CROSS JOIN passages ON passages.file_id = wanted.value AND passages.digester = :digester AND ordinal < :count
        """,
        {"files": json.dumps(list(file_ids)), "digester": digester, "count": count},
    )
    return dict(rows.fetchall())


def to_row(passage: Passage, ordinal: int) -> tuple[object, ...]:
    """The values of PASSAGE_COLUMNS."""
    place = passage.place
    box = json.dumps(place.box) if place.box else None
    return (
        *(passage.source, ordinal, place.start, place.end, place.page, place.heading),
        *(place.seconds, place.until, place.speaker, box, passage.text),
    )


def from_row(row: Sequence[Any]) -> Passage:
    """The passage with these values of PASSAGE_COLUMNS, which may be followed by the segmented text."""
    source, ordinal, start, end, page, heading, seconds, until, speaker, box, text, *segmented = row
    corners = tuple(json.loads(box)) if box else None
    place = Place(start, end, page, heading, seconds, until, speaker, corners)
    return Passage(source, ordinal, text, place, *segmented)


class Totals(NamedTuple):
    """The totals of one index that FTS5 uses in bm25()."""

    texts: int
    average_length: float  # in words, all columns together


def totals(db: Connection, index: Literal["passage_fts", "file_fts"]) -> Totals:
    """Read from the row in which FTS5 keeps them: the number of texts, then of words in each column."""
    row = db.execute(f"SELECT block FROM {index}_data WHERE id = 1").fetchone()
    texts, *lengths = _decode_varints(row[0]) if row and row[0] else [0]
    return Totals(texts, sum(lengths) / texts if texts else 0.0)


def _decode_varints(block: bytes) -> list[int]:
    """Decode SQLite's variable-length integers: seven bits a byte, the highest bit says that another byte follows."""
    numbers = []
    number = 0
    for byte in block:
        number = number << 7 | byte & 0x7F
        if byte < 0x80:
            numbers.append(number)
            number = 0
    return numbers
