"""The queries of keyword search give the same files in the same order, whichever index they read."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from embedded_files import add_document, add_file, plan_of

from chyme.application import consistency_checks
from chyme.core.store.sqlite import database as database_module
from chyme.core.store.sqlite.database import FILE_NAME, Database
from chyme.model import Passage, Place
from chyme.search.tables import facets, keyword_queries, passages
from chyme.search.tables.keyword_queries import Condition, Scope

EVERYTHING = keyword_queries.all_of([])
DAY = 86_400


def write(db: sqlite3.Connection, file_id: int, *texts: str) -> list[int]:
    cut = [Passage("file", at, text, Place(0, len(text))) for at, text in enumerate(texts)]
    passages.replace(db, file_id, "search-keyword", cut)
    return [id_ for id_, _ in passages.of_file(db, file_id, "search-keyword")]


def test_the_best_passages_come_first_and_equal_ones_in_their_order(db: sqlite3.Connection) -> None:
    file_id = add_file(db, "a.txt")
    ids = write(db, file_id, "whale in the sea", "whale and whale", "whale in the bay", "nothing of it")

    found, more = keyword_queries.best_passages(db, Scope("whale"), 10, EVERYTHING)
    assert [match.passage_id for match in found] == [ids[1], ids[0], ids[2]]
    assert not more
    found, more = keyword_queries.best_passages(db, Scope("whale"), 2, EVERYTHING)
    assert [match.passage_id for match in found] == [ids[1], ids[0]]
    assert more
    assert keyword_queries.best_passages(db, Scope("whale"), 3, Condition("shelf.kind = 'image'")) == ([], True)
    db.execute("UPDATE files SET vanished_at = 'now'")
    assert keyword_queries.best_passages(db, Scope("whale"), 10, EVERYTHING) == ([], False)


def test_vanished_files_are_not_counted_with_a_condition_or_without(db: sqlite3.Connection) -> None:
    for number in range(5):
        write(db, add_file(db, f"{number}.txt"), "whale", "whale")
    db.execute("UPDATE files SET vanished_at = 'now' WHERE name IN ('1.txt', '2.txt')")

    assert keyword_queries.count_matching(db, "whale", EVERYTHING, 100) == (3, True)
    assert keyword_queries.count_matching(db, "whale", keyword_queries.has_kind(1, "text"), 100) == (3, True)
    assert keyword_queries.count_matching(db, "whale", keyword_queries.has_kind(1, "image"), 100) == (0, True)


@pytest.fixture
def many(db: sqlite3.Connection) -> list[tuple[str, str, int]]:
    """(day, path, id) of more files than are looked up one by one; many of one day, some days without a document."""
    chance = random.Random(3)
    added = []
    for number in range(2_300):
        path = f"{chance.randrange(10**6):06}-{number}.{'md' if number % 3 else 'txt'}"
        day = chance.randrange(40)
        file_id = add_file(db, path, "text" if number % 9 else "image", (day + 1) * DAY)
        date = f"1970-{2 + day // 28:02}-{1 + day % 28:02}"
        if number % 4:
            add_document(db, file_id, '["tax"]' if number % 2 else "[]", date)
        else:
            date = db.execute("SELECT date(?, 'unixepoch')", ((day + 1) * DAY,)).fetchone()[0]
        added.append((date, path, file_id))
    return added


def test_pages_of_many_files_and_of_few_have_the_same_order(
    db: sqlite3.Connection, many: list[tuple[str, str, int]]
) -> None:
    by_path = sorted(many, key=lambda file: file[1])
    expected = [file_id for _, _, file_id in sorted(by_path, key=lambda file: file[0], reverse=True)]
    for limit, offset in ((20, 0), (20, 20), (7, 1_111), (100, 2_250), (20, 2_300), (5_000, 0)):
        listing = keyword_queries.list_files(db, limit, offset, EVERYTHING)
        assert (listing.page, listing.total, listing.all_files) == (expected[offset:][:limit], 2_300, None)
    markdown = {file_id for _, path, file_id in many if path.endswith(".md")}
    listing = keyword_queries.list_files(db, 30, 5, keyword_queries.has_ending(1, "md"))
    assert listing.page == [file_id for file_id in expected if file_id in markdown][5:35]
    assert listing.all_files is not None and set(listing.all_files) == markdown and listing.total == len(markdown)


def test_facets_of_many_files_read_one_narrow_index(db: sqlite3.Connection, many: list[tuple[str, str, int]]) -> None:
    where = keyword_queries.negate(keyword_queries.has_kind(1, "image"))
    executed: list[str] = []
    db.set_trace_callback(executed.append)
    counted = facets.of_all(db, where)
    db.set_trace_callback(None)
    scans = [step for step in plan_of(db, executed) if step.startswith(("SCAN shelf", "SEARCH shelf", "SCAN files"))]
    assert any("COVERING INDEX shelf_facets" in step for step in scans)
    assert facets.of_files(db, keyword_queries.files_that_meet(db, where)) == counted


def test_a_name_too_long_for_the_shelf_is_found_by_its_ending(db: sqlite3.Connection) -> None:
    long = add_file(db, "x" * 150 + ".odt")
    add_file(db, "y" * 98 + ".odt" + "z" * 20)
    assert keyword_queries.files_that_meet(db, keyword_queries.has_ending(1, "odt")) == [long]


def test_a_file_without_a_valid_day_is_in_no_range_of_dates(db: sqlite3.Connection) -> None:
    odd = add_file(db, "odd.txt")
    db.execute("UPDATE shelf SET day = ''")
    until_2010 = keyword_queries.is_dated_between(1, "", "2010~")
    assert keyword_queries.files_that_meet(db, until_2010) == []
    assert keyword_queries.files_that_meet(db, keyword_queries.negate(until_2010)) == [odd]


def test_the_shelf_of_an_older_vault_is_filled_when_it_is_opened(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / FILE_NAME, isolation_level=None)) as older:
        for number, _, script in database_module.migrations():
            if number <= 12:
                older.executescript(script)
        older.execute("PRAGMA user_version = 12")
        described, bare, gone = (add_file(older, f"in/{name}.txt") for name in ("described", "bare", "gone"))
        add_document(older, described, '["tax"]', "2024-05", "completed")
        older.execute("UPDATE files SET vanished_at = 'now' WHERE id = ?", (gone,))
        older.execute("UPDATE documents SET date = '2024-06' WHERE file_id = ?", (described,))
    with closing(Database(tmp_path)) as database:
        rows = database.read().execute("SELECT file_id, kind, state, folder, tags FROM shelf ORDER BY file_id")
        assert rows.fetchall() == [(described, "text", "completed", "in", '["tax"]'), (bare, "text", None, "in", "[]")]
        assert [problem for problem in database.write(consistency_checks.find_problems) if "listed" in problem] == []
