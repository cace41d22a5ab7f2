"""How found files divide: by kind, tag, folder, year, person and status. One pass over the files, one over voices."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from sqlite3 import Connection

from chyme.search.tables.keyword_queries import Condition

MOST = 20  # values of one facet
_ROWS = 1_000  # read at a time: what is kept grows with the values there are, not with the files

Counts = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Facets:
    """In how many of the files each value occurs, most frequent first."""

    kind: Counts
    tag: Counts
    folder: Counts  # the uppermost one
    year: Counts
    person: Counts  # heard in the file
    status: Counts


def of_files(db: Connection, file_ids: Collection[int]) -> Facets:
    """How these files divide; those that are gone or hidden are left out."""
    ids = json.dumps(list(file_ids))
    return of_all(db, Condition("files.id IN (SELECT value FROM json_each(:facet_files))", {"facet_files": ids}))


def of_all(db: Connection, where: Condition) -> Facets:
    """How the visible files that meet the condition divide."""
    kinds: Counter[str] = Counter()
    tags: Counter[str] = Counter()
    folders: Counter[str] = Counter()
    years: Counter[str] = Counter()
    states: Counter[str] = Counter()
    rows = db.execute(
        f"""
        SELECT files.kind, documents.tags, files.folder,
               coalesce(substr(documents.date, 1, 4), strftime('%Y', files.mtime_ns / 1000000000, 'unixepoch')),
               documents.state
          FROM files LEFT JOIN documents ON documents.file_id = files.id
         WHERE files.vanished_at IS NULL AND ({where.sql})
        """,
        dict(where.values),
    )
    while some := rows.fetchmany(_ROWS):
        of_kind, lists, in_folder, of_year, in_state = zip(*some, strict=True)
        kinds.update(of_kind)
        tags.update(_tags(lists))
        folders.update(in_folder)
        years.update(of_year)
        states.update(in_state)
    tops: Counter[str] = Counter()
    for folder, times in folders.items():
        tops[folder.partition("/")[0]] += times
    return Facets(_most(kinds), _most(tags), _most(tops), _most(years), _people(db, where), _most(states))


def _tags(lists: Iterable[str | None]) -> Iterator[str]:
    parsed = json.loads(f"[{','.join(filter(None, lists))}]")  # at once: one by one takes twice as long
    return chain.from_iterable(map(set, parsed))


def _people(db: Connection, where: Condition) -> Counts:
    rows = db.execute(
        f"""
        SELECT people.name, count(DISTINCT files.id) AS heard
          FROM files LEFT JOIN documents ON documents.file_id = files.id
         CROSS JOIN voices ON voices.file_id = files.id
         CROSS JOIN voice_groups ON voice_groups.id = voices.group_id
         CROSS JOIN people ON people.id = voice_groups.person_id
         WHERE files.vanished_at IS NULL AND ({where.sql}) AND people.name IS NOT NULL
         GROUP BY people.id ORDER BY heard DESC, people.name LIMIT {MOST:d}
        """,
        dict(where.values),
    )
    return tuple(rows)


def _most(counter: Counter[str]) -> Counts:
    counted = [(value, times) for value, times in counter.items() if value]
    return tuple(sorted(counted, key=lambda pair: (-pair[1], pair[0]))[:MOST])
