"""The tables of people and voices refuse invalid rows, and keep nothing that belongs to no person."""

from __future__ import annotations

import sqlite3

import pytest

from chyme.model import Voice
from chyme.speech.people.names import SPEAKERS
from chyme.speech.people.tables import people, voices

NOW = "2026-03-04T12:00:00.000000Z"


def add_file(db: sqlite3.Connection, path: str) -> int:
    row = db.execute(
        """
        INSERT INTO files (path, folder, name, kind, mime, size, mtime_ns, dev, inode, hash, created_at, updated_at)
        VALUES (?, '', ?, 'audio', 'audio/wav', 1, 1, '1', '1', 'hash', 'now', 'now') RETURNING id
        """,
        (path, path),
    ).fetchone()
    return int(row[0])


def voice(speaker: str = "speaker-1", seconds: float = 10.0, vector: tuple[float, ...] = (1.0, 0.0)) -> Voice:
    return Voice(speaker, seconds, "ear", vector)


def add_person(db: sqlite3.Connection, path: str = "one.wav", sample: Voice | None = None) -> tuple[int, int]:
    """A person with one voice; returns both the person and the group."""
    person = people.add(db, NOW)
    group = voices.add_group(db, person, sample or voice())
    voices.add(db, add_file(db, path), sample or voice(), group, True)
    return person, group


def test_a_name_is_given_once_regardless_of_case(db: sqlite3.Connection) -> None:
    first, second = people.add(db, NOW), people.add(db, NOW)
    people.rename(db, first, "Zoë", NOW)

    with pytest.raises(sqlite3.IntegrityError):
        people.rename(db, second, "ZOË", NOW)
    assert people.by_name(db, "zoË") == (first, "Zoë")
    people.rename(db, first, None, NOW)
    people.rename(db, second, "ZOË", NOW)
    assert people.list_named(db) == [(second, "ZOË")]


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO people (name, created_at, updated_at) VALUES ('Ada', '', '')",
        "INSERT INTO people (name, folded, created_at, updated_at) VALUES ('  ', '', '', '')",
        "DELETE FROM people",
        "DELETE FROM voice_groups",
        "UPDATE voice_groups SET person_id = 9",
        "UPDATE voice_groups SET centroid = x'001122'",
        "UPDATE voices SET group_id = 9",
        "UPDATE voices SET seconds = -1",
        "UPDATE voices SET is_new = 2",
        "UPDATE voices SET speaker = ''",
        "UPDATE voices SET vector = x''",
        "INSERT INTO voices SELECT 9, file_id, speaker, group_id, seconds, model, vector, is_new FROM voices",
        "INSERT INTO people_changes (at, what, undo) VALUES ('', '', 'no json')",
    ],
)
def test_the_schema_refuses_invalid_rows(db: sqlite3.Connection, statement: str) -> None:
    add_person(db)
    with pytest.raises(sqlite3.IntegrityError):
        db.execute(statement)


def test_a_number_is_never_given_again(db: sqlite3.Connection) -> None:
    last = [people.add(db, NOW) for _ in range(3)][-1]
    db.execute("DELETE FROM people WHERE id = ?", (last,))

    assert people.add(db, NOW) == last + 1
    assert people.restore(db, last, NOW)
    assert not people.restore(db, last, NOW)


def test_empty_groups_are_removed_with_unnamed_people(db: sqlite3.Connection) -> None:
    unnamed, unnamed_group = add_person(db)
    named, named_group = add_person(db, "two.wav")
    people.rename(db, named, "Ada", NOW)
    db.execute("DELETE FROM files")  # takes the voices along
    voices.tidy(db, [unnamed_group, named_group])

    assert (people.by_id(db, unnamed), people.by_id(db, named)) == (None, (named, "Ada"))
    assert voices.groups(db, "ear") == []


