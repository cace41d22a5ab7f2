"""Passages and vectors are added and removed together, and their ids are never used again."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from embedded_files import add_digest, add_document, add_file, embed, embedder, floats, passage, plan_of

from chyme.application.consistency_checks import find_problems
from chyme.core.store import files
from chyme.core.store.sqlite.database import FILE_NAME, Database, _apply, connect, migrations
from chyme.model import Passage, Place
from chyme.search.tables import embedders, keyword_queries, vectors

EVERYWHERE = keyword_queries.all_of([])


@pytest.fixture
def db(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    Database(tmp_path).close()
    db = connect(tmp_path / FILE_NAME)
    yield db
    db.close()


def texts_of(db: sqlite3.Connection, file_id: int, embedder_id: int) -> list[str]:
    return [stored.text for _, stored, _ in vectors.of_file(db, file_id, embedder_id)]


def orphans(db: sqlite3.Connection) -> int:
    row = db.execute("SELECT count(*) FROM vectors WHERE id NOT IN (SELECT id FROM semantic_passages)").fetchone()
    return int(row[0])


def test_a_passage_keeps_its_place_and_its_vector(db: sqlite3.Connection) -> None:
    small, file = embedder(db), add_file(db, "a")
    cut = [
        Passage("image-ocr", 0, "till", Place(3, 7, box=(0.1, 0.2, 0.3, 0.4))),
        Passage("speech-recognition", 1, "good day", Place(0, 8, 2, "Top", 1.5, 2.5, "speaker-1")),
    ]
    vectors.replace(db, file, small.id, cut, floats(1, 0) + floats(0, 1), 2, keep_others=True)

    rows = vectors.of_file(db, file, small.id)
    assert [(stored, vector) for _, stored, vector in rows] == [(cut[0], floats(1, 0)), (cut[1], floats(0, 1))]
    first, second = (id_ for id_, _, _ in rows)
    assert vectors.by_id(db, [second, first, 999]) == {first: (file, cut[0]), second: (file, cut[1])}
    assert vectors.vectors_by_id(db, [second, 999]) == {second: floats(0, 1)}


def test_replaced_passages_are_removed_and_their_ids_never_used_again(db: sqlite3.Connection) -> None:
    small, file = embedder(db), add_file(db, "a")
    first = embed(db, file, small, "red", "green", "blue")
    second = embed(db, file, small, "black")
    embed(db, file, small)
    third = embed(db, file, small, "white")

    assert first[-1] < second[0] < third[0]
    assert vectors.by_id(db, first + second) == {} == vectors.vectors_by_id(db, first + second)
    assert orphans(db) == 0
    vectors.remove(db, file)
    assert embed(db, file, small, "grey")[0] > third[0]


def test_vectors_of_other_embedders_stay_only_with_keep_others(db: sqlite3.Connection) -> None:
    old, new = embedder(db, "old"), embedder(db, "new", 3)
    file, neighbour = add_file(db, "a"), add_file(db, "b")
    for file_id in (file, neighbour):
        embed(db, file_id, old, "red", "green")

    embed(db, file, new, "red green", keep_others=True)
    assert texts_of(db, file, old.id) == ["red", "green"] and texts_of(db, file, new.id) == ["red green"]
    embed(db, file, new, "blue", keep_others=False)
    assert texts_of(db, file, old.id) == [] and texts_of(db, file, new.id) == ["blue"]
    assert texts_of(db, neighbour, old.id) == ["red", "green"]
    assert orphans(db) == 0


def test_vectors_of_texts_and_of_pictures_are_replaced_and_removed_apart(db: sqlite3.Connection) -> None:
    texts, file, copy = embedder(db), add_file(db, "a"), add_file(db, "b")
    pictures = embedders.ensure(db, "clip", 3, "now", "pictures")
    assert not pictures.serves

    embed(db, file, texts, "red")
    embed(db, file, pictures, "a picture", keep_others=False)
    embed(db, file, texts, "green", keep_others=False)
    assert texts_of(db, file, texts.id) == ["green"] and texts_of(db, file, pictures.id) == ["a picture"]

    vectors.copy(db, file, copy, "pictures")
    assert texts_of(db, copy, texts.id) == [] and texts_of(db, copy, pictures.id) == ["a picture"]
    vectors.copy(db, file, copy)
    assert texts_of(db, copy, texts.id) == ["green"] and texts_of(db, copy, pictures.id) == ["a picture"]

    while embedders.sweep(db, [texts.id]):
        pass
    assert texts_of(db, file, pictures.id) == ["a picture"]
    vectors.remove(db, file, "texts")
    assert texts_of(db, file, texts.id) == [] and texts_of(db, file, pictures.id) == ["a picture"]
    vectors.remove(db, file, "pictures")
    vectors.remove(db, copy)
    assert texts_of(db, file, pictures.id) == texts_of(db, copy, pictures.id) == texts_of(db, copy, texts.id) == []
    assert orphans(db) == 0


def test_an_embedder_of_pictures_never_serves_questions_about_texts(db: sqlite3.Connection) -> None:
    pictures = embedders.ensure(db, "clip", 3, "now", "pictures")
    assert embedders.get_serving(db) is None
    with pytest.raises(sqlite3.IntegrityError):
        embedders.switch(db, pictures.id)


def test_vectors_must_have_the_right_count_and_length(db: sqlite3.Connection) -> None:
    small, file = embedder(db), add_file(db, "a")
    existing = embed(db, file, small, "red")

    with pytest.raises(ValueError, match="2 passages need 16 bytes of vectors, there are 8"):
        vectors.replace(db, file, small.id, [passage("a"), passage("b")], floats(1, 0), 2, keep_others=True)
    assert list(vectors.by_id(db, existing)) == existing
    with pytest.raises(sqlite3.IntegrityError, match="as many numbers"):
        vectors.replace(db, file, small.id, [passage("a")], floats(1, 0, 0), 3, keep_others=True)


@pytest.mark.parametrize("change", ["vectors SET vector = x'00000000'", "semantic_passages SET text = 'other'"])
def test_the_row_of_an_id_never_changes(db: sqlite3.Connection, change: str) -> None:
    embed(db, add_file(db, "a"), embedder(db), "red")
    with pytest.raises(sqlite3.IntegrityError, match="never changed"):
        db.execute(f"UPDATE {change}")


def test_a_copy_has_the_vectors_of_every_embedder(db: sqlite3.Connection) -> None:
    old, new = embedder(db, "old"), embedder(db, "new", 3)
    source, target = add_file(db, "a"), add_file(db, "b")
    embed(db, source, old, "red", "green", "blue")
    embed(db, source, new, "red green blue")
    before = embed(db, target, old, "something else")
    vectors.copy(db, source, target)

    for known in (old, new):
        copied = [(stored, vector) for _, stored, vector in vectors.of_file(db, target, known.id)]
        assert copied == [(stored, vector) for _, stored, vector in vectors.of_file(db, source, known.id)]
    assert vectors.by_id(db, before) == {}
    assert min(id_ for id_, _, _ in vectors.of_file(db, target, old.id)) > before[0]


def test_a_copy_keeps_its_vectors_of_embedders_that_the_source_lacks(db: sqlite3.Connection) -> None:
    old, new = embedder(db, "old"), embedder(db, "new", 3)
    source, target = add_file(db, "a"), add_file(db, "b")
    embed(db, source, new, "red green")
    before = embed(db, target, old, "red", "green")
    vectors.copy(db, source, target)

    assert [id_ for id_, _, _ in vectors.of_file(db, target, old.id)] == before
    assert [stored.text for _, stored, _ in vectors.of_file(db, target, new.id)] == ["red green"]


def test_only_the_vectors_of_the_given_model_are_removed(db: sqlite3.Connection) -> None:
    old, new = embedder(db, "old"), embedder(db, "new", 3)
    file, other = add_file(db, "a"), add_file(db, "b")
    for file_id in (file, other):
        embed(db, file_id, old, "red")
        embed(db, file_id, new, "red")
    vectors.remove_of_model(db, file, "new")
    vectors.remove_of_model(db, other, "unheard of")

    assert [
        (file_id, by.model) for file_id in (file, other) for by in (old, new) if vectors.of_file(db, file_id, by.id)
    ] == [
        (file, "old"),
        (other, "old"),
        (other, "new"),
    ]


def test_purging_a_file_removes_its_vectors(db: sqlite3.Connection) -> None:
    small, file, remaining = embedder(db), add_file(db, "a"), add_file(db, "b")
    embed(db, file, small, "red", "green")
    embed(db, remaining, small, "blue")
    files.delete(db, file)

    assert vectors.count(db, small.id) == 1 == db.execute("SELECT count(*) FROM vectors").fetchone()[0]


def test_caches_continue_after_the_last_id_they_have(db: sqlite3.Connection) -> None:
    old, new = embedder(db, "old"), embedder(db, "new")
    file_a, file_b = add_file(db, "a"), add_file(db, "b")
    first = embed(db, file_a, old, "red", "green")
    embed(db, file_a, new, "red")
    second = embed(db, file_b, old, "blue!")

    assert vectors.list_after(db, old.id, 0, 2) == [(first[0], file_a, floats(3, 0)), (first[1], file_a, floats(5, 0))]
    assert vectors.list_after(db, old.id, first[1], 10) == [(second[0], file_b, floats(5, 0))]
    assert vectors.list_after(db, old.id, second[0], 10) == []
    assert (vectors.count(db, old.id), vectors.highest_id(db, old.id)) == (3, second[0])
    assert (vectors.count(db, 99), vectors.highest_id(db, 99)) == (0, 0)


def test_only_passages_of_visible_files_that_meet_the_condition_are_returned(db: sqlite3.Connection) -> None:
    old, new = embedder(db, "old"), embedder(db, "new")
    note = add_file(db, "note.txt")
    picture, hidden, gone = (add_file(db, name, "image") for name in ("a.png", "b.png", "c.png"))
    ids = {file: embed(db, file, old, "red", "green") for file in (note, picture, hidden, gone)}
    embed(db, note, new, "red")
    add_document(db, note, '["tax"]')
    db.execute("UPDATE files SET vanished_at = 'now' WHERE id = ?", (hidden,))
    files.delete(db, gone)
    everything = [id_ for ids_of_file in ids.values() for id_ in ids_of_file]

    assert vectors.visible(db, everything, EVERYWHERE) == dict.fromkeys(ids[note], note) | dict.fromkeys(
        ids[picture], picture
    )
    for where, file in ((keyword_queries.has_kind(1, "image"), picture), (keyword_queries.has_tag(1, ["Tax"]), note)):
        assert vectors.visible(db, everything, where) == dict.fromkeys(ids[file], file)
        assert vectors.visible(db, ids[file][1:], where) == {ids[file][1]: file}
        assert vectors.ids_of_files_where(db, old.id, where, 10) == ids[file]
    assert sorted(vectors.ids_of_files_where(db, old.id, EVERYWHERE, 10)) == ids[note] + ids[picture]
    assert len(vectors.ids_of_files_where(db, old.id, EVERYWHERE, 3)) == 3
    either = keyword_queries.Condition("shelf.kind = 'text' OR shelf.kind = 'image'")
    assert set(vectors.visible(db, everything, either)) == set(ids[note] + ids[picture])
    assert set(vectors.ids_of_files_where(db, old.id, either, 10)) == set(ids[note] + ids[picture])


def test_vectors_are_found_without_reading_the_texts_of_passages(db: sqlite3.Connection) -> None:
    executed: list[str] = []
    db.set_trace_callback(executed.append)
    vectors.list_after(db, 1, 0, 10)
    vectors.visible(db, [1, 2], keyword_queries.has_kind(1, "text"))
    vectors.ids_of_files_where(db, 1, keyword_queries.has_kind(1, "text"), 10)
    vectors.count(db, 1)
    vectors.highest_id(db, 1)
    db.set_trace_callback(None)
    since, visible, allowed, count, highest = (plan_of(db, [statement]) for statement in executed)
    of_embedder = "SEARCH semantic_passages USING COVERING INDEX semantic_passages_of_embedder (embedder_id=?"

    assert since == [f"{of_embedder} AND id>?)", "SEARCH vectors USING INTEGER PRIMARY KEY (rowid=?)"]
    assert visible[0].startswith("SCAN wanted VIRTUAL TABLE")
    assert visible[1] == "SEARCH semantic_passages USING COVERING INDEX semantic_passage_owner (id=?)"
    assert visible[2] == "SEARCH shelf USING COVERING INDEX shelf_by_kind (kind=? AND rowid=?)"
    assert any(step.startswith("SEARCH semantic_passages USING COVERING INDEX sqlite_autoindex") for step in allowed)
    assert count[0].startswith(of_embedder) and highest[0].startswith(of_embedder)


def test_verify_finds_passages_and_vectors_that_do_not_belong_together(db: sqlite3.Connection) -> None:
    small, file = embedder(db), add_file(db, "a.txt")
    add_digest(db, file)
    add_document(db, file)
    db.execute("INSERT INTO file_terms VALUES (?, 'a', '', '', '')", (file,))
    ids = embed(db, file, small, "red", "green", "blue")
    assert find_problems(db) == []

    db.execute("DROP TRIGGER vector_is_replaced_not_changed")
    db.execute("UPDATE vectors SET vector = ? WHERE id = ?", (floats(1, 0, 0), ids[0]))
    db.execute("DELETE FROM vectors WHERE id = ?", (ids[1],))
    db.execute("DELETE FROM digests")
    assert find_problems(db) == [
        "semantic passages without a vector: a.txt",
        "vectors of another length than their embedder's: a.txt small",
        "semantic passages without their digest: a.txt",
    ]


def test_a_vault_of_the_previous_version_gets_the_vector_tables_and_loses_nothing(tmp_path: Path) -> None:
    db = connect(tmp_path / FILE_NAME)
    for number, name, script in migrations():
        if number < 7:
            _apply(db, number, name, script)
    file = add_file(db, "a")
    db.execute("INSERT INTO file_terms VALUES (?, 'a', '', '', '')", (file,))
    db.close()

    Database(tmp_path).close()
    db = connect(tmp_path / FILE_NAME)
    assert files.by_path(db, "a") is not None
    embed(db, file, embedder(db), "red")
    assert vectors.count(db, 1) == 1
    assert db.execute("SELECT active, sequence FROM outbox_state").fetchall() == [(0, 0)]
    db.close()
    assert [path.name.split(".")[1] for path in tmp_path.glob("vault.*.db")] == ["schema6"]
