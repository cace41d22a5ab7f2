"""Lists of files: every order, every filter, and pages that stay correct while files come and go."""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from sqlite3 import Connection
from typing import Any

import pytest

from chyme.application import consistency_checks
from chyme.core.store import documents, files
from chyme.core.store.sqlite.database import Database
from chyme.errors import UsageError
from chyme.model import Kind, iso
from chyme.search.file_list import ALL, SORTS, FileList
from chyme.search.tables.listing import Card, Filters

NOW = datetime(2026, 5, 1, tzinfo=UTC)
KINDS = [kind.value for kind in Kind]


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = Database(tmp_path)
    yield opened
    opened.close()


@pytest.fixture
def library(database: Database) -> FileList:
    return FileList(database, lambda: NOW)


def add(
    db: Connection,
    path: str,
    kind: str = "text",
    size: int = 1,
    title: str | None = None,
    date: str | None = None,
    tags: tuple[str, ...] = (),
    state: str = "completed",
    moved: datetime = NOW,
    added: int = 0,
) -> int:
    folder, _, name = path.rpartition("/")
    at = iso(NOW + timedelta(seconds=added))
    cursor = db.execute(
        """
        INSERT INTO files (path, folder, name, kind, mime, size, mtime_ns, dev, inode, hash, created_at, updated_at)
        VALUES (?, ?, ?, ?, 'text/plain', ?, ?, '1', '1', 'h', ?, ?)
        """,
        (path, folder, name, kind, size, 1_600_000_000 * 10**9, at, at),  # changed on 2020-09-13
    )
    file_id = cursor.lastrowid
    assert file_id is not None
    documents.register(db, file_id, at)
    documents.describe(db, file_id, title, None, date, None, tags)
    documents.set_state(db, file_id, state, None, False, iso(moved))
    return file_id


