"""The database queries of keyword search. CROSS JOIN keeps SQLite from choosing the wrong driving table."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from sqlite3 import Connection

from chyme.model import Kind
from chyme.search.ranking.keyword_ranking import NAME_WEIGHTS, Match
from chyme.search.tables import passages

Values = Mapping[str, str | int | float]

_VISIBLE = "files.vanished_at IS NULL"
_FROM_VISIBLE = f"FROM files LEFT JOIN documents ON documents.file_id = files.id WHERE {_VISIBLE}"
_DATE = "coalesce(documents.date, strftime('%Y-%m-%d', files.mtime_ns / 1000000000, 'unixepoch'))"


@dataclass(frozen=True, slots=True)
class Condition:
    """A part of a WHERE clause over files and documents, with its values."""

    sql: str
    values: Values = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Scope:
    """Which passages are scored: those that match, only from some passage on if they are too many."""

    expression: str
    since: int | None = None


@dataclass(frozen=True, slots=True)
class FoundFile:
    """What a hit shows about its file."""

    file_id: int
    path: str
    name: str
    kind: Kind
    title: str | None
    summary: str | None
    date: str | None
    tags: tuple[str, ...]


def has_kind(number: int, kind: str) -> Condition:
    return Condition(f"files.kind = :kind{number}", {f"kind{number}": kind})


def has_ending(number: int, ending: str) -> Condition:
    return Condition(f"files.name LIKE :ending{number} ESCAPE '\\'", {f"ending{number}": f"%.{_escape_like(ending)}"})


def has_tag(number: int, names: Collection[str]) -> Condition:
    """Has one of these tags, ignoring case."""
    return Condition(
        f"""files.id IN (SELECT file_id FROM shelf_tags
                          WHERE tag COLLATE NOCASE IN (SELECT value FROM json_each(:tags{number})))""",
        {f"tags{number}": json.dumps(list(names))},
    )


def in_folder(number: int, folder: str) -> Condition:
    """Is in this folder, given by its whole path or by its last part or parts."""
    return Condition(
        f"'/' || files.folder || '/' LIKE :folder{number} ESCAPE '\\'",
        {f"folder{number}": f"%/{_escape_like(folder.strip('/'))}/%"},
    )


def is_dated_between(number: int, first: str, last: str) -> Condition:
    """Has a date in this range: the document's, or else the day the file was last changed."""
    return Condition(
        f"{_DATE} BETWEEN :first{number} AND :last{number}", {f"first{number}": first, f"last{number}": last}
    )


def in_state(number: int, state: str) -> Condition:
    return Condition(f"documents.state = :state{number}", {f"state{number}": state})


def has_words(number: int, expression: str) -> Condition:
    """Has these words anywhere: in the text or in name, title, tags or summary."""
    return Condition(
        f"""files.id IN (
            SELECT passages.file_id
              FROM passage_fts CROSS JOIN passages INDEXED BY passage_owner ON passages.id = passage_fts.rowid
             WHERE passage_fts MATCH :words{number}
             UNION ALL SELECT rowid FROM file_fts WHERE file_fts MATCH :words{number})""",
        {f"words{number}": expression},
    )


def is_named(number: int, expression: str) -> Condition:
    return Condition(
        f"files.id IN (SELECT rowid FROM file_fts WHERE file_fts MATCH :name{number})", {f"name{number}": expression}
    )


def has_speaker(number: int, people: Collection[int]) -> Condition:
    """One of these people is heard in the file."""
    return Condition(
        f"""files.id IN (
            SELECT voices.file_id
              FROM json_each(:people{number}) AS wanted
             CROSS JOIN voice_groups ON voice_groups.person_id = wanted.value
             CROSS JOIN voices ON voices.group_id = voice_groups.id)""",
        {f"people{number}": json.dumps(list(people))},
    )


def negate(condition: Condition) -> Condition:
    return Condition(f"coalesce(NOT ({condition.sql}), 1)", condition.values)


