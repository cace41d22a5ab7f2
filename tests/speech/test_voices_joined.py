"""Voices are joined to people when their digest is recorded: the same voice is the same person in every file."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest
from coordinating import Bench, Clock, fails
from speaking import Listening, listen, recording

from chyme.application import consistency_checks
from chyme.application.recorders import recorders_of
from chyme.core.store import digest_resets
from chyme.core.store.sqlite.database import connect
from chyme.errors import ChildCrashed, EngineUnavailable, UnreadableFile
from chyme.model import Again, Mode, Output
from chyme.speech.people.names import SPEAKERS
from chyme.speech.people.tables import people, voices

Open = Callable[..., Bench]
ADA, COLD, SISTER, STRANGER, BOB, CAROL = (
    *(("ada", 30.0), ("ada with a cold", 20.0), ("ada's sister", 20.0)),
    *(("somebody", 15.0), ("bob", 25.0), ("carol", 9.5)),
)


@pytest.fixture
def vault(bench: Open) -> Listening:
    return Listening(bench)


def test_the_same_voice_in_two_files_is_one_person_and_two_voices_are_two(vault: Listening) -> None:
    first, second = vault.drop("one.wav", ADA, BOB), vault.drop("two.wav", COLD)

    assert vault.persons(first) == [1, 2]
    assert vault.persons(second) == [1]
    assert [(p.id, p.name, p.voices, p.files, p.seconds) for p in vault.people.list_people()] == [
        (1, None, 2, 2, 50.0),
        (2, None, 1, 1, 25.0),
    ]
    assert vault.problems() == []


def test_the_digest_says_who_speaks_how_long_and_whether_they_are_new(vault: Listening) -> None:
    vault.drop("one.wav", ADA)
    second = vault.drop("two.wav", ADA, BOB)

    assert vault.told(second) == [
        {"speaker": "speaker-1", "person_id": 1, "voice_id": 2, "seconds": 30.0, "is_new": False},
        {"speaker": "speaker-2", "person_id": 2, "voice_id": 3, "seconds": 25.0, "is_new": True},
    ]


def test_two_speakers_of_a_file_are_never_one_person_however_alike(vault: Listening) -> None:
    vault.drop("one.wav", ADA)
    second = vault.drop("two.wav", SISTER, COLD)

    assert vault.persons(second) == [2, 1]  # the better match is her, though it came second


def test_a_voice_below_the_threshold_is_a_new_person(vault: Listening) -> None:
    vault.drop("one.wav", ADA)

    assert vault.persons(vault.drop("two.wav", STRANGER)) == [2]


def test_the_threshold_is_a_rule(bench: Open, clock: Clock) -> None:
    vault = Listening(bench)
    object.__setattr__(vault.bench.rules, "recorders", recorders_of(same_voice=0.45))
    vault.drop("one.wav", ADA)

    assert vault.persons(vault.drop("two.wav", STRANGER)) == [1]


def test_voices_of_another_model_are_not_compared(vault: Listening) -> None:
    vault.drop("one.wav", ADA)
    vault.ear.make = partial(listen, model="another ear")

    assert vault.persons(vault.drop("two.wav", ADA, note="another file")) == [2]


def test_a_speaker_who_spoke_too_little_is_skipped_with_the_reason(vault: Listening) -> None:
    first = vault.drop("one.wav", ADA, ("bob", 1.0))
    content = vault.bench.content(first, SPEAKERS)

    assert vault.persons(first) == [1]
    assert content is not None
    assert '"skipped":[{"speaker":"speaker-2","reason":"spoke 1.0 s; 2 s are needed to be recognised"}]' in content


def test_a_reset_alone_removes_no_voice_and_digesting_again_keeps_ids_and_decisions(vault: Listening) -> None:
    first, second = vault.drop("one.wav", ADA, BOB), vault.drop("two.wav", ADA)
    vault.people.name("1", "Ada")
    vault.people.move(vault.voice(second), "new")  # whatever it sounds like, the user says it is not her
    before = vault.told(first), vault.told(second)
    for file_id in (first, second):
        vault.ear.make = fails(ChildCrashed("dead"))
        vault.bench.process(file_id, Again(Mode.RESET))
        assert vault.bench.content(file_id, SPEAKERS) is None
    assert len(people.list_people(vault.bench.db)) == 3
    assert vault.found("ada") == ["one.wav"]
    vault.ear.make = listen
    for file_id in (first, second):
        vault.bench.process(file_id, Again(Mode.RESET))

    assert (vault.told(first), vault.told(second)) == before
    assert vault.problems() == []


def test_changed_content_keeps_a_person_who_still_speaks_under_another_label(vault: Listening) -> None:
    first = vault.drop("one.wav", ADA, BOB)
    vault.people.name("2", "Bob")
    vault.drop("one.wav", ("carol", 40.0), BOB, note="edited tags")
    assert [(s["speaker"], s["person_id"], s["voice_id"]) for s in vault.told(first)] == [
        ("speaker-1", 3, 3),  # ada has gone with her only voice
        ("speaker-2", 2, 2),
    ]
    vault.drop("one.wav", BOB, ("carol", 40.0), note="the other way round")

    assert vault.persons(first) == [2, 3]
    assert [voice["voice_id"] for voice in vault.told(first)] == [2, 3]
    assert [p.id for p in vault.people.list_people()] == [2, 3]
    assert vault.problems() == []


def test_another_model_does_not_change_the_people_of_a_file(vault: Listening) -> None:
    first, second = vault.drop("one.wav", ADA), vault.drop("two.wav", ADA)
    vault.people.name("1", "Ada")
    vault.people.move(vault.voice(second), "new")
    vault.ear.make = partial(listen, model="another ear")
    for file_id in (first, second):
        vault.bench.process(file_id, Again(Mode.RESET))

    assert (vault.persons(first), vault.persons(second)) == ([1], [2])
    assert vault.persons(vault.drop("three.wav", ADA)) in ([1], [2])
    assert vault.problems() == []


def test_voices_are_removed_when_nothing_is_spoken_any_more(vault: Listening) -> None:
    first = vault.drop("one.wav", ADA, BOB)
    vault.people.name("1", "Ada Lovelace")
    vault.ear.make = lambda _: [Output("speech-recognition", None)]
    vault.bench.process(first, Again(Mode.RESET, ("speech-recognition",)))
    vault.bench.process(first)

    assert vault.bench.digest(first, SPEAKERS)[:2] == ("completed", None)
    assert vault.bench.content(first, SPEAKERS) is None
    assert [(p.id, p.voices) for p in vault.people.list_people()] == [(1, 0)]
    assert vault.found("lovelace") == []
    assert vault.problems() == []


def test_voices_are_removed_when_all_speakers_speak_too_little(vault: Listening) -> None:
    first = vault.drop("one.wav", ADA)
    vault.drop("one.wav", ("ada", 1.0))

    assert vault.told(first) == []
    assert vault.people.list_people() == []
    assert vault.problems() == []


def test_known_voices_stay_when_recognition_delivers_no_voices(vault: Listening) -> None:
    first = vault.drop("one.wav", ADA)
    vault.ear.make = lambda source: [replace(listen(source)[0], artifacts=())]
    vault.bench.process(first, Again(Mode.RESET))

    assert vault.bench.digest(first, SPEAKERS)[:2] == ("failed", "unavailable")
    assert [p.voices for p in vault.people.list_people()] == [1]


@pytest.mark.parametrize("error", [EngineUnavailable("no weights"), UnreadableFile("broken")])
def test_voices_stay_when_recognition_fails(vault: Listening, error: Exception) -> None:
    first = vault.drop("one.wav", ADA)
    vault.people.name("1", "Ada")
    vault.ear.make = fails(error)  # type: ignore[arg-type]
    vault.bench.process(first, Again(Mode.RESET))
    assert vault.bench.digest(first, SPEAKERS)[:2] == ("failed", "validation")
    assert vault.documents.show("one.wav")["people"] == {}
    vault.ear.make = listen
    vault.bench.process(first, Again(Mode.RESET))

    assert vault.documents.show("one.wav")["people"] == {"speaker-1": {"person_id": 1, "name": "Ada"}}


def test_a_file_that_becomes_a_note_has_no_voices(vault: Listening) -> None:
    vault.drop("one.wav", ADA)
    vault.bench.drop("one.wav", "just words")

    assert vault.people.list_people() == []
    assert vault.problems() == []


def test_purging_takes_voices_and_unnamed_people_and_leaves_those_with_a_name(vault: Listening, clock: Clock) -> None:
    for name in ("one.wav", "two.wav"):
        vault.drop(name, ADA, BOB)
    vault.people.name("1", "Ada")
    for name in ("one.wav", "two.wav"):
        (vault.bench.root / name).unlink()
    vault.bench.scanner.scan()
    assert [(p.id, p.voices) for p in vault.people.list_people()] == [(1, 0)]  # hidden at once
    assert vault.persons(vault.drop("three.wav", BOB)) == [2]  # but known by voice until purged
    for file in (vault.bench.file("one.wav"), vault.bench.file("two.wav")):
        assert vault.bench.intake.purge(file)

    assert [(p.id, p.name, p.voices) for p in vault.people.list_people()] == [(1, "Ada", 0), (2, None, 1)]
    assert vault.bench.db.execute("SELECT count(*) FROM voices").fetchone() == (1,)
    assert vault.bench.db.execute("SELECT count(*) FROM voice_groups").fetchone() == (1,)
    assert vault.problems() == []
    (vault.bench.root / "three.wav").unlink()
    vault.bench.scanner.scan()
    vault.bench.intake.purge(vault.bench.file("three.wav"))
    assert [p.id for p in vault.people.list_people()] == [1]


def test_files_digested_at_the_same_moment_share_their_people(vault: Listening) -> None:
    ids = [vault.bench.drop(f"{number}.wav", recording(ADA, BOB, note=str(number))) for number in range(12)]
    gate = threading.Barrier(len(ids))

    def together(file_id: int) -> None:
        gate.wait()
        vault.bench.process(file_id)

    threads = [threading.Thread(target=together, args=(file_id,)) for file_id in ids]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [vault.persons(file_id) for file_id in ids] == [[1, 2]] * 12
    assert [(p.id, p.voices) for p in vault.people.list_people()] == [(1, 12), (2, 12)]
    assert vault.problems() == []


def test_a_person_is_known_by_what_all_their_voices_have_in_common(vault: Listening) -> None:
    for number in range(3):
        vault.drop(f"{number}.wav", COLD, note=str(number))
    vault.drop("ada.wav", ADA)
    (centre,) = voices.groups(vault.bench.db, "ear")

    assert centre.centroid[0] == pytest.approx(0.974, abs=0.01)
    assert sum(value * value for value in centre.centroid) == pytest.approx(1, abs=1e-6)


def test_a_copy_has_the_same_people(vault: Listening) -> None:
    first = vault.drop("one.wav", ADA, BOB)
    second = vault.bench.drop("copy.wav", (vault.bench.root / "one.wav").read_bytes())
    vault.bench.process(second)

    assert vault.ear.calls == 1
    assert vault.persons(second) == vault.persons(first) == [1, 2]


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        ("UPDATE voices SET group_id = 9", "voices without a group: one.wav speaker-1"),
        ("UPDATE voice_groups SET person_id = 9", "groups of voices without a person: group 1"),
        ("DELETE FROM voices", "groups without voices: group 1"),
        ("INSERT INTO people (created_at, updated_at) VALUES ('', '')", "people without name and voices: Person 3"),
        (
            "UPDATE voice_groups SET person_id = 3 - person_id",
            "digests that name another speaker than their file's voices: one.wav speaker-1",
        ),
        (
            """UPDATE digests SET content = '{"speakers":[]}' WHERE digester = 'speaker-embedding'""",
            "voices that their file's digest does not name: one.wav speaker-1",
        ),
        (
            "UPDATE people SET name = 'Eve', folded = 'eve' WHERE id = 1",
            "files that are not found by the people heard in them: one.wav",
        ),
    ],
)
def test_inconsistencies_are_found(vault: Listening, damage: str, problem: str) -> None:
    vault.drop("one.wav", ADA, BOB)
    path = vault.bench.database.path
    vault.bench.close()
    db = connect(path)
    db.execute("PRAGMA foreign_keys = OFF")
    db.execute(damage)

    assert problem in consistency_checks.find_problems(db)
    db.close()


def test_a_digest_that_waits_again_still_serves_its_old_content(vault: Listening) -> None:
    first = vault.drop("one.wav", ADA)
    vault.bench.database.write(lambda db: digest_resets.cascade(db, first, [SPEAKERS], "now"))
    vault.people.name("1", "Ada")

    assert vault.persons(first) == [1]
    assert vault.documents.show("one.wav")["people"] == {}  # its labels may refer to other people by now
