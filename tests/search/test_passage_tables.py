"""The keyword indexes always agree with the stored texts, and contain nothing that was purged."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chyme.model import Passage, Place
from chyme.search.query.spelling import words_of
from chyme.search.searchable_texts import name_terms
from chyme.search.tables import dictionary, keyword_queries, passages
from chyme.text.unspaced_scripts import segment

KEYWORD = "search-keyword"


def open_database(path: Path | str) -> sqlite3.Connection:
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA foreign_keys = ON")
    db.execute("PRAGMA synchronous = OFF")
    db.execute("PRAGMA secure_delete = ON")
    for script in ("0001_core.sql", "0002_search.sql"):
        db.executescript((resources.files("chyme.core.store") / "migrations" / script).read_text(encoding="utf-8"))
    return db


@pytest.fixture
def db(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    db = open_database(tmp_path / "vault.db")
    yield db
    db.close()


def add_file(db: sqlite3.Connection, path: str) -> int:
    row = db.execute(
        """
        INSERT INTO files (path, folder, name, kind, mime, size, mtime_ns, dev, inode, hash, created_at, updated_at)
        VALUES (?, '', ?, 'text', 'text/plain', 1, 1, '1', '1', 'hash', 'now', 'now') RETURNING id
        """,
        (path, path),
    ).fetchone()
    return int(row[0])


def passage(text: str, ordinal: int = 0, place: Place | None = None) -> Passage:
    return Passage("file", ordinal, text, place or Place(0, len(text)), segment(text))


def write(db: sqlite3.Connection, file_id: int, *texts: str) -> None:
    cut = [passage(text, ordinal) for ordinal, text in enumerate(texts)]
    passages.replace(db, file_id, KEYWORD, cut, words_of(texts))


def write_title(db: sqlite3.Connection, file_id: int, title: str) -> None:
    terms = name_terms("file.txt", title, [], None)
    passages.write_names(db, file_id, terms)


def find_matching(db: sqlite3.Connection, word: str) -> list[int]:
    rows = db.execute(
        "SELECT file_id FROM passage_fts CROSS JOIN passages ON id = passage_fts.rowid WHERE passage_fts MATCH ?",
        (word,),
    )
    return [file_id for (file_id,) in rows]


def test_an_unchanged_passage_keeps_its_row_and_its_entry(db: sqlite3.Connection) -> None:
    file_id = add_file(db, "a")
    write(db, file_id, "apple", "東京都", "pear")
    write(db, add_file(db, "b"), "plum")  # so that a rewritten row gets another id
    before = {text.text: id_ for id_, text in passages.of_file(db, file_id, KEYWORD)}
    write(db, file_id, "apple", "東京都", "quince", "pear")

    after = {text.text: id_ for id_, text in passages.of_file(db, file_id, KEYWORD)}
    assert list(after) == ["apple", "東京都", "quince", "pear"]
    assert {text for text, id_ in after.items() if before.get(text) == id_} == {"apple", "東京都"}
    assert find_matching(db, "pear") == find_matching(db, "apple") == [file_id]
    assert passages.check(db) == []


def test_a_replaced_passage_is_no_longer_found(db: sqlite3.Connection) -> None:
    file_id = add_file(db, "a")
    write(db, file_id, "apple", "東京都")
    write(db, file_id, "pear")

    assert find_matching(db, "apple") == find_matching(db, "東京") == []
    assert find_matching(db, "pear") == [file_id]
    assert passages.check(db) == []


def test_passages_are_read_as_they_were_written(db: sqlite3.Connection) -> None:
    file_id = add_file(db, "a")
    place = Place(3, 9, 2, "Heading", 1.5, 2.5, "S1", (0.0, 0.25, 0.5, 1.0))
    passages.replace(db, file_id, KEYWORD, [passage("東京", 0, place), passage("plain", 1)])

    (first_id, first), (_, second) = passages.of_file(db, file_id, KEYWORD)

    assert first == passage("東京", 0, place)
    assert second.segmented is None
    assert passages.by_id(db, [first_id, 999]) == {first_id: (file_id, first)}


def test_deleting_a_file_takes_its_entries_out_of_both_indexes(db: sqlite3.Connection) -> None:
    file_id = add_file(db, "a")
    write(db, file_id, "apple 東京都")
    write_title(db, file_id, "orchard")

    db.execute("DELETE FROM files WHERE id = ?", (file_id,))

    assert find_matching(db, "apple") == []
    assert db.execute("SELECT count(*) FROM file_fts WHERE file_fts MATCH 'orchard'").fetchone() == (0,)
    assert passages.check(db) == []


def test_passages_of_other_digesters_are_kept_but_not_in_the_keyword_index(db: sqlite3.Connection) -> None:
    file_id = add_file(db, "a")
    write(db, file_id, "apple")
    passages.replace(db, file_id, "search-semantic", [passage("apple")])

    assert find_matching(db, "apple") == [file_id]
    passages.remove(db, file_id, KEYWORD)
    assert find_matching(db, "apple") == []
    assert len(passages.of_file(db, file_id, "search-semantic")) == 1
    assert passages.check(db) == []


def test_a_copy_is_found_too(db: sqlite3.Connection) -> None:
    first_file, second_file = add_file(db, "a"), add_file(db, "b")
    write(db, first_file, "apple", "東京都")
    write(db, second_file, "old")

    passages.copy(db, first_file, second_file, KEYWORD)

    assert find_matching(db, "東京") == [first_file, second_file]
    assert find_matching(db, "old") == []
    assert passages.check(db) == []


def test_a_text_cannot_be_changed_behind_the_index(db: sqlite3.Connection) -> None:
    write(db, add_file(db, "a"), "apple")

    with pytest.raises(sqlite3.IntegrityError, match="replaced, never changed"):
        db.execute("UPDATE passages SET text = 'pear'")


def test_check_notices_a_wrong_index_and_rebuild_repairs_it(db: sqlite3.Connection) -> None:
    write(db, add_file(db, "a"), "apple")
    db.execute("INSERT INTO passage_fts (rowid, tokens) VALUES (99, 'ghost')")

    (problem,) = passages.check(db)
    assert "passage_fts" in problem and "--rebuild" in problem

    passages.rebuild(db)
    assert passages.check(db) == []
    assert db.execute("SELECT count(*) FROM passage_fts WHERE passage_fts MATCH 'ghost'").fetchone() == (0,)


def test_writing_the_same_names_and_words_again_writes_nothing(db: sqlite3.Connection) -> None:
    file_id = add_file(db, "a")
    write_title(db, file_id, "orchard in autumn")
    before = db.total_changes

    write_title(db, file_id, "orchard in autumn")
    dictionary.learn(db, ["orchard", "autumn"])

    assert db.total_changes == before


@pytest.mark.parametrize("text", ["nul \x00 inside", "", "\ufffe", "a" * 100_000, "quote ' \" ;"])
def test_odd_texts_are_indexed_consistently(db: sqlite3.Connection, text: str) -> None:
    file_id = add_file(db, "a")
    write(db, file_id, text)
    assert passages.check(db) == []
    passages.remove(db, file_id)
    assert passages.check(db) == []


_TEXTS = st.lists(st.text(alphabet="ab cdé東京한\n", max_size=20), max_size=3)
_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.integers(0, 3), _TEXTS),
        st.tuples(st.just("name"), st.integers(0, 3), _TEXTS),
        st.tuples(st.just("copy"), st.integers(0, 3), st.just([])),
        st.tuples(st.just("remove"), st.integers(0, 3), st.just([])),
        st.tuples(st.just("unname"), st.integers(0, 3), st.just([])),
        st.tuples(st.just("delete"), st.integers(0, 3), st.just([])),
    ),
    max_size=12,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(steps=_STEPS)
def test_the_indexes_stay_exact_through_any_history(steps: list[tuple[str, int, list[str]]]) -> None:
    db = open_database(":memory:")
    try:
        ids = [add_file(db, str(number)) for number in range(4)]
        for step, which, texts in steps:
            file_id = ids[which]
            match step:
                case "write":
                    write(db, file_id, *texts)
                case "name":
                    write_title(db, file_id, " ".join(texts))
                case "copy":
                    passages.copy(db, ids[0], file_id, KEYWORD) if which else None
                case "remove":
                    passages.remove(db, file_id)
                case "unname":
                    passages.remove_names(db, file_id)
                case "delete":
                    db.execute("DELETE FROM files WHERE id = ?", (file_id,))
                    ids[which] = add_file(db, str(which))
            assert passages.check(db) == []
    finally:
        db.close()


def purge(db: sqlite3.Connection, file_id: int) -> None:
    words = dictionary.find_unique_words(db, file_id)
    passages.remove(db, file_id)
    dictionary.forget(db, words)
    passages.remove_names(db, file_id)
    db.execute("DELETE FROM files WHERE id = ?", (file_id,))
    while passages.sweep(db):
        pass


def test_purging_leaves_nothing(db: sqlite3.Connection, tmp_path: Path) -> None:
    for number in range(40):  # several segments in the index, so that there is something to merge
        write(db, add_file(db, f"before{number}"), f"harmless words number {number}", "shared secretive")
    secret = add_file(db, "mine")
    write(db, secret, "the word xylocarp stands only here, secretive", "東京鰻")
    write_title(db, secret, "Quetzalcoatlus diary")
    for number in range(40):
        write(db, add_file(db, f"after{number}"), f"more harmless words {number}")

    purge(db, secret)
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    everything = "\n".join(db.iterdump()).lower()
    raw = (tmp_path / "vault.db").read_bytes().lower()
    for trace in ("xylocarp", "ylocarp", "quetzalcoatlu", "鰻"):
        assert trace not in everything
        assert trace.encode() not in raw
        assert trace.encode().hex() not in everything
    assert db.execute("SELECT count(*) FROM words WHERE word = 'secretive'").fetchone() == (1,)
    assert passages.check(db) == []


def test_sweeping_continues_in_small_steps_until_nothing_is_left(db: sqlite3.Connection) -> None:
    for number in range(60):
        write(db, add_file(db, str(number)), " ".join(f"word{number}x{other}" for other in range(200)))

    steps = 0
    while passages.sweep(db, pages=2):
        steps += 1

    assert steps > 3
    assert passages.check(db) == []


def test_a_word_is_removed_with_its_last_file(db: sqlite3.Connection) -> None:
    first_file, second_file = add_file(db, "a"), add_file(db, "b")
    write(db, first_file, "gardening")
    write(db, second_file, "gardening gardener")

    assert dictionary.find_unique_words(db, first_file) == set()
    assert dictionary.find_unique_words(db, second_file) == {"gardener"}
    purge(db, second_file)
    assert dictionary.find_unique_words(db, first_file) == {"gardening"}
    purge(db, first_file)
    assert db.execute("SELECT count(*) FROM words").fetchone() == (0,)
    assert db.execute("SELECT count(*) FROM spelling").fetchone() == (0,)


def test_words_a_file_keeps_are_not_forgotten(db: sqlite3.Connection) -> None:
    file_id = add_file(db, "a")
    write(db, file_id, "apple pear")

    write_title(db, file_id, "Orchard apple")

    assert dictionary.find_unique_words(db, file_id, kept={"plum"}) == {"pear"}
    assert dictionary.find_unique_words(db, file_id) == {"apple", "pear", "orchard", "file"}


def test_words_that_a_rename_left_behind_are_found_and_forgotten(db: sqlite3.Connection) -> None:
    file_id = add_file(db, "a")
    write_title(db, file_id, "xylocarp")
    write_title(db, file_id, "harmless")

    assert dictionary.find_unused_words(db) == {"xylocarp"}
    dictionary.forget(db, dictionary.find_unused_words(db))
    assert dictionary.find_unused_words(db) == set()


def test_passages_are_counted_as_the_index_counts_them(db: sqlite3.Connection) -> None:
    first, second = add_file(db, "a.txt"), add_file(db, "b.txt")
    assert keyword_queries.count_passages(db) == 0
    write(db, first, *(f"whale {number}" for number in range(300)))
    write(db, second, "shark")
    db.execute("DELETE FROM files WHERE id = ?", (first,))

    assert keyword_queries.count_passages(db) == 1
    assert keyword_queries.count_matching_passages(db, "shark OR whale") == 1
