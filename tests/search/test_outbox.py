"""Every change that larger engines must receive is in the outbox from the moment it happens until it was sent."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

import pytest
from embedded_files import NOW, add_file, embed, embedder, passage, plan_of

from chyme.application.consistency_checks import find_problems
from chyme.core.store import files
from chyme.model import Stamp
from chyme.search.searchable_texts import NameTerms
from chyme.search.tables import embedders, engine_outbox, passages, vectors
from chyme.search.tables.engine_outbox import ChangedFile

KEYWORD = "search-keyword"


def clean(db: sqlite3.Connection) -> None:
    """Mark every change as sent to the engines."""
    engine_outbox.mark_done(db, engine_outbox.list_changed(db, 1000))
    assert engine_outbox.count(db) == 0


def terms_of_name(name: str) -> NameTerms:
    return NameTerms(name, "", "", "", ())


def waiting(db: sqlite3.Connection) -> list[int]:
    return [file_id for file_id, _ in engine_outbox.list_changed(db, 1000)]


Change = Callable[[sqlite3.Connection, int], object]

CHANGES: dict[str, Change] = {
    "new passages": lambda db, file: passages.replace(db, file, "other", [passage("red")]),
    "replaced passages": lambda db, file: passages.replace(db, file, KEYWORD, [passage("red")]),
    "removed passages": lambda db, file: passages.remove(db, file, KEYWORD),
    "a new name": lambda db, file: passages.write_names(db, file, terms_of_name("new")),
    "a removed name": passages.remove_names,
    "new vectors": lambda db, file: embed(db, file, embedder(db, "new"), "red"),
    "replaced vectors": lambda db, file: embed(db, file, embedder(db), "red"),
    "removed vectors": vectors.remove,
    "copied vectors": lambda db, file: vectors.copy(db, 1, file),
    "a file that vanished": lambda db, file: files.mark_vanished(db, file, NOW),
    "a purged file": files.delete,
}


def fill(db: sqlite3.Connection, name: str) -> int:
    file = add_file(db, name)
    passages.replace(db, file, KEYWORD, [passage("green"), passage("blue", 1)])
    passages.write_names(db, file, terms_of_name(name))
    embed(db, file, embedder(db), "green", "blue")
    return file


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_every_change_puts_its_file_in_and_no_other(db: sqlite3.Connection, change: Change) -> None:
    fill(db, "neighbour")
    file = fill(db, "a")
    engine_outbox.activate(db)
    clean(db)
    change(db, file)
    assert waiting(db) == [file]


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_change_during_an_update_of_the_engines_stays_in_the_outbox(db: sqlite3.Connection, change: Change) -> None:
    fill(db, "neighbour")
    file = fill(db, "a")
    engine_outbox.activate(db)
    taken = engine_outbox.list_changed(db, 10)
    change(db, file)

    assert engine_outbox.mark_done(db, taken) == 1
    left = engine_outbox.list_changed(db, 10)
    assert [file_id for file_id, _ in left] == [file]
    assert left[0].sequence > taken[0].sequence
    assert engine_outbox.mark_done(db, left) == 1 and engine_outbox.count(db) == 0


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_without_larger_engines_nothing_is_written(db: sqlite3.Connection, change: Change) -> None:
    fill(db, "neighbour")
    change(db, fill(db, "a"))
    engine_outbox.put(db, [1, 2])
    assert engine_outbox.count(db) == 0
    assert db.execute("SELECT active, sequence FROM outbox_state").fetchone() == (0, 0)


@pytest.mark.parametrize("change", ["a new name", "new passages", "new vectors", "a purged file"])
def test_the_first_entry_or_the_removal_of_a_bare_file_is_put_in(db: sqlite3.Connection, change: str) -> None:
    file = add_file(db, "bare")
    engine_outbox.activate(db)
    taken = engine_outbox.list_changed(db, 1)
    CHANGES[change](db, file)
    assert engine_outbox.mark_done(db, taken) == 0
    clean(db)

    other = add_file(db, "bare too")
    CHANGES[change](db, other)
    assert waiting(db) == [other]


def test_a_file_that_comes_back_is_put_in_but_a_file_that_was_there_is_not(db: sqlite3.Connection) -> None:
    file = fill(db, "a")
    engine_outbox.activate(db)
    files.mark_vanished(db, file, NOW)
    clean(db)
    files.update_stamp(db, file, Stamp("1", "1", 1, 1), NOW)
    assert waiting(db) == [file]

    clean(db)
    files.update_stamp(db, file, Stamp("1", "1", 1, 2), NOW)
    passages.write_names(db, file, terms_of_name("a"))
    assert waiting(db) == []


def test_files_with_vectors_of_a_removed_embedder_are_put_in(db: sqlite3.Connection) -> None:
    fill(db, "neighbour")
    file = fill(db, "a")
    embed(db, file, embedder(db, "old"), "red")
    engine_outbox.activate(db)
    clean(db)
    embedders.sweep(db, [])
    assert waiting(db) == [file]


def test_a_change_that_is_undone_leaves_no_trace(db: sqlite3.Connection) -> None:
    file = fill(db, "a")
    engine_outbox.activate(db)
    clean(db)
    db.execute("BEGIN")
    vectors.remove(db, file)
    db.execute("ROLLBACK")
    assert waiting(db) == []


def test_every_file_is_put_in_for_new_engines(db: sqlite3.Connection) -> None:
    assert not engine_outbox.is_active(db) and not engine_outbox.list_changed(db, 1)
    first, second = add_file(db, "a"), add_file(db, "b")
    engine_outbox.activate(db)
    assert engine_outbox.is_active(db) and waiting(db) == [first, second]

    before = engine_outbox.list_changed(db, 10)
    engine_outbox.activate(db)
    assert waiting(db) == [first, second]
    assert engine_outbox.mark_done(db, before) == 0


def test_the_oldest_change_comes_first(db: sqlite3.Connection) -> None:
    first, second, third = (add_file(db, name) for name in "abc")
    engine_outbox.activate(db)
    engine_outbox.put(db, [second])
    engine_outbox.put(db, [first])

    assert waiting(db) == [third, second, first]
    assert engine_outbox.list_changed(db, 2) == engine_outbox.list_changed(db, 10)[:2]
    assert engine_outbox.count(db) == 3
    assert engine_outbox.mark_done(db, []) == 0


def test_without_engines_the_outbox_is_empty_and_later_changes_still_count_on(db: sqlite3.Connection) -> None:
    file = add_file(db, "a")
    engine_outbox.activate(db)
    late = engine_outbox.list_changed(db, 1)
    engine_outbox.deactivate(db)
    assert (engine_outbox.count(db), engine_outbox.is_active(db)) == (0, False)

    engine_outbox.activate(db)
    assert engine_outbox.mark_done(db, late) == 0
    assert waiting(db) == [file]


def test_files_waiting_are_found_in_order_without_sorting(db: sqlite3.Connection) -> None:
    executed: list[str] = []
    db.set_trace_callback(executed.append)
    engine_outbox.list_changed(db, 10)
    engine_outbox.mark_done(db, [ChangedFile(1, 1)])
    db.set_trace_callback(None)
    assert plan_of(db, [executed[0], executed[-1]]) == [
        "SCAN outbox USING COVERING INDEX outbox_in_order",
        "SEARCH outbox USING INTEGER PRIMARY KEY (rowid=?)",
    ]


def test_verify_finds_files_waiting_for_engines_that_do_not_exist(db: sqlite3.Connection) -> None:
    file = add_file(db, "a")
    engine_outbox.activate(db)
    engine_outbox.put(db, [99])
    message = "files kept for larger engines though there are none"
    assert not [problem for problem in find_problems(db) if problem.startswith(message)]
    db.execute("UPDATE outbox_state SET active = 0")
    assert waiting(db) == [file, 99]
    assert {f"{message}: a", f"{message}: file 99, which is gone"} <= set(find_problems(db))