def all_of(conditions: Sequence[Condition]) -> Condition:
    values = {name: value for condition in conditions for name, value in condition.values.items()}
    return Condition(" AND ".join(f"({condition.sql})" for condition in conditions) or "1", values)


def best_passages(db: Connection, scope: Scope, limit: int, where: Condition) -> tuple[list[Match], bool]:
    """Those of the best passages whose files are visible and meet the condition; and whether there may be more.

    Sorting by bm25() and not by FTS5's `rank` lets SQLite keep the best only: `rank` sorts all that match.
    """
    rows = db.execute(
        f"""
        SELECT best.id, files.id, -best.score, {_VISIBLE} AND {where.sql}
          FROM (SELECT rowid AS id, bm25(passage_fts) AS score FROM passage_fts
                 WHERE passage_fts MATCH :asked AND rowid >= :since ORDER BY score, rowid LIMIT :limit) AS best
         CROSS JOIN passages INDEXED BY passage_owner ON passages.id = best.id
         CROSS JOIN files ON files.id = passages.file_id
          LEFT JOIN documents ON documents.file_id = files.id
         ORDER BY best.score, best.id
        """,
        {**where.values, "asked": scope.expression, "since": scope.since or 0, "limit": limit},
    ).fetchall()
    more = len(rows) == limit or scope.since is not None
    return [Match(id_, file_id, score) for id_, file_id, score, is_found in rows if is_found], more


def best_passages_among(db: Connection, scope: Scope, limit: int, where: Condition) -> list[Match]:
    """The best passages of visible files that meet the condition. Scoring is slow: only these are scored."""
    rows = db.execute(
        f"""
        WITH allowed (id) AS MATERIALIZED (
            SELECT passages.id
              FROM files LEFT JOIN documents ON documents.file_id = files.id
             CROSS JOIN passages ON passages.file_id = files.id
             WHERE {_VISIBLE} AND {where.sql}),
        best (id, rank) AS MATERIALIZED (
            SELECT rowid, bm25(passage_fts) AS score FROM passage_fts
             WHERE passage_fts MATCH :asked AND +rowid IN allowed ORDER BY score LIMIT :limit)
        SELECT best.id, passages.file_id, -best.rank
          FROM best CROSS JOIN passages INDEXED BY passage_owner ON passages.id = best.id
         ORDER BY best.rank
        """,
        {**where.values, "asked": scope.expression, "limit": limit},
    )
    return [Match(*row) for row in rows]


def newest(db: Connection, expression: str, limit: int) -> int | None:
    """The id from which on about `limit` passages match, or None if there are no more than that."""
    row = db.execute(
        "SELECT rowid FROM passage_fts WHERE passage_fts MATCH ? ORDER BY rowid DESC LIMIT 1 OFFSET ?",
        (expression, limit),
    ).fetchone()
    return int(row[0]) if row else None


def names(db: Connection, expression: str, limit: int, where: Condition) -> list[tuple[int, float]]:
    """Visible files whose name, title, tags or summary match best."""
    weights = ", ".join(str(weight) for weight in NAME_WEIGHTS)
    return db.execute(
        f"""
        SELECT files.id, -best.rank
          FROM (SELECT rowid AS id, rank FROM file_fts
                 WHERE file_fts MATCH :asked AND rank MATCH 'bm25({weights})' ORDER BY rank LIMIT :limit) AS best
         CROSS JOIN files ON files.id = best.id
          LEFT JOIN documents ON documents.file_id = files.id
         WHERE {_VISIBLE} AND {where.sql}
         ORDER BY best.rank
        """,
        {**where.values, "asked": expression, "limit": limit},
    ).fetchall()


