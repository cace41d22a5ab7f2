"""person:name limits a search to files in which this person speaks."""

from __future__ import annotations

import pytest
from keyword_vault import Shelf
from upstreams import upstream

from chyme.model import Kind, Voice
from chyme.search.results import as_json
from chyme.speech.people.tables import people, voices

TRANSCRIPT = """{"text": "", "segments": [
    {"start": 0, "end": 4, "text": "the harbour opens at noon", "speaker": "speaker-1"},
    {"start": 4, "end": 9, "text": "who has got the keys", "speaker": "speaker-2"}]}"""


def add_voice(shelf: Shelf, person_id: int, file_id: int, speaker: str) -> None:
    voice = Voice(speaker, 5.0, "ear", (1.0, 0.0))
    voices.add(shelf.db, file_id, voice, voices.add_group(shelf.db, person_id, voice), True)


@pytest.fixture
def radio(shelf: Shelf) -> Shelf:
    """Ada Lovelace speaks in two files, José in one, a person without a name in a third; and a note mentions an Ada."""
    transcript = upstream("speech-recognition", TRANSCRIPT)
    both, single, silent = (
        shelf.put(name, kind=Kind.AUDIO, outputs=[transcript]) for name in ("both.mp3", "one.mp3", "unheard.mp3")
    )
    shelf.put("note.txt", "the harbour and ada")
    ada, jose, third = (people.add(shelf.db, "now") for _ in range(3))
    people.rename(shelf.db, ada, "Ada Lovelace", "now")
    people.rename(shelf.db, jose, "José", "now")
    add_voice(shelf, ada, both, "speaker-1")
    add_voice(shelf, jose, both, "speaker-2")
    add_voice(shelf, ada, single, "speaker-2")
    add_voice(shelf, third, silent, "speaker-1")
    for file_id, path in ((both, "both.mp3"), (single, "one.mp3"), (silent, "unheard.mp3")):
        for name, content in (("speech-recognition", TRANSCRIPT), ("speaker-embedding", None)):
            shelf.db.execute(
                """
                INSERT INTO digests (id, file_id, file_path, digester, status, settled, content, created_at, updated_at)
                VALUES (?, ?, ?, ?, 'completed', 1, ?, 'now', 'now')
                """,
                (path + name, file_id, path, name, content),
            )
    return shelf


@pytest.mark.parametrize(
    ("question", "paths"),
    [
        ("harbour", {"both.mp3", "one.mp3", "unheard.mp3", "note.txt"}),
        ("harbour person:Ada", {"both.mp3", "one.mp3"}),
        ('harbour person:"ada LOVELACE"', {"both.mp3", "one.mp3"}),
        ("harbour person:lovelace", {"both.mp3", "one.mp3"}),
        ("harbour person:jose", {"both.mp3"}),
        ("harbour person:3", {"unheard.mp3"}),
        ('harbour person:"Person 3"', {"unheard.mp3"}),
        ("harbour -person:ada", {"unheard.mp3", "note.txt"}),
        ("harbour person:ada person:jose", {"both.mp3"}),
        ("harbour person:ada -person:jose", {"one.mp3"}),
        ("person:ada", {"both.mp3", "one.mp3"}),
        ("-person:ada", {"unheard.mp3", "note.txt"}),
        ("harbour person:love", set()),
        ("harbour person:7", set()),
        ('harbour person:")( OR *"', set()),
        ("harbour -person:nobody", {"both.mp3", "one.mp3", "unheard.mp3", "note.txt"}),
    ],
)
def test_person_filter(radio: Shelf, question: str, paths: set[str]) -> None:
    result = radio.ask(question, keep_conditions=True)

    assert {hit.path for hit in result.hits} == paths
    assert result.total == len(paths)


def test_a_note_for_an_unknown_name_lists_the_known_people(radio: Shelf) -> None:
    assert radio.ask("harbour person:josef").notes[0] == "nobody here is called “josef”; is it José?"
    assert radio.ask("person:zz").notes == ("nobody here is called “zz”; known are Ada Lovelace, José",)
    assert radio.ask("person:9").notes == ("nobody here is called “9”; known are Ada Lovelace, José",)
    assert radio.ask("person:ada").notes == ()


def test_places_contain_the_speaker_and_the_person_if_they_have_a_name(radio: Shelf) -> None:
    places = {hit["path"]: hit["place"] for hit in as_json(radio.ask("keys"))["hits"]}  # type: ignore[attr-defined]

    assert (places["both.mp3"]["speaker"], places["both.mp3"]["person"]) == ("speaker-2", "José")
    assert (places["one.mp3"]["speaker"], places["one.mp3"]["person"]) == ("speaker-2", "Ada Lovelace")
    assert "person" not in places["unheard.mp3"]
    hit = as_json(radio.ask("harbour person:jose"))["hits"][0]  # type: ignore[index]
    assert hit["passages"][0]["place"]["person"] == hit["place"]["person"] == "Ada Lovelace"


def test_hits_name_no_person_while_the_voices_are_analysed_again(radio: Shelf) -> None:
    radio.db.execute("UPDATE digests SET status = 'todo', settled = 0")
    (hit,) = radio.ask("keys person:jose").hits

    assert (hit.person, hit.place and hit.place.speaker) == (None, "speaker-2")


def test_vanished_files_are_not_found(radio: Shelf) -> None:
    radio.db.execute("UPDATE files SET vanished_at = 'now' WHERE path = 'one.mp3'")

    assert radio.found("person:ada") == ["both.mp3"]
