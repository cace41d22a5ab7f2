"""Which files a list shows, and in which order. A page begins after a key, so that no file is shown twice or skipped
when files come and go meanwhile."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from sqlite3 import Connection
from typing import Any, Literal

from chyme.core.pipeline.document_state import PROCESSING_STATUS, displayed_state
from chyme.core.store import artifacts
from chyme.model import THUMBNAIL, Kind, iso
from chyme.text.excerpts import first_lines

COLUMNS = {"added": "added", "date": "day", "name": "name", "title": "title", "size": "size", "kind": "kind"}

MARKDOWN = "text/markdown"
FEW = 5_000  # up to so many files are sorted instead of filtered from an index

Key = str | int


@dataclass(frozen=True, slots=True)
class Filters:
    """Which files: of one of these kinds and states, with all of these tags, in this folder or below it, and so on."""

    kinds: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    folder: str | None = None
    states: tuple[str, ...] = ()
    year: str | None = None
    person: str | None = None  # by name or number


@dataclass(frozen=True, slots=True)
class Order:
    """The column to sort by, and the file after which the page begins."""

    sort: str
    descending: bool
    after: tuple[Key, int] | None = None


@dataclass(frozen=True, slots=True)
class Card:
    """What a list shows about a file."""

    path: str
    name: str
    kind: Kind
    mime: str
    size: int
    title: str
    summary: str | None
    date: str | None
    language: str | None
    tags: tuple[str, ...]
    state: str
    processing_status: str
    reason: str | None
    degraded: bool
    pages: int | None
    thumbnail: str | None  # the artifact's name
    added_at: str
    modified_at: str
    excerpt: str | None = None  # the first lines of a text file, once it is indexed


def members(db: Connection, filters: Filters, people: tuple[int, ...] | None, stale_before: str) -> set[int] | None:
    """The files on disk that pass these filters; None without filters. Each part is read from an index alone: combining
    several large sets here is faster than any join. `people`: one of them is heard; documents in progress that have not
    changed since `stale_before` are stale."""
    parts = [db.execute(statement, values) for statement, values in _filter_queries(filters, people, stale_before)]
    if not parts:
        return None
    found = {file_id for (file_id,) in parts[0]}
    for part in parts[1:]:
        if not found:
            break
        found.intersection_update(file_id for (file_id,) in part)
    found.difference_update(file_id for (file_id,) in db.execute("SELECT id FROM files WHERE vanished_at IS NOT NULL"))
    return found


def _filter_queries(
    filters: Filters, people: tuple[int, ...] | None, stale_before: str
) -> Iterator[tuple[str, dict[str, str]]]:
    if people is not None:
        yield (
            """
            SELECT v.file_id FROM json_each(:people) AS wanted
             CROSS JOIN voice_groups g ON g.person_id = wanted.value CROSS JOIN voices v ON v.group_id = g.id
            """,
            {"people": json.dumps(people)},
        )
    for tag in filters.tags:
        yield "SELECT file_id FROM shelf_tags WHERE tag = :tag", {"tag": tag}
    if filters.year is not None:
        yield "SELECT file_id FROM shelf WHERE day >= :year AND day < :year || '~'", {"year": filters.year}
    if filters.folder:
        yield (
            """
            SELECT id FROM files INDEXED BY files_by_folder WHERE folder = :folder
             UNION ALL
            SELECT id FROM files INDEXED BY files_by_folder WHERE folder >= :folder || '/' AND folder < :folder || '0'
            """,
            {"folder": filters.folder},
        )
    if filters.kinds:
        kinds = json.dumps(filters.kinds)
        yield "SELECT file_id FROM shelf WHERE kind IN (SELECT value FROM json_each(:kinds))", {"kinds": kinds}
    if filters.states:
        yield _states_query(filters.states), {"states": json.dumps(filters.states), "stale_before": stale_before}


def _states_query(states: Collection[str]) -> str:
    processing_states = {
        "processing": "(state = 'processing' AND moved_at >= :stale_before)",
        "stale": "(state = 'processing' AND moved_at < :stale_before)",
    }
    others = "(state <> 'processing' AND state IN (SELECT value FROM json_each(:states)))"
    conditions = " OR ".join([others, *(processing_states[state] for state in states if state in processing_states)])
    return f"SELECT file_id FROM documents INDEXED BY documents_by_state WHERE {conditions}"


def count(db: Connection) -> int:
    """How many files are on disk."""
    row = db.execute("SELECT count(*) FROM shelf").fetchone()
    return int(row[0])


def page(db: Connection, among: set[int] | None, order: Order, limit: int) -> list[tuple[int, Key]]:
    """(file, its key) of one page. Few files are looked up and sorted; many are filtered in the order of an index."""
    column = COLUMNS[order.sort]
    direction, comparison = ("DESC", "<") if order.descending else ("ASC", ">")
    few = among is not None and len(among) <= FEW
    values: dict[str, str | int] = {"few": json.dumps(list(among))} if among is not None and few else {}
    source = (
        "json_each(:few) AS some CROSS JOIN shelf ON shelf.file_id = some.value"
        if few
        else f"shelf INDEXED BY shelf_by_{column}"
    )
    where = ""
    if order.after is not None:
        where = f"WHERE (shelf.{column}, shelf.file_id) {comparison} (:key, :id)"
        values["key"], values["id"] = order.after
    in_order = db.execute(
        f"""
        SELECT shelf.file_id, shelf.{column} FROM {source} {where}
         ORDER BY shelf.{column} {direction}, shelf.file_id {direction}
        """,
        values,
    )
    passing = in_order if among is None or few else (row for row in in_order if row[0] in among)
    found = list(islice(passing, limit))
    in_order.close()  # the remaining rows are not needed
    return found


def paths(db: Connection, ids: Sequence[int]) -> dict[int, str]:
    """The paths of these files."""
    found = db.execute(
        "SELECT f.id, f.path FROM json_each(:ids) AS wanted CROSS JOIN files f ON f.id = wanted.value",
        {"ids": json.dumps(list(ids))},
    )
    return dict(found.fetchall())


def cards(
    db: Connection, wanted: Sequence[int] | Sequence[str], stale_before: str, column: Literal["id", "path"] = "id"
) -> list[Card]:
    """What is shown about these files, in this order; files that are gone are left out."""
    rows = db.execute(
        f"""
        SELECT f.path, f.name, f.kind, f.mime, f.size, f.mtime_ns, f.created_at, d.title, d.summary, d.date, d.language,
               d.tags, d.state, d.reason, d.degraded, d.moved_at, d.pages, d.face, p.text
          FROM json_each(:wanted) AS wanted
         CROSS JOIN files f ON f.{column} = wanted.value LEFT JOIN documents d ON d.file_id = f.id
          LEFT JOIN passages p
            ON f.kind = 'text' AND p.file_id = f.id AND p.digester = 'search-keyword' AND p.ordinal = 0
           AND p.source = 'file'
         WHERE f.vanished_at IS NULL ORDER BY wanted.key
        """,
        {"wanted": json.dumps(list(wanted))},
    )
    return [_card(row, stale_before) for row in rows]


def _card(row: Sequence[Any], stale_before: str) -> Card:
    path, name, kind, mime, size, mtime_ns, created_at, title, summary, date, language, *rest = row
    tags, state, reason, degraded, moved_at, pages, face, first_passage = rest
    shown_state = displayed_state(state or "processing", moved_at or "", stale_before)
    return Card(
        *(path, name, Kind(kind), mime, size, title or name, summary, date, language),
        *(tuple(json.loads(tags or "[]")), shown_state, PROCESSING_STATUS[shown_state], reason, bool(degraded), pages),
        *(artifacts.name_of(path, face, THUMBNAIL) if face else None, created_at, _format_mtime(mtime_ns)),
        excerpt=first_lines(first_passage, mime == MARKDOWN) if first_passage else None,
    )


def _format_mtime(mtime_ns: int) -> str:
    """Format a modification time; a file may claim any time, even an impossible one."""
    try:
        return iso(datetime.fromtimestamp(mtime_ns / 1_000_000_000, UTC))
    except (OverflowError, ValueError, OSError):
        return iso(datetime.fromtimestamp(0, UTC))


def folders_of(db: Connection, inside: str, among: set[int]) -> Counter[str]:
    """The folders directly inside this one, and how many of these files are in each or below it."""
    found = db.execute(
        """
        SELECT f.folder, count(*) FROM json_each(:ids) AS some CROSS JOIN files f ON f.id = some.value
         WHERE :inside = '' OR (f.folder >= :inside || '/' AND f.folder < :inside || '0') GROUP BY f.folder
        """,
        {"ids": json.dumps(list(among)), "inside": inside},
    )
    return _count_subfolders(inside, found)


def folders(db: Connection, inside: str) -> Counter[str]:
    """The folders directly inside this one, and how many files on disk are in each or below it."""
    first, last = (f"{inside}/", f"{inside}0") if inside else ("", "\U0010ffff")
    # Count all files from the index alone, then subtract those that are not on disk.
    known, vanished = (
        db.execute(
            f"""
            SELECT folder, count(*) FROM files INDEXED BY {index}
             WHERE folder >= :first AND folder < :last AND {condition} GROUP BY folder
            """,
            {"first": first, "last": last},
        )
        for index, condition in (("files_by_folder", "1"), ("files_vanished", "vanished_at IS NOT NULL"))
    )
    return _count_subfolders(inside, known) - _count_subfolders(inside, vanished)


def _count_subfolders(inside: str, counted_folders: Iterable[tuple[str, int]]) -> Counter[str]:
    depth = inside.count("/") + 2 if inside else 1
    counted: Counter[str] = Counter()
    for folder, files in counted_folders:
        if folder:
            counted["/".join(folder.split("/", depth)[:depth])] += files
    return counted


def last_event_id(db: Connection) -> int:
    """The id of the last event: while it stays the same, nothing in a list changes."""
    row = db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'events'").fetchone()
    return int(row[0]) if row else 0