def list_files(db: Connection, limit: int, offset: int, where: Condition) -> list[int]:
    """Visible files that meet the condition, newest first."""
    order = f"ORDER BY {_DATE} DESC, files.path LIMIT :limit OFFSET :offset"
    values = {**where.values, "limit": limit, "offset": offset}
    rows = db.execute(f"SELECT files.id {_FROM_VISIBLE} AND {where.sql} {order}", values)
    return [file_id for (file_id,) in rows]


def files_that_meet(db: Connection, where: Condition, limit: int = -1) -> list[int]:
    """Visible files that meet the condition, in no particular order; all of them without a limit."""
    values = {**where.values, "limit": limit}
    rows = db.execute(f"SELECT files.id {_FROM_VISIBLE} AND {where.sql} LIMIT :limit", values)
    return [file_id for (file_id,) in rows]


def count_listed(db: Connection, where: Condition) -> int:
    row = db.execute(f"SELECT count(*) {_FROM_VISIBLE} AND {where.sql}", dict(where.values)).fetchone()
    return int(row[0])


def count_matching(db: Connection, expression: str, where: Condition, limit: int) -> tuple[int, bool]:
    """How many visible files match, reading no more than `limit` passages; and whether that is exact."""
    rows, examined = db.execute(
        f"""
        WITH matched (id) AS MATERIALIZED (SELECT rowid FROM passage_fts WHERE passage_fts MATCH :asked LIMIT :most),
             named (id) AS MATERIALIZED (SELECT rowid FROM file_fts WHERE file_fts MATCH :asked LIMIT :most),
             owners (id) AS (
                 SELECT passages.file_id
                   FROM matched CROSS JOIN passages INDEXED BY passage_owner ON passages.id = matched.id
                  UNION SELECT id FROM named)
        SELECT count(*), (SELECT max((SELECT count(*) FROM matched), (SELECT count(*) FROM named)))
          FROM owners CROSS JOIN files ON files.id = owners.id
          LEFT JOIN documents ON documents.file_id = files.id
         WHERE {_VISIBLE} AND {where.sql}
        """,
        {**where.values, "asked": expression, "most": limit},
    ).fetchone()
    return int(rows), int(examined) < limit


def count_matching_passages(db: Connection, expression: str, limit: int = -1) -> int:
    """How many passages match, counted up to `limit`."""
    row = db.execute(
        "SELECT count(*) FROM (SELECT 1 FROM passage_fts WHERE passage_fts MATCH :asked LIMIT :most)",
        {"asked": expression, "most": limit},
    ).fetchone()
    return int(row[0])


def frequency(db: Connection, expression: str, limit: int = -1) -> tuple[int, int]:
    """How many passages and how many names match, counted up to `limit` each."""
    row: tuple[int, int] = db.execute(
        """
        SELECT (SELECT count(*) FROM (SELECT 1 FROM passage_fts WHERE passage_fts MATCH :asked LIMIT :most)),
               (SELECT count(*) FROM (SELECT 1 FROM file_fts WHERE file_fts MATCH :asked LIMIT :most))
        """,
        {"asked": expression, "most": limit},
    ).fetchone()
    return row


def count_passages(db: Connection) -> int:
    """How many passages the keyword index holds, as FTS5 itself counts them for bm25()."""
    return passages.totals(db, "passage_fts").texts


def files(db: Connection, ids: Collection[int]) -> dict[int, FoundFile]:
    """What hits show about these files."""
    rows = db.execute(
        f"""
        SELECT files.id, files.path, files.name, files.kind, documents.title, documents.summary, {_DATE}, documents.tags
          FROM json_each(:ids) AS wanted
         CROSS JOIN files ON files.id = wanted.value
          LEFT JOIN documents ON documents.file_id = files.id
        """,
        {"ids": json.dumps(list(ids))},
    )
    return {
        row[0]: FoundFile(
            row[0], row[1], row[2], Kind(row[3]), row[4], row[5], row[6], tuple(json.loads(row[7] or "[]"))
        )
        for row in rows
    }


def _escape_like(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
