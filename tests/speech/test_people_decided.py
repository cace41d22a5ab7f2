"""A user's decisions about people apply in every file, in the index and in the digests, and can be undone."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable

import pytest
from coordinating import Bench
from speaking import Listening, recording

from chyme.core.store import events
from chyme.core.store.sqlite.database import Database
from chyme.errors import UsageError
from chyme.model import Again, Mode
from chyme.search.tables import file_terms
from chyme.speech.people.edits import People
from chyme.speech.people.names import SPEAKERS
from chyme.speech.people.tables import people

Open = Callable[..., Bench]
ADA, COLD, BOB, CAROL = ("ada", 30.0), ("ada with a cold", 20.0), ("bob", 25.0), ("carol", 9.5)


@pytest.fixture
def vault(bench: Open) -> Listening:
    return Listening(bench)


def names(vault: Listening) -> dict[int, str | None]:
    return {person.id: person.name for person in vault.people.list_people()}


def test_a_name_is_shown_and_found_in_every_file_at_once(vault: Listening) -> None:
    vault.drop("one.wav", ADA, BOB)
    vault.drop("two.wav", COLD)
    assert vault.found("lovelace") == []
    done = vault.people.name("1", "  Ada   Lovelace ")

    assert done.what == "named Person 1 Ada Lovelace"
    assert done.person is not None
    assert (done.person.name, done.person.voices) == ("Ada Lovelace", 2)
    assert vault.found("lovelace") == ["one.wav", "two.wav"]
    assert vault.documents.show("two.wav")["people"] == {"speaker-1": {"person_id": 1, "name": "Ada Lovelace"}}
    assert vault.documents.show("one.wav")["people"]["speaker-2"] == {"person_id": 2, "name": None}
    assert vault.persons(vault.drop("three.wav", ADA, note="later")) == [1]
    assert vault.found("lovelace") == ["one.wav", "three.wav", "two.wav"]
    assert vault.problems() == []


def test_the_transcript_comes_with_the_names_of_named_speakers(vault: Listening) -> None:
    vault.drop("one.wav", ADA, BOB)
    vault.people.name("2", "Bob")
    answer = vault.documents.transcript("one.wav")

    assert answer is not None
    assert [segment.text for segment in answer[0].segments] == ["I am ada.", "I am bob."]
    assert answer[1] == {"speaker-2": "Bob"}
    vault.drop("silence.wav")
    assert vault.documents.transcript("silence.wav") is None


def test_a_hit_names_its_speaker_if_they_have_a_name(vault: Listening) -> None:
    vault.drop("one.wav", ADA, BOB)
    vault.people.name("2", "Robert")
    (hit,) = vault.index.search("bob").hits

    assert hit.place is not None
    assert (hit.place.speaker, hit.person) == ("speaker-2", "Robert")
    (hit,) = vault.index.search("robert").hits
    assert (hit.why, hit.snippet.text) == (("name",), "Robert")


def test_names_must_be_valid_and_unique(vault: Listening) -> None:
    vault.drop("one.wav", ADA, BOB)
    vault.people.name("1", "Ada")
    for name in ("", "  ", "42", "Person 7", "new", "a\tb\x07", "x" * 101, "\u202eeve"):
        with pytest.raises(UsageError):
            vault.people.name("2", name)
    with pytest.raises(UsageError, match=r"there is a Ada already \(person 1\).*chyme people merge 1 2"):
        vault.people.name("2", "ADA")
    vault.people.name("Person 1", "ADA")  # her own

    assert names(vault) == {1: "ADA", 2: None}


def test_unnaming_takes_the_word_out_of_the_index(vault: Listening) -> None:
    vault.drop("one.wav", ADA)
    vault.people.name("1", "Ada Lovelace")
    vault.people.remove_name("lovelace")

    assert vault.found("lovelace") == []
    assert names(vault) == {1: None}
    with pytest.raises(UsageError, match="Person 1 has no name"):
        vault.people.remove_name("1")


def test_merging_gives_all_voices_to_one_and_both_sounds_are_known_afterwards(vault: Listening) -> None:
    first = vault.drop("one.wav", ADA, BOB)
    vault.people.name("1", "Ada")
    done = vault.people.merge("ada", ["2"])

    assert done.what == "merged Person 2 into Ada"
    assert vault.persons(first) == [1, 1]
    assert names(vault) == {1: "Ada"}
    assert vault.persons(vault.drop("two.wav", BOB)) == [1]
    assert vault.persons(vault.drop("three.wav", COLD)) == [1]
    assert vault.problems() == []


def test_an_unnamed_person_takes_the_name_of_the_person_merged_into_it(vault: Listening) -> None:
    vault.drop("one.wav", ADA, BOB, CAROL)
    vault.people.name("2", "Bob")
    assert vault.people.merge("1", ["Bob"]).what == "merged Bob into Person 1, now called Bob"
    assert names(vault) == {1: "Bob", 3: None}
    vault.people.undo()
    assert names(vault) == {1: None, 2: "Bob", 3: None}
    vault.people.name("3", "Carol")

    with pytest.raises(UsageError, match="put one first"):
        vault.people.merge("1", ["Bob", "Carol"])
    with pytest.raises(UsageError, match="somebody else"):
        vault.people.merge("1", ["Person 1"])


def test_undoing_a_merge_gives_back_what_joined_meanwhile(vault: Listening) -> None:
    first = vault.drop("one.wav", ADA, BOB)
    vault.people.name("1", "Ada")
    vault.people.name("2", "Bob")
    vault.people.merge("1", ["2"])
    second = vault.drop("two.wav", BOB)
    assert vault.persons(second) == [1]
    assert vault.found("person:ada") == ["one.wav", "two.wav"]
    assert vault.people.undo().what == "merged Bob into Ada"

    assert (vault.persons(first), vault.persons(second)) == ([1, 2], [2])
    assert names(vault) == {1: "Ada", 2: "Bob"}
    assert vault.found("person:ada") == ["one.wav"]
    assert vault.found("person:bob") == ["one.wav", "two.wav"]
    assert vault.problems() == []


def test_splitting_makes_a_new_person_who_is_recognised_from_then_on(vault: Listening) -> None:
    vault.drop("one.wav", ADA)
    cold = vault.drop("two.wav", COLD)
    vault.people.name("1", "Ada")
    done = vault.people.split("Ada", ["two.wav:speaker-1"])

    assert done.what == "split a voice of Ada off as Person 2"
    assert vault.persons(cold) == [2]
    assert vault.found("ada person:1") == ["one.wav"]
    later = vault.drop("three.wav", COLD, note="again")
    assert vault.persons(later) == [2]
    assert vault.problems() == []

    vault.people.undo()
    assert (vault.persons(cold), vault.persons(later)) == ([1], [1])
    assert names(vault) == {1: "Ada"}
    assert vault.found("person:ada") == ["one.wav", "three.wav", "two.wav"]
    assert vault.problems() == []


def test_split_refuses_strangers_and_everything(vault: Listening) -> None:
    first = vault.drop("one.wav", ADA, BOB)
    with pytest.raises(UsageError, match=r"voice 2 \(one.wav, speaker-2\) is not one of Person 1's"):
        vault.people.split("1", [vault.voice(first, 1)])
    with pytest.raises(UsageError, match="nothing would be left"):
        vault.people.split("1", [vault.voice(first), "one.wav:speaker-1"])
    with pytest.raises(UsageError, match="77: is no voice"):
        vault.people.split("1", ["77"])


def test_a_voice_moves_to_a_known_or_new_person_and_back(vault: Listening) -> None:
    first, second = vault.drop("one.wav", ADA, BOB), vault.drop("two.wav", COLD)
    vault.people.name("2", "Bob")
    assert vault.people.move(vault.voice(second), "Bob").what == "moved voice 3 from Person 1 to Bob"
    assert (vault.persons(first), vault.persons(second)) == ([1, 2], [2])
    assert vault.found("bob person:bob") == ["one.wav", "two.wav"]
    assert vault.people.move(vault.voice(second), "new").what == "moved voice 3 from Bob to Person 3"
    assert vault.persons(second) == [3]
    with pytest.raises(UsageError, match="the only one of Person 3 already"):
        vault.people.move("3", "new")
    with pytest.raises(UsageError, match="is Person 3's already"):
        vault.people.move("3", "3")
    vault.people.undo()
    vault.people.undo()

    assert vault.persons(second) == [1]
    assert names(vault) == {1: None, 2: "Bob"}
    assert vault.problems() == []


def test_a_decision_outlives_the_digest_it_was_made_on(vault: Listening) -> None:
    first, second = vault.drop("one.wav", ADA), vault.drop("two.wav", COLD)
    vault.people.move("2", "new")
    vault.people.name("2", "Cold Ada")
    for file_id in (first, second):
        vault.bench.process(file_id, Again(Mode.RESET))
    vault.drop("two.wav", COLD, note="other tags")

    assert (vault.persons(first), vault.persons(second)) == ([1], [2])
    assert vault.found('person:"cold ada"') == ["two.wav"]
    vault.people.undo()
    vault.people.undo()
    assert vault.persons(second) == [1]
    assert vault.problems() == []


def test_undo_goes_back_step_by_step_and_says_what_it_undid(vault: Listening) -> None:
    vault.drop("one.wav", ADA, BOB)
    decisions = [
        vault.people.name("1", "Ada"),
        vault.people.name("Ada", "Ada Lovelace"),
        vault.people.remove_name("1"),
        vault.people.merge("1", ["2"]),
    ]
    assert [vault.people.undo().what for _ in decisions] == [done.what for done in reversed(decisions)]
    assert names(vault) == {1: None, 2: None}
    with pytest.raises(UsageError, match="there is nothing to undo"):
        vault.people.undo()


def test_a_change_that_cannot_be_undone_any_more_is_reported_and_does_not_block_others(vault: Listening) -> None:
    vault.drop("one.wav", ADA)
    vault.drop("two.wav", BOB)
    vault.people.name("1", "Ada")
    vault.people.merge("Ada", ["2"])
    (vault.bench.root / "two.wav").unlink()
    vault.bench.scanner.scan()
    vault.bench.intake.purge(vault.bench.file("two.wav"))
    with pytest.raises(UsageError, match="“merged Person 2 into Ada” cannot be undone any more"):
        vault.people.undo()

    assert vault.people.undo().what == "named Person 1 Ada"
    assert names(vault) == {1: None}
    assert vault.problems() == []


def test_a_name_that_belongs_to_another_person_now_is_not_restored(vault: Listening) -> None:
    vault.drop("one.wav", ADA, BOB)
    vault.people.name("1", "Ada")
    vault.people.remove_name("1")
    vault.bench.database.write(lambda db: people.rename(db, 2, "Ada", "now"))
    with pytest.raises(UsageError, match="the name is another's now"):
        vault.people.undo()

    assert names(vault) == {1: None, 2: "Ada"}


def test_a_person_without_voices_can_be_removed_and_restored(vault: Listening) -> None:
    vault.drop("one.wav", ADA)
    vault.people.name("1", "Ada")
    with pytest.raises(UsageError, match="Ada has 1 voice"):
        vault.people.remove("Ada")
    (vault.bench.root / "one.wav").unlink()
    vault.bench.scanner.scan()
    vault.bench.intake.purge(vault.bench.file("one.wav"))
    assert vault.people.remove("Ada").person is None
    assert names(vault) == {}
    vault.people.undo()

    assert names(vault) == {1: "Ada"}
    assert vault.problems() == []


def test_a_person_is_shown_with_the_places_and_first_words_of_their_voices(vault: Listening) -> None:
    vault.drop("b/two.wav", BOB, COLD)
    vault.drop("a/one.wav", ADA)
    vault.people.name("2", "Ada")
    details = vault.people.show("ada")

    assert details.person.files == 2
    assert [(voice.path, voice.speaker, voice.seconds, voice.words) for voice in details.voices] == [
        ("a/one.wav", "speaker-1", 30.0, "I am ada."),
        ("b/two.wav", "speaker-2", 20.0, "I am ada with a cold."),
    ]
    with pytest.raises(UsageError, match="there is no person 9"):
        vault.people.show("9")
    with pytest.raises(UsageError, match=r"nobody here is called “adda”; is it Ada\?"):
        vault.people.show("adda")


def test_an_ambiguous_name_is_refused(vault: Listening) -> None:
    vault.drop("one.wav", ADA, BOB)
    vault.people.name("1", "Ada Lovelace")
    vault.people.name("2", "Ada Byron")
    with pytest.raises(UsageError, match=r"may be any of Ada Lovelace \(1\), Ada Byron \(2\)"):
        vault.people.show("ada")

    assert vault.people.show("byron").person.id == 2


def test_a_decision_is_recorded_as_events(vault: Listening) -> None:
    vault.drop("one.wav", ADA)
    newest = events.list_after(vault.bench.db, 0)[-1][0]
    vault.people.name("1", "Ada")

    recorded = [(type_, path, detail) for _, _, type_, path, _, _, detail in events.list_after(vault.bench.db, newest)]
    assert recorded == [("person", None, "named Person 1 Ada"), ("person", "one.wav", "named Person 1 Ada")]


def test_nothing_is_digested_again_because_of_a_decision(vault: Listening) -> None:
    first = vault.drop("one.wav", ADA, BOB)
    vault.people.merge("1", ["2"])
    vault.bench.process(first)

    assert vault.ear.calls == 1
    assert vault.bench.digest(first, SPEAKERS) == ("completed", None, 1)
    assert vault.bench.state(first) == "completed"


def test_a_refused_decision_changes_nothing(vault: Listening) -> None:
    vault.drop("one.wav", ADA, BOB)
    before = list(vault.bench.database.read().iterdump())
    with pytest.raises(UsageError):
        vault.people.move("1", "nobody known")
    with pytest.raises(UsageError):
        vault.people.merge("1", ["2", "nobody known"])

    assert list(vault.bench.database.read().iterdump()) == before


def test_decisions_of_another_process_and_new_files_get_along(vault: Listening) -> None:
    """Two writers on one database, as `chyme serve` and `chyme people` are."""
    vault.drop("first.wav", ADA, BOB)
    other = Database(vault.bench.root / ".chyme")
    elsewhere = People(other, vault.bench.clock, file_terms.rewrite)
    ids = [vault.bench.drop(f"{number}.wav", recording(COLD, BOB, note=str(number))) for number in range(10)]

    def digest() -> None:
        for file_id in ids:
            vault.bench.process(file_id)

    thread = threading.Thread(target=digest)
    thread.start()
    elsewhere.name("1", "Ada")
    elsewhere.name("Ada", "Adelaide")
    elsewhere.undo()
    elsewhere.name("2", "Bob")
    thread.join()
    other.close()

    assert [vault.persons(file_id) for file_id in ids] == [[1, 2]] * 10
    assert names(vault) == {1: "Ada", 2: "Bob"}
    assert len(vault.found("person:bob")) == len(vault.found("bob person:ada")) == 11
    assert vault.problems() == []


def test_skipped_speakers_stay_listed_when_people_change(vault: Listening) -> None:
    first = vault.drop("one.wav", ADA, ("bob", 1.0), CAROL)
    vault.people.merge("1", ["2"])
    content = vault.bench.content(first, SPEAKERS)

    assert content is not None
    assert [row["speaker"] for row in json.loads(content)["skipped"]] == ["speaker-2"]
    assert vault.persons(first) == [1, 1]
