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

SHELF_SCAN = "shelf INDEXED BY shelf_facets"  # has what files are filtered and counted by, and is narrow
SHELF_NAME = 100  # characters of a name on the shelf
_FEW = 2000  # files that are looked up one by one
_DATE = "coalesce(documents.date, strftime('%Y-%m-%d', files.mtime_ns / 1000000000, 'unixepoch'))"


# Without a condition, the few vanished files are looked up, and not each of thousands on the shelf.
_AMONG_ALL = "owners WHERE id NOT IN (SELECT id FROM files INDEXED BY files_vanished WHERE vanished_at IS NOT NULL)"
_AMONG_SHELF = "owners CROSS JOIN shelf ON shelf.file_id = owners.id"


@dataclass(frozen=True, slots=True)
class Condition:
    """A part of a WHERE clause over the shelf, which has the visible files, with its values."""

    sql: str
    values: Values = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Listing:
    """One page of the files that meet a condition, how many they are, and all of them if they are few."""

    page: list[int]
    total: int
    all_files: list[int] | None = None


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
    return Condition(f"shelf.kind = :kind{number}", {f"kind{number}": kind})


def has_ending(number: int, ending: str) -> Condition:
    ends = f"LIKE :ending{number} ESCAPE '\\'"
    return Condition(  # the name on the shelf is cut if it is long
        f"""CASE WHEN length(shelf.name) < {SHELF_NAME:d} THEN shelf.name {ends}
                 ELSE (SELECT name {ends} FROM files WHERE id = shelf.file_id) END""",
        {f"ending{number}": f"%.{_escape_like(ending)}"},
    )


def has_tag(number: int, names: Collection[str]) -> Condition:
    """Has one of these tags, ignoring case."""
    return Condition(
        f"""shelf.file_id IN (SELECT file_id FROM shelf_tags
                          WHERE tag COLLATE NOCASE IN (SELECT value FROM json_each(:tags{number})))""",
        {f"tags{number}": json.dumps(list(names))},
    )


def in_folder(number: int, folder: str) -> Condition:
    """Is in this folder, given by its whole path or by its last part or parts."""
    return Condition(
        f"'/' || shelf.folder || '/' LIKE :folder{number} ESCAPE '\\'",
        {f"folder{number}": f"%/{_escape_like(folder.strip('/'))}/%"},
    )


def is_one_of(file_ids: Collection[int]) -> Condition:
    """Is one of these files."""
    return Condition("shelf.file_id IN (SELECT value FROM json_each(:only))", {"only": json.dumps(sorted(file_ids))})


def is_dated_between(number: int, first: str, last: str) -> Condition:
    """Has a date in this range: the document's, or else the day the file was last changed."""
    return Condition(
        f"shelf.day BETWEEN :first{number} AND :last{number} AND shelf.day <> ''",
        {f"first{number}": first, f"last{number}": last},
    )


def in_state(number: int, state: str) -> Condition:
    return Condition(f"shelf.state = :state{number}", {f"state{number}": state})


def has_words(number: int, expression: str) -> Condition:
    """Has these words anywhere: in the text or in name, title, tags or summary."""
    return Condition(
        f"""shelf.file_id IN (
            SELECT passages.file_id
              FROM passage_fts CROSS JOIN passages INDEXED BY passage_owner ON passages.id = passage_fts.rowid
             WHERE passage_fts MATCH :words{number}
             UNION ALL SELECT rowid FROM file_fts WHERE file_fts MATCH :words{number})""",
        {f"words{number}": expression},
    )


def is_named(number: int, expression: str) -> Condition:
    return Condition(
        f"shelf.file_id IN (SELECT rowid FROM file_fts WHERE file_fts MATCH :name{number})",
        {f"name{number}": expression},
    )


