"""Exactly one embedder serves, however many have vectors; vectors of the others are removed in small steps."""

from __future__ import annotations

import json
import sqlite3

import pytest
from embedded_files import NOW, add_digest, add_file, embed, embedder, plan_of

from chyme.application.consistency_checks import find_problems
from chyme.search.tables import embedders, vectors

NONE_SERVES = "embedders of which not exactly one serves"


def test_the_first_embedder_serves_and_later_ones_wait(db: sqlite3.Connection) -> None:
    assert embedders.get_serving(db) is None and embedders.list_all(db) == []
    small = embedders.ensure(db, "small", 2, NOW)
    large = embedders.ensure(db, "large", 3, NOW)

    assert small == embedders.get_serving(db) == embedders.by_model(db, "small")
    assert (small.serves, large.serves) == (True, False)
    assert embedders.list_all(db) == [small, large]
    assert embedders.by_model(db, "unheard of") is None


def test_an_embedder_is_known_by_its_name_and_never_changes_its_dimension(db: sqlite3.Connection) -> None:
    small = embedders.ensure(db, "small", 2, NOW)

    assert embedders.ensure(db, "small", 2, "later") == small
    with pytest.raises(ValueError, match="small gave vectors of 2 numbers before and gives 3 now"):
        embedders.ensure(db, "small", 3, NOW)
    assert embedders.list_all(db) == [small]


def test_after_a_switch_only_one_embedder_serves(db: sqlite3.Connection) -> None:
    small, large = embedder(db, "small"), embedder(db, "large")
    embedders.switch(db, large.id)
    embedders.switch(db, large.id)

    assert embedders.list_all(db) == [small._replace(serves=False), large._replace(serves=True)]
    embedders.switch(db, small.id)
    assert embedders.list_all(db) == [small, large]


def test_a_switch_to_an_unknown_embedder_changes_nothing(db: sqlite3.Connection) -> None:
    small = embedder(db)
    with pytest.raises(ValueError, match="no embedder 99"):
        embedders.switch(db, 99)
    assert embedders.get_serving(db) == small


def test_the_table_refuses_two_serving_embedders(db: sqlite3.Connection) -> None:
    embedder(db, "small")
    embedder(db, "large")
    with pytest.raises(sqlite3.IntegrityError):
        db.execute("UPDATE embedders SET serves = 1")


def test_verify_reports_that_no_embedder_serves(db: sqlite3.Connection) -> None:
    assert not [problem for problem in find_problems(db) if problem.startswith(NONE_SERVES)]
    embedder(db, "small")
    assert not [problem for problem in find_problems(db) if problem.startswith(NONE_SERVES)]
    db.execute("UPDATE embedders SET serves = 0")
    assert f"{NONE_SERVES}: small" in find_problems(db)


def test_vectors_of_other_embedders_are_removed_in_small_steps_and_then_the_embedders(db: sqlite3.Connection) -> None:
    old, retained, serving = embedder(db, "old"), embedder(db, "kept"), embedder(db, "serving")
    embedders.switch(db, serving.id)
    file = add_file(db, "a")
    for known in (old, retained, serving):
        embed(db, file, known, "red", "green", "blue")

    left = []
    while embedders.sweep(db, [retained.id], rows=2):
        left.append(vectors.count(db, old.id))
    assert left == [1]
    assert [known.model for known in embedders.list_all(db)] == ["kept", "serving"]
    assert [vectors.count(db, known.id) for known in (old, retained, serving)] == [0, 3, 3]
    assert db.execute("SELECT count(*) FROM vectors").fetchone() == (6,)
    assert not embedders.sweep(db, [retained.id])


def test_the_serving_embedder_is_never_removed(db: sqlite3.Connection) -> None:
    small = embedder(db)
    embed(db, add_file(db, "a"), small, "red")

    assert not embedders.sweep(db, [])
    assert embedders.get_serving(db) == small and vectors.count(db, small.id) == 1


def test_the_id_of_a_removed_embedder_is_never_used_again(db: sqlite3.Connection) -> None:
    embedder(db, "serving")
    old = embedder(db, "old")
    embedders.sweep(db, [])
    assert embedder(db, "new").id > old.id


def add_file_read_by(
    db: sqlite3.Connection, name: str, model: str, passages: int = 0, status: str = "completed"
) -> int:
    file = add_file(db, name)
    content = json.dumps({"passages": passages, "model": model}) if passages else None
    add_digest(db, file, status, content=content, embedder=model)
    return file


def test_files_lack_an_embedder_when_they_were_last_read_for_another_whether_it_found_passages_or_not(
    db: sqlite3.Connection,
) -> None:
    old, new = embedder(db, "old"), embedder(db, "new")
    read, both, none, hidden = (
        add_file_read_by(db, *arguments) for arguments in (("a", "old"), ("b", "new"), ("c", "old"), ("d", "old"))
    )
    add_file_read_by(db, "due", "old", status="todo")
    for file, by in ((read, old), (both, old), (both, new), (hidden, old)):
        embed(db, file, by, "red", "green")
    unknown, broken = add_file(db, "f"), add_file(db, "g")
    add_digest(db, unknown)
    add_digest(db, broken, content="{")
    db.execute("UPDATE files SET vanished_at = 'now' WHERE id = ?", (hidden,))

    assert sorted(embedders.find_files_lacking(db, "new", 10)) == [read, none, unknown, broken]
    assert hidden in embedders.find_files_lacking(db, "new", 10, hidden=True), (
        "it is missing, but the file may come back"
    )
    assert sorted(embedders.find_files_lacking(db, "old", 10)) == [both, unknown, broken]
    assert len(embedders.find_files_lacking(db, "third", 2)) == 2


def test_a_known_embedder_uses_no_new_id(db: sqlite3.Connection) -> None:
    first = embedder(db, "first")
    for _ in range(5):
        embedder(db, "first")
    assert embedder(db, "second").id == first.id + 1


def test_verify_reports_passages_that_are_missing(db: sqlite3.Connection) -> None:
    small, large = embedder(db, "small"), embedder(db, "large")
    whole, lost = add_file_read_by(db, "whole", "small", 2), add_file_read_by(db, "lost", "small", 2)
    add_file_read_by(db, "empty", "small", 0)
    add_file_read_by(db, "not served", "large", 2)
    embed(db, whole, small, "red", "green")
    embed(db, lost, small, "red")
    embed(db, lost, large, "red", "green")
    add_digest(db, add_file(db, "broken"), content="{")

    message = "files with another number of semantic passages than their digest says"
    assert [problem for problem in find_problems(db) if problem.startswith(message)] == [f"{message}: lost"]


def test_files_that_lack_an_embedder_are_found_by_index(db: sqlite3.Connection) -> None:
    executed: list[str] = []
    db.set_trace_callback(executed.append)
    embedders.find_files_lacking(db, "small", 10)
    embedders.sweep(db, [1])
    db.set_trace_callback(None)
    plan = plan_of(db, executed)
    assert plan[0].startswith("SEARCH digests USING INDEX digests_by_status (status=? AND digester=?)")
    assert not [
        step for step in plan if step.startswith("SCAN") and "embedders" not in step and "json_each" not in step
    ]