def test_the_centre_follows_the_voices(db: sqlite3.Connection) -> None:
    _, group = add_person(db)
    voices.add(db, add_file(db, "two.wav"), voice(vector=(0.0, 1.0)), group, False)
    voices.tidy(db, [group])
    assert voices.groups(db, "ear")[0].centroid == pytest.approx((0.7071, 0.7071), abs=1e-3)
    voices.remove(db, [1])
    voices.tidy(db, [group])

    assert voices.groups(db, "ear")[0].centroid == (0.0, 1.0)


def test_only_the_longest_voices_make_the_centre(db: sqlite3.Connection) -> None:
    _, group = add_person(db)
    for number in range(voices.SAMPLES):
        voices.add(db, add_file(db, f"{number}.wav"), voice(seconds=20.0, vector=(0.0, 1.0)), group, False)
    voices.tidy(db, [group])

    assert voices.groups(db, "ear")[0].centroid == (0.0, 1.0)


def test_taking_out_some_voices_makes_a_group_and_taking_all_does_not(db: sqlite3.Connection) -> None:
    person, group = add_person(db)
    voices.add(db, add_file(db, "two.wav"), voice(vector=(0.0, 1.0)), group, False)

    assert voices.split_group(db, group, [1, 2]) == group
    other = voices.split_group(db, group, [2])
    assert other != group
    assert [(g.id, g.person_id, g.centroid) for g in voices.groups(db, "ear")] == [
        (group, person, (1.0, 0.0)),
        (other, person, (0.0, 1.0)),
    ]


def test_vanished_files_are_not_counted(db: sqlite3.Connection) -> None:
    person, group = add_person(db)
    voices.add(db, add_file(db, "two.wav"), voice(), group, False)
    voices.add(db, 1, voice("speaker-2", 5.0), group, False)
    assert people.list_people(db) == [people.PersonTotals(person, None, 3, 2, 25.0)]
    db.execute("UPDATE files SET vanished_at = 'now' WHERE id = 1")
    assert people.list_people(db) == [people.PersonTotals(person, None, 1, 1, 10.0)]
    assert [found.path for found in voices.of_person(db, person)] == ["two.wav"]
    db.execute("UPDATE files SET vanished_at = 'now'")
    assert people.list_people(db) == []
    people.rename(db, person, "Ada", NOW)

    assert people.list_people(db) == [people.PersonTotals(person, "Ada", 0, 0, 0.0)]
    assert voices.count_of(db, person) == 3


def test_speakers_may_exchange_their_labels(db: sqlite3.Connection) -> None:
    _, group = add_person(db)
    voices.add(db, 1, voice("speaker-2"), group, False)
    voices.clear_labels(db, 1)
    voices.replace(db, 1, voice("speaker-2"), group)
    voices.replace(db, 2, voice("speaker-1"), group)

    assert {each.id: each.speaker for each in voices.of_file(db, 1)} == {1: "speaker-2", 2: "speaker-1"}


def test_old_decisions_are_forgotten_in_the_end(db: sqlite3.Connection) -> None:
    for number in range(people.CHANGES_KEPT + 5):
        people.record_change(db, f"decision {number}", "{}", NOW)
    last = people.last_change(db)

    assert last is not None
    assert last.what == f"decision {people.CHANGES_KEPT + 4}"
    assert db.execute("SELECT count(*) FROM people_changes").fetchone() == (people.CHANGES_KEPT,)


def test_a_digest_that_is_not_json_is_rewritten(db: sqlite3.Connection) -> None:
    add_person(db)
    db.execute(
        """
        INSERT INTO digests (id, file_id, file_path, digester, status, settled, content, created_at, updated_at)
        VALUES ('1', 1, 'one.wav', ?, 'completed', 1, 'no json', '', '')
        """,
        (SPEAKERS,),
    )
    assert voices.refresh_digest(db, 1)
    assert not voices.refresh_digest(db, 1)
    content = db.execute("SELECT content FROM digests").fetchone()[0]
    assert content.startswith(
        '{"speakers":[{"speaker":"speaker-1","person_id":1,"voice_id":1,"seconds":10.0,"is_new":true}]'
    )
