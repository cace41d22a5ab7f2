"""The number of files by kind, tag, folder, year, person and status. One pass over an index, one over voices."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import chain
from sqlite3 import Connection

from chyme.search.tables.keyword_queries import SHELF_SCAN, Condition

MAX_VALUES = 20  # values of one facet
_BATCH = 100_000  # file ids counted at a time: memory grows with the number of values, not of files

Counts = tuple[tuple[str, int], ...]

_FEW = "json_each(:facet_files) CROSS JOIN shelf ON shelf.file_id = json_each.value"
# Of a few files, who is heard in them; of many, in which of them anyone is heard.
_PEOPLE_IN_FEW = f"""{_FEW}
         CROSS JOIN voices ON voices.file_id = shelf.file_id
         CROSS JOIN voice_groups ON voice_groups.id = voices.group_id
         CROSS JOIN people ON people.id = voice_groups.person_id"""
_PEOPLE_IN_MANY = """people
         CROSS JOIN voice_groups ON voice_groups.person_id = people.id
         CROSS JOIN voices ON voices.group_id = voice_groups.id
         CROSS JOIN shelf ON shelf.file_id = voices.file_id"""


@dataclass(frozen=True, slots=True)
class Facets:
    """The number of files with each value, most frequent first."""

    kind: Counts
    tag: Counts
    folder: Counts  # the topmost one
    year: Counts
    person: Counts  # heard in the file
    status: Counts


def of_files(db: Connection, file_ids: Collection[int]) -> Facets:
    """The facets of these files; files that are gone or hidden are left out."""
    where = Condition("1", {"facet_files": json.dumps(list(set(file_ids)))})
    return _facets(db, _FEW, [where], _people(db, where, _PEOPLE_IN_FEW))


def of_all(db: Connection, where: Condition) -> Facets:
    """The facets of the visible files that meet the condition."""
    people = _people(db, where, _PEOPLE_IN_MANY)
    highest = db.execute("SELECT max(id) FROM files").fetchone()[0] or 0
    if highest <= _BATCH:
        return _facets(db, SHELF_SCAN, [where], people)
    batches = (
        Condition(
            f"shelf.file_id > :above AND shelf.file_id <= :below AND ({where.sql})",
            {**where.values, "above": above, "below": above + _BATCH},
        )
        for above in range(0, highest, _BATCH)
    )
    return _facets(db, SHELF_SCAN, batches, people)


def _facets(db: Connection, source: str, batches: Iterable[Condition], people: Counts) -> Facets:
    kinds, tags, folders, years, states = (Counter[str]() for _ in range(5))
    for batch in batches:
        tag_lists: Counter[str] = Counter()
        groups = db.execute(
            f"""
            SELECT shelf.kind, shelf.state, substr(shelf.day, 1, 4), count(*),
                   group_concat(shelf.folder, '//'), group_concat(nullif(shelf.tags, '[]'), char(10))
              FROM {source} WHERE {batch.sql} GROUP BY shelf.kind, shelf.state, substr(shelf.day, 1, 4)
            """,
            dict(batch.values),
        )  # texts of all folders and tags, not a row for each file: making the rows took longer than counting them
        for kind, state, year, files, folder_texts, tag_texts in groups:
            kinds[kind] += files
            states[state or ""] += files
            years[year] += files
            folders.update(folder_texts.split("//"))
            tag_lists.update((tag_texts or "").split("\n"))
        _count_tags(tags, tag_lists)
    top_folders: Counter[str] = Counter()
    for folder, count in folders.items():
        top_folders[folder.partition("/")[0]] += count
    return Facets(
        _most_frequent(kinds),
        _most_frequent(tags),
        _most_frequent(top_folders),
        _most_frequent(years),
        people,
        _most_frequent(states),
    )


def _count_tags(tags: Counter[str], json_lists: Counter[str]) -> None:
    del json_lists[""]
    parsed: list[list[str]] = json.loads(f"[{','.join(json_lists)}]")  # together: twice as fast
    tags.update(chain.from_iterable(map(set, parsed)))
    for names, count in zip(parsed, json_lists.values(), strict=True):
        if count > 1:
            for name in set(names):
                tags[name] += count - 1


def _people(db: Connection, where: Condition, source: str) -> Counts:
    rows = db.execute(
        f"""
        SELECT people.name, count(DISTINCT shelf.file_id) AS heard
          FROM {source}
         WHERE ({where.sql}) AND people.name IS NOT NULL
         GROUP BY people.id ORDER BY heard DESC, people.name LIMIT {MAX_VALUES:d}
        """,
        dict(where.values),
    )
    return tuple(rows)


def _most_frequent(counter: Counter[str]) -> Counts:
    counted = [(value, count) for value, count in counter.items() if value]
    return tuple(sorted(counted, key=lambda pair: (-pair[1], pair[0]))[:MAX_VALUES])
