"""Facets: how many files have each value, every file counted once."""

from __future__ import annotations

import sqlite3

import pytest
from embedded_files import NOW, add_document, add_file, plan_of

from chyme.model import Voice
from chyme.search.tables import facets, keyword_queries
from chyme.search.tables.facets import Facets
from chyme.speech.people.tables import people, voices

EVERYTHING = keyword_queries.all_of([])
NOTHING = Facets((), (), (), (), (), ())
IN_2021 = 1_620_000_000


def add_voices(db: sqlite3.Connection, name: str | None, *file_ids: int) -> None:
    """Add a person of this name with two voices, in two groups, in each of these files."""
    person = people.add(db, NOW)
    people.rename(db, person, name, NOW)
    for number in (1, 2):
        group = voices.add_group(db, person, Voice("x", 1.0, "ear", (1.0, 0.0)))
        for file in file_ids:
            voices.add(db, file, Voice(f"{person}-{number}", 1.0, "ear", (1.0, 0.0)), group, True)


@pytest.fixture
def filled(db: sqlite3.Connection) -> list[int]:
    note = add_file(db, "note.txt", "text", IN_2021)
    bill = add_file(db, "home/2024/bill.pdf", "document")
    talk = add_file(db, "home/talk.wav", "audio", IN_2021)
    hidden = add_file(db, "work/hidden.txt")
    add_document(db, bill, '["tax", "water"]', "2024-05", "completed")
    add_document(db, talk, '["water", "water"]', None, "processing")
    add_document(db, hidden, '["tax"]', "1999-01-01")
    db.execute("UPDATE files SET vanished_at = 'now' WHERE id = ?", (hidden,))
    add_voices(db, "Zoë", talk, bill, hidden)
    add_voices(db, "Abe", talk)
    add_voices(db, None, note)
    return [note, bill, talk, hidden]


def test_all_visible_files_are_counted_most_frequent_first(db: sqlite3.Connection, filled: list[int]) -> None:
    assert facets.of_all(db, EVERYTHING) == Facets(
        kind=(("audio", 1), ("document", 1), ("text", 1)),
        tag=(("water", 2), ("tax", 1)),
        folder=(("home", 2),),
        year=(("2021", 2), ("2024", 1)),
        person=(("Zoë", 2), ("Abe", 1)),
        status=(("completed", 1), ("processing", 1)),
    )


def test_only_files_that_meet_the_condition_are_counted(db: sqlite3.Connection, filled: list[int]) -> None:
    expected = Facets(
        kind=(("document", 1),),
        tag=(("tax", 1), ("water", 1)),
        folder=(("home", 1),),
        year=(("2024", 1),),
        person=(("Zoë", 1),),
        status=(("completed", 1),),
    )
    assert facets.of_all(db, keyword_queries.has_tag(1, ["tax"])) == expected
    assert (
        facets.of_all(db, keyword_queries.Condition("shelf.kind = 'document' OR shelf.name = 'hidden.txt'")) == expected
    )
    assert facets.of_files(db, [filled[1]]) == expected
    assert facets.of_files(db, [filled[1], filled[1], filled[3], 999]) == expected
    assert facets.of_files(db, filled) == facets.of_all(db, EVERYTHING)
    assert facets.of_files(db, []) == NOTHING


def test_no_facet_has_more_than_twenty_values(db: sqlite3.Connection) -> None:
    for number in range(25):
        file = add_file(db, f"folder {number:02}/a.txt")
        add_document(db, file, f'["often", "tag {number:02}"]', f"{1990 + number}-01-01")
        add_voices(db, f"Person {number:02} of many", file)
    counted = facets.of_all(db, EVERYTHING)

    assert [len(counts) for counts in (counted.tag, counted.folder, counted.year, counted.person)] == [20, 20, 20, 20]
    assert counted.tag[:2] == (("often", 25), ("tag 00", 1)) and counted.tag[-1] == ("tag 18", 1)
    assert counted.person[-1] == ("Person 19 of many", 1)


def test_more_files_than_are_read_at_a_time_are_all_counted(db: sqlite3.Connection) -> None:
    ids = [add_file(db, f"{number}") for number in range(2_001)]
    assert facets.of_files(db, ids).kind == (("text", 2_001),)


def test_only_found_files_are_looked_up(db: sqlite3.Connection) -> None:
    executed: list[str] = []
    db.set_trace_callback(executed.append)
    facets.of_files(db, [1, 2])
    db.set_trace_callback(None)
    scans = [step for step in plan_of(db, executed) if step.startswith("SCAN")]
    assert all("json_each" in step for step in scans)