def encode(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def paths(library: FileList, filters: Filters = ALL, **how: object) -> list[str]:
    return [card.path for card in library.page(filters, **how).cards]  # type: ignore[arg-type]


def all_pages(library: FileList, limit: int, filters: Filters = ALL, **how: object) -> list[Card]:
    """Return the files of all pages."""
    found: list[Card] = []
    cursor: str | None = None
    while True:
        page = library.page(filters, cursor=cursor, limit=limit, **how)  # type: ignore[arg-type]
        found += page.cards
        cursor = page.next
        if cursor is None:
            return found


def add_many(db: Connection, count: int = 240) -> None:
    chance = random.Random(7)
    for number in range(count):
        add(
            db,
            f"{chance.choice(['', 'a/', 'a/b/', 'c/'])}{chance.choice('xyzXYZäÄ')}{number}.txt",
            chance.choice(KINDS),
            chance.randrange(20),
            chance.choice([None, "same", "Same", f"title {number % 9}"]),
            chance.choice([None, "2024", "2024-03", f"20{10 + number % 15}-01-02"]),
            tuple(chance.sample(["red", "Blue", "green"], chance.randrange(3))),
            chance.choice(["processing", "completed", "failed", "needs-classification"]),
            NOW - timedelta(minutes=chance.choice([1, 60])),
            added=number // 3,
        )


KEYS: dict[str, Callable[[Card], Any]] = {
    "added": lambda card: card.added_at,
    "date": lambda card: card.date or "2020-09-13",
    "name": lambda card: _lower(card.name),
    "title": lambda card: _lower(card.title),
    "size": lambda card: card.size,
    "kind": lambda card: card.kind,
}


def _lower(text: str) -> str:
    return "".join(letter.lower() if letter.isascii() else letter for letter in text)


@pytest.mark.parametrize("descending", [True, False])
@pytest.mark.parametrize("sort", SORTS)
def test_pages_contain_every_file_once_and_in_order(
    database: Database, library: FileList, sort: str, descending: bool
) -> None:
    database.write(add_many)
    found = all_pages(library, 7, sort=sort, descending=descending)
    assert len(found) == len({card.path for card in found}) == 240
    keys = [KEYS[sort](card) for card in found]
    assert keys == sorted(keys, reverse=descending)
    assert [card.path for card in found] == paths(library, sort=sort, descending=descending, limit=500)


@pytest.mark.parametrize(
    "filters",
    [
        Filters(kinds=("image", "text")),
        Filters(tags=("red",)),
        Filters(tags=("BLUE", "green")),
        Filters(folder="a"),
        Filters(folder="/a/b/"),
        Filters(states=("stale",)),
        Filters(states=("processing", "failed")),
        Filters(year="2024"),
        Filters(year="2020", kinds=("audio", "video", "url"), tags=("red",), folder="a", states=("completed", "stale")),
    ],
)
def test_filters_return_only_matching_files(database: Database, library: FileList, filters: Filters) -> None:
    database.write(add_many)
    every = library.page(limit=500).cards
    folder = (filters.folder or "").strip("/")
    expected = {
        card.path
        for card in every
        if (not filters.kinds or card.kind in filters.kinds)
        and {tag.lower() for tag in filters.tags} <= {tag.lower() for tag in card.tags}
        and (not folder or card.path.startswith(folder + "/"))
        and (not filters.states or card.state in filters.states)
        and (filters.year is None or (card.date or "2020-09-13").startswith(filters.year))
    }
    found = all_pages(library, 5, filters, sort="title", descending=False)
    assert expected and {card.path for card in found} == expected
    assert library.page(filters).total == len(expected)


def test_the_next_page_starts_after_the_last_file_even_if_files_change(database: Database, library: FileList) -> None:
    database.write(lambda db: [add(db, f"{letter}.txt") for letter in "bdfhj"])
    first = library.page(sort="name", descending=False, limit=2)
    assert [card.name for card in first.cards] == ["b.txt", "d.txt"]

    def meanwhile(db: Connection) -> None:
        add(db, "a.txt")
        add(db, "g.txt")
        gone = files.by_path(db, "d.txt")
        assert gone is not None
        files.mark_vanished(db, gone.id, iso(NOW))

    database.write(meanwhile)
    assert paths(library, sort="name", descending=False, cursor=first.next) == ["f.txt", "g.txt", "h.txt", "j.txt"]


def test_the_list_follows_every_change(database: Database, library: FileList) -> None:
    def make(db: Connection) -> int:
        return add(db, "in/Zoo.txt", title=None, date=None, tags=("red",))

    file_id = database.write(make)
    assert library.cards(["in/Zoo.txt"])[0].title == "Zoo.txt"
    database.write(lambda db: documents.describe(db, file_id, "aardvark", "s", "1999-05-05", "en", ("blue",)))
    assert paths(library, Filters(year="1999", tags=("blue",))) == ["in/Zoo.txt"]
    assert paths(library, Filters(tags=("red",))) == []
    database.write(lambda db: files.move(db, file_id, "out/ant.txt", False, iso(NOW)))
    assert paths(library, Filters(folder="out"), sort="title") == ["out/ant.txt"] and not library.cards(["in/Zoo.txt"])
    database.write(lambda db: files.mark_vanished(db, file_id, iso(NOW)))
    assert (library.page().total, library.page(Filters(tags=("blue",))).total, library.folders()) == (0, 0, [])
    stamp = database.write(lambda db: files.by_id(db, file_id)).stamp  # type: ignore[union-attr]
    database.write(lambda db: files.update_stamp(db, file_id, stamp, iso(NOW)))
    assert paths(library, Filters(tags=("blue",)), sort="date") == ["out/ant.txt"]
    database.write(lambda db: files.delete(db, file_id))
    left = [database.read().execute(f"SELECT count(*) FROM {table}").fetchone() for table in ("shelf", "shelf_tags")]
    assert left == [(0,), (0,)]


def test_the_listing_agrees_with_the_files_after_many_changes(database: Database, library: FileList) -> None:
    database.write(add_many)

    def shake(db: Connection) -> None:
        chance = random.Random(1)
        for file_id in range(1, 241):
            match chance.randrange(5):
                case 0:
                    files.mark_vanished(db, file_id, iso(NOW))
                case 1:
                    documents.clear_findings(db, file_id, iso(NOW))
                case 2:
                    files.move(db, file_id, f"moved/{file_id}.bin", False, iso(NOW))
                case 3:
                    documents.describe(db, file_id, f"t{file_id}", None, "2001", None, ("red", "red", "Red"))

    database.write(shake)
    assert [problem for problem in database.write(consistency_checks.find_problems) if "listed" in problem] == []


def test_verification_notices_a_list_that_is_wrong(database: Database) -> None:
    database.write(lambda db: add(db, "a.txt", tags=("red",)))
    database.write(lambda db: db.execute("UPDATE shelf SET title = 'other'"))
    database.write(lambda db: db.execute("DELETE FROM shelf_tags"))
    found = [problem for problem in database.write(consistency_checks.find_problems) if "listed" in problem]
    assert len(found) == 2 and all("a.txt" in problem for problem in found)


@pytest.mark.parametrize(
    "cursor",
    ["x", "====", "bm9wZQ", "é", "W10", "", "[]", '["added", true, 1, 1]', encode(["added", True, 1, 1]), encode({})],
)
def test_a_forged_cursor_is_refused_with_a_sentence(library: FileList, cursor: str) -> None:
    if not cursor:
        assert library.page(cursor=cursor).cards == ()  # none at all
        return
    with pytest.raises(UsageError, match="start again without one"):
        library.page(cursor=cursor)


def test_a_cursor_is_valid_only_for_its_own_sort_order(database: Database, library: FileList) -> None:
    database.write(add_many)
    cursor = library.page(sort="size", limit=5).next
    assert library.page(sort="size", cursor=cursor, limit=5).cards
    for sort, descending in (("name", True), ("size", False), ("added", True)):
        with pytest.raises(UsageError, match="another sort order"):
            library.page(sort=sort, descending=descending, cursor=cursor)


def test_folders_count_the_files_below_them(database: Database, library: FileList) -> None:
    file_paths = ("x.txt", "a/x.txt", "a/b/x.txt", "a/b/c/x.txt", "a-b/x.txt", "a0/x.txt", "B/x.txt")
    database.write(lambda db: [add(db, path) for path in file_paths])
    assert [(folder.path, folder.name, folder.files) for folder in library.folders()] == [
        ("a", "a", 3), ("a-b", "a-b", 1), ("a0", "a0", 1), ("B", "B", 1),
    ]  # fmt: skip
    assert [(folder.path, folder.name, folder.files) for folder in library.folders("a")] == [("a/b", "b", 2)]
    assert library.folders("nowhere") == []


def test_facets_are_counted_again_when_something_happened(database: Database, library: FileList) -> None:
    database.write(lambda db: add(db, "a.txt", tags=("red",)))
    assert library.facets().tag == (("red", 1),)

    def add_another(db: Connection) -> None:
        add(db, "b.txt", tags=("red",))
        db.execute("INSERT INTO events (at, type) VALUES (?, 'file')", (iso(NOW),))

    database.write(add_another)
    assert library.facets().tag == (("red", 2),)


def test_extreme_modification_times_can_be_listed(database: Database, library: FileList) -> None:
    database.write(lambda db: add(db, "a.txt"))
    database.write(lambda db: db.execute("UPDATE files SET mtime_ns = ?", ((1 << 63) - 1,)))
    database.write(lambda db: add(db, "b.txt"))
    database.write(lambda db: db.execute("UPDATE files SET mtime_ns = ? WHERE path = 'b.txt'", (-(1 << 63),)))
    assert sorted(paths(library, sort="date")) == ["a.txt", "b.txt"]
