"""The number of files by kind, tag, folder, year, person and status. One pass over the files, one over voices."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import chain
from sqlite3 import Connection

from chyme.search.tables.keyword_queries import Condition

MAX_VALUES = 20  # values of one facet
_BATCH = 50_000  # file ids counted at a time: memory grows with the number of values, not of files

Counts = tuple[tuple[str, int], ...]
_YEAR = "coalesce(substr(documents.date, 1, 4), strftime('%Y', files.mtime_ns / 1000000000, 'unixepoch'))"


# Of a few files, who is heard in them; of many, in which of them anyone is heard.
_FROM_FILES = """files LEFT JOIN documents ON documents.file_id = files.id
         CROSS JOIN voices ON voices.file_id = files.id
         CROSS JOIN voice_groups ON voice_groups.id = voices.group_id
         CROSS JOIN people ON people.id = voice_groups.person_id"""
_FROM_PEOPLE = """people
         CROSS JOIN voice_groups ON voice_groups.person_id = people.id
         CROSS JOIN voices ON voices.group_id = voice_groups.id
         CROSS JOIN files ON files.id = voices.file_id
          LEFT JOIN documents ON documents.file_id = files.id"""


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
    ids = json.dumps(list(file_ids))
    where = Condition("files.id IN (SELECT value FROM json_each(:facet_files))", {"facet_files": ids})
    return _facets(db, where, [where], _FROM_FILES)


def of_all(db: Connection, where: Condition, total: int | None = None) -> Facets:
    """The facets of the visible files that meet the condition. `total`: how many there are, if that is known."""
    if total is not None and total <= _BATCH:
        return _facets(db, where, [where], _FROM_PEOPLE)
    highest = db.execute("SELECT max(id) FROM files").fetchone()[0] or 0
    return _facets(
        db,
        where,
        (
            Condition(
                f"files.id > :above AND files.id <= :below AND ({where.sql})",
                {**where.values, "above": above, "below": above + _BATCH},
            )
            for above in range(0, highest, _BATCH)
        ),
        _FROM_PEOPLE,
    )


def _facets(db: Connection, where: Condition, batches: Iterable[Condition], order: str) -> Facets:
    kinds, tags, folders, years, states = (Counter[str]() for _ in range(5))
    for batch in batches:
        texts = db.execute(
            f"""
            SELECT group_concat(files.kind), group_concat(documents.state), group_concat({_YEAR}),
                   group_concat(files.folder, '//'), group_concat(documents.tags, char(10))
              FROM files LEFT JOIN documents ON documents.file_id = files.id
             WHERE files.vanished_at IS NULL AND ({batch.sql})
            """,
            dict(batch.values),
        ).fetchone()  # a text of all values, not a row for each file: making the rows took longer than counting them
        if texts[0] is None:
            continue
        for counter, text, separator in zip(
            (kinds, states, years, folders), texts, (",", ",", ",", "//"), strict=False
        ):
            counter.update((text or "").split(separator))
        _count_tags(tags, (texts[4] or "").split("\n"))
    top_folders: Counter[str] = Counter()
    for folder, count in folders.items():
        top_folders[folder.partition("/")[0]] += count
    return Facets(
        _most_frequent(kinds),
        _most_frequent(tags),
        _most_frequent(top_folders),
        _most_frequent(years),
        _people(db, where, order),
        _most_frequent(states),
    )


def _count_tags(tags: Counter[str], json_lists: Iterable[str]) -> None:
    counted = Counter(json_lists)
    del counted[""], counted["[]"]
    single = [text for text, count in counted.items() if count == 1]
    tags.update(chain.from_iterable(map(set, json.loads(f"[{','.join(single)}]"))))  # parsed together: twice as fast
    for text, count in counted.items():
        if count > 1:
            for tag in set(json.loads(text)):
                tags[tag] += count


def _people(db: Connection, where: Condition, order: str) -> Counts:
    rows = db.execute(
        f"""
        SELECT people.name, count(DISTINCT files.id) AS heard
          FROM {order}
         WHERE files.vanished_at IS NULL AND ({where.sql}) AND people.name IS NOT NULL
         GROUP BY people.id ORDER BY heard DESC, people.name LIMIT {MAX_VALUES:d}
        """,
        dict(where.values),
    )
    return tuple(rows)


def _most_frequent(counter: Counter[str]) -> Counts:
    counted = [(value, count) for value, count in counter.items() if value]
    return tuple(sorted(counted, key=lambda pair: (-pair[1], pair[0]))[:MAX_VALUES])