def has_speaker(number: int, people: Collection[int]) -> Condition:
    """One of these people is heard in the file."""
    return Condition(
        f"""shelf.file_id IN (
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
        SELECT best.id, shelf.file_id, -best.score, shelf.file_id IS NOT NULL AND ({where.sql})
          FROM (SELECT rowid AS id, bm25(passage_fts) AS score FROM passage_fts
                 WHERE passage_fts MATCH :asked AND rowid >= :since ORDER BY score, rowid LIMIT :limit) AS best
         CROSS JOIN passages INDEXED BY passage_owner ON passages.id = best.id
          LEFT JOIN shelf ON shelf.file_id = passages.file_id
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
              FROM shelf CROSS JOIN passages ON passages.file_id = shelf.file_id
             WHERE {where.sql}),
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
        SELECT shelf.file_id, -best.score
          FROM (SELECT rowid AS id, bm25(file_fts, {weights}) AS score FROM file_fts
                 WHERE file_fts MATCH :asked ORDER BY score, rowid LIMIT :limit) AS best
         CROSS JOIN shelf ON shelf.file_id = best.id
         WHERE {where.sql}
         ORDER BY best.score, best.id
        """,
        {**where.values, "asked": expression, "limit": limit},
    ).fetchall()


def list_files(db: Connection, limit: int, offset: int, where: Condition) -> Listing:
    """Visible files that meet the condition, newest first; those of a day by their path."""
    values = {**where.values, "limit": limit, "offset": offset}
    few = files_that_meet(db, where, _FEW + 1)
    if len(few) <= _FEW:
        rows = db.execute(
            """
            SELECT shelf.file_id
              FROM json_each(:few) AS wanted
             CROSS JOIN shelf ON shelf.file_id = wanted.value CROSS JOIN files ON files.id = wanted.value
             ORDER BY shelf.day DESC, files.path LIMIT :limit OFFSET :offset
            """,
            {"few": json.dumps(few), "limit": limit, "offset": offset},
        )
        return Listing([file_id for (file_id,) in rows], len(few), few)
    # Paths are not on the shelf: only files from the day of the last one on are sorted by them.
    last = db.execute(
        f"SELECT day FROM shelf WHERE {where.sql} ORDER BY day DESC LIMIT 1 OFFSET :limit + :offset - 1", values
    ).fetchone()
    rows = db.execute(
        f"""
        SELECT shelf.file_id FROM shelf CROSS JOIN files ON files.id = shelf.file_id
         WHERE ({where.sql}) AND shelf.day >= :last_day
         ORDER BY shelf.day DESC, files.path LIMIT :limit OFFSET :offset
        """,
        {**values, "last_day": last[0] if last else ""},
    )
    total = db.execute(f"SELECT count(*) FROM shelf WHERE {where.sql}", dict(where.values)).fetchone()[0]
    return Listing([file_id for (file_id,) in rows], int(total))


def files_that_meet(db: Connection, where: Condition, limit: int = -1) -> list[int]:
    """Visible files that meet the condition, in no particular order; all of them without a limit."""
    values = {**where.values, "limit": limit}
    rows = db.execute(f"SELECT file_id FROM shelf WHERE {where.sql} LIMIT :limit", values)
    return [file_id for (file_id,) in rows]


def among(db: Connection, file_ids: Collection[int], where: Condition) -> list[int]:
    """Those of these files that are visible and meet the condition."""
    rows = db.execute(
        f"""
        SELECT shelf.file_id
          FROM json_each(:file_ids) AS wanted CROSS JOIN shelf ON shelf.file_id = wanted.value
         WHERE {where.sql}
        """,
        {**where.values, "file_ids": json.dumps(list(file_ids))},
    )
    return [file_id for (file_id,) in rows]


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
          FROM {_AMONG_ALL if where.sql == all_of(()).sql else f"{_AMONG_SHELF} WHERE {where.sql}"}
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


def matching_passages(db: Connection, expression: str, limit: int) -> list[int]:
    """The ids of up to `limit` passages that match, lowest first."""
    rows = db.execute("SELECT rowid FROM passage_fts WHERE passage_fts MATCH ? LIMIT ?", (expression, limit))
    return [id_ for (id_,) in rows]


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
