"""chyme people, run as a command."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from at_the_keyboard import Typed

from chyme.application.recorders import recorders_of
from chyme.core.clock import now
from chyme.core.pipeline.registry_rules import Rules
from chyme.core.store import files
from chyme.core.store.sqlite.database import Database
from chyme.doors.cli.commands.people import people
from chyme.model import Kind, Output, Seen, Stamp, Voice
from chyme.search.tables import file_terms
from chyme.speech.people.names import SPEAKERS
from chyme.speech.people.voice_recorder import store_voices
from chyme.vault.file_registry import FileRegistry

pytestmark = pytest.mark.slow

SOUNDS = {"ada": (1.0, 0.0), "bob": (0.0, 1.0)}


@pytest.fixture
def typed(tmp_path: Path) -> Typed:
    """A vault with recordings in it."""
    database = Database(tmp_path / ".chyme")
    intake = FileRegistry(database, Rules((), recorders=recorders_of()), now)
    for path, speakers in (("talk.mp3", ("ada", "bob")), ("sub/call.mp3", ("ada",))):
        intake.record([Seen(path, False, Kind.AUDIO, "audio/mpeg", Stamp("1", path, 1, 0), path)])
        file = files.by_path(database.read(), path)
        assert file is not None
        sounds = tuple(Voice(f"speaker-{n}", 70.0, "ear", SOUNDS[who]) for n, who in enumerate(speakers, 1))
        output = Output(SPEAKERS, "{}", voices=sounds)
        database.write(
            partial(
                store_voices, file=file, output=output, same_voice=0.75, now="now", refresh_names=file_terms.rewrite
            )
        )
    database.close()
    return Typed(tmp_path, people)


def test_people_are_listed_with_or_without_the_subcommand_list(typed: Typed) -> None:
    lines = "     1  Person 1  2 voices in 2 files, 2:20\n     2  Person 2  1 voice in 1 file, 1:10\n"

    assert typed.says() == typed.says("list") == lines
    assert typed.json() == typed.json("list")
    assert typed.json()["people"][0] == {
        "id": 1, "name": None, "called": "Person 1", "voices": 2, "files": 2, "seconds": 140.0,
    }  # fmt: skip


def test_json_may_be_requested_before_or_after_the_subcommand(typed: Typed) -> None:
    assert typed.says("--json", "list") == typed.says("list", "--json") != typed.says("list")


def test_a_person_is_shown(typed: Typed) -> None:
    assert typed.says("show", "1") == (
        "Person 1 (person 1): 2 voices in 2 files, 2:20\n"
        "     3  sub/call.mp3:speaker-1  1:10\n"
        "     1  talk.mp3:speaker-1  1:10\n"
    )
    assert typed.json("show", "Person 1")["voices"][0] == {
        "id": 3, "path": "sub/call.mp3", "speaker": "speaker-1", "seconds": 70.0, "words": None,
        "start": None, "end": None,
    }  # fmt: skip


def test_every_decision_can_be_typed(typed: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    assert typed.says("name", "1", "Ada") == "named Person 1 Ada\n"
    assert typed.says("merge", "ada", "2") == "merged Person 2 into Ada\n"
    assert typed.says("undo") == "undone: merged Person 2 into Ada\n"
    assert typed.says("move", "sub/call.mp3:speaker-1", "2") == "moved voice 3 from Ada to Person 2\n"
    monkeypatch.chdir(typed.root / ".chyme")
    assert typed.says("split", "2", "../sub/call.mp3:speaker-1") == "split a voice of Person 2 off as Person 3\n"
    assert typed.json("move", "1", "new") == {
        "done": "moved voice 1 from Ada to Person 4",
        "person": {"id": 4, "name": None, "called": "Person 4", "voices": 1, "files": 1, "seconds": 70.0},
    }
    assert "Ada       heard nowhere" in typed.says("list")
    assert typed.says("remove", "Ada") == "removed Ada\n"
    assert typed.json("undo") == {"done": "undone: removed Ada", "person": None}
    assert typed.says("unname", "Ada") == "took the name of Ada away from Person 1\n"


def test_mistakes_are_answered_in_a_sentence(typed: Typed) -> None:
    assert "there is no person 9; 'chyme people' lists them" in typed.refuses("show", "9")
    assert "nobody here is called “ada”" in typed.refuses("name", "ada", "Ada")
    assert "nothing.mp3:speaker-1: is no voice" in typed.refuses("move", "nothing.mp3:speaker-1", "2")
    assert "there is nothing to undo" in typed.refuses("undo")
    assert "is not a name" in typed.refuses("name", "1", "1")


def test_a_vault_without_people_says_so(tmp_path: Path) -> None:
    Database(tmp_path / ".chyme").close()

    assert Typed(tmp_path, people).says() == "nobody was heard yet\n"


def test_a_folder_that_is_no_vault_is_not_made_one(tmp_path: Path) -> None:
    Typed(tmp_path, people).refuses()

    assert list(tmp_path.iterdir()) == []
