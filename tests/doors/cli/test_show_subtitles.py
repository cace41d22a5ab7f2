"""chyme show: transcripts as lines for people and as subtitles."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from sqlite3 import Connection

import pytest
from click.testing import CliRunner, Result

from chyme.application.app import open_app
from chyme.core.clock import now
from chyme.core.store import digests, files
from chyme.doors.cli.main import main
from chyme.doors.cli.places import describe_place
from chyme.model import Place, Segment, Status, Transcript, Voice, iso
from chyme.speech.people.tables import people, voices
from chyme.speech.transcripts.json_format import as_json

pytestmark = pytest.mark.slow

SAMPLES = Path(__file__).parents[2] / "samples"
SEGMENTS = (
    Segment(0.5, 2.0, "Good morning.", "speaker-1"),
    Segment(65.0, 67.0, "Grüße aus Łódź!", "speaker-2"),
    Segment(3723.0, 3725.0, "Goodbye.", "speaker-1"),
)


@pytest.fixture(scope="module")
def registered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A vault with a recording and a note, both registered, nothing digested."""
    folder = tmp_path_factory.mktemp("registered") / "vault"
    folder.mkdir()
    (folder / "talk.mp3").write_bytes((SAMPLES / "media/song.mp3").read_bytes())
    (folder / "note.txt").write_text("a note")
    with open_app(folder, create=True) as app:
        app.scan_and_settle()
    return folder


@pytest.fixture
def vault(registered: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(registered, tmp_path / "vault"))


def record_transcript(vault: Path, digester: str, segments: Sequence[Segment] | None, note: str | None = None) -> None:
    """Record a transcript as if it had been made."""
    transcript = Transcript("en", "whisper-base", 3730.0, tuple(segments or ()), note)
    record(vault, digester, None if segments is None else as_json(transcript))


def record(vault: Path, digester: str, content: str | None) -> None:
    def write(db: Connection) -> None:
        file, moment = files.by_path(db, "talk.mp3"), iso(now())
        assert file is not None
        digests.register(db, file.id, file.path, [(digester, True, 0)], "", moment)
        digests.complete(db, file.id, digester, content, "hash", None, "recipe", "input", 12, moment)

    with open_app(vault) as app:
        app.database.write(write)


def fail(vault: Path, digester: str, error: str) -> None:
    def write(db: Connection) -> None:
        file, moment = files.by_path(db, "talk.mp3"), iso(now())
        assert file is not None
        digests.register(db, file.id, file.path, [(digester, True, 0)], "", moment)
        digests.record_incomplete(
            db, file.id, digester, Status.FAILED, True, 1, error, "unavailable", None, 1, moment
        )  # fmt: skip

    with open_app(vault) as app:
        app.database.write(write)


def name_speaker(vault: Path, label: str, name: str) -> None:
    """Give a voice the name of a person, as speaker-embedding and a user would."""

    def write(db: Connection) -> None:
        file, moment = files.by_path(db, "talk.mp3"), iso(now())
        assert file is not None
        voice = Voice(label, 4.0, "model", (1.0, 0.0))
        person = people.add(db, moment)
        people.rename(db, person, name, moment)
        voices.add(db, file.id, voice, voices.add_group(db, person, voice), True)

    record(vault, "speaker-embedding", json.dumps({"speakers": [{"speaker": label, "seconds": 64.2}], "skipped": []}))
    with open_app(vault) as app:
        app.database.write(write)


def show(vault: Path, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["show", "--vault", str(vault), *arguments])


def test_subtitles_are_printed_with_the_names_of_people(vault: Path) -> None:
    record_transcript(vault, "speech-recognition", SEGMENTS)
    name_speaker(vault, "speaker-2", "Ada")

    assert show(vault, "talk.mp3", "--srt").stdout == (
        "1\n00:00:00,500 --> 00:00:02,000\nSpeaker 1: Good morning.\n\n"
        "2\n00:01:05,000 --> 00:01:07,000\nAda: Grüße aus Łódź!\n\n"
        "3\n01:02:03,000 --> 01:02:05,000\nSpeaker 1: Goodbye.\n"
    )
    output = show(vault, "talk.mp3", "--vtt").stdout
    assert output.startswith("WEBVTT\n\n00:00:00.500 --> 00:00:02.000\n<v Speaker 1>Good morning.\n\n")
    assert "<v Ada>Grüße aus Łódź!" in output


def test_the_corrected_transcript_is_used_if_there_is_one(vault: Path) -> None:
    record_transcript(vault, "speech-recognition", [Segment(0, 2, "um good morning")])
    record_transcript(vault, "speech-recognition-cleanup", [Segment(0, 2, "Good morning.")])
    assert show(vault, "talk.mp3", "--srt").stdout.endswith("\nGood morning.\n")


def test_subtitles_are_utf8_whatever_the_terminal(vault: Path) -> None:
    record_transcript(vault, "speech-recognition", SEGMENTS)
    command = [sys.executable, "-m", "chyme", "show", "--vault", str(vault), "talk.mp3", "--vtt"]
    environment = os.environ | {"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    ended = subprocess.run(command, env=environment, capture_output=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, b"")
    assert "Grüße aus Łódź!".encode() in ended.stdout


@pytest.mark.parametrize("more", [["--json"], ["--save", "out"]])
def test_subtitles_are_printed_alone(vault: Path, more: list[str]) -> None:
    ended = show(vault, "talk.mp3", "--srt", *more)
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert "--srt prints subtitles and nothing else" in ended.stderr


def test_show_says_why_a_file_has_no_subtitles(vault: Path) -> None:
    def why(path: str) -> str:
        ended = show(vault, path, "--srt")
        assert (ended.exit_code, ended.stdout) == (2, "")
        return ended.stderr.strip()

    assert why("note.txt") == "chyme: note.txt: only recordings and videos have subtitles, and this is of kind text"
    assert why("talk.mp3") == "chyme: talk.mp3: it has no transcript yet; 'chyme digest' makes it"
    assert "is not a file of this vault" in why("nowhere.mp3")
    fail(vault, "speech-recognition", "the model is missing; run 'chyme weights speech'")
    assert why("talk.mp3") == (
        "chyme: talk.mp3: it has no transcript: the model is missing; run 'chyme weights speech'"
    )
    record_transcript(vault, "speech-recognition", None)
    assert why("talk.mp3") == "chyme: talk.mp3: nothing is said in it"


def test_a_transcript_is_shown_in_lines_with_times_and_speakers(vault: Path) -> None:
    record_transcript(vault, "speech-recognition", SEGMENTS, note="the last minute could not be read")
    name_speaker(vault, "speaker-2", "Ada")
    output = show(vault, "talk.mp3").stdout

    assert "  en, 1:02:10, whisper-base\n  note: the last minute could not be read\n" in output
    assert (
        "     0:00  Speaker 1: Good morning.\n"
        "     1:05  Ada: Grüße aus Łódź!\n"
        "  1:02:03  Speaker 1: Goodbye.\n"
    ) in output  # fmt: skip
    assert "  voices: Ada 1:04\n" in output
    assert "{" not in output


def test_a_single_voice_without_a_name_is_not_repeated_on_every_line(vault: Path) -> None:
    record_transcript(vault, "speech-recognition", [Segment(5, 7, "Good morning.", "speaker-1")])
    assert "  0:05  Good morning.\n" in show(vault, "talk.mp3").stdout


def test_json_contains_the_transcript_as_it_is_stored(vault: Path) -> None:
    record_transcript(vault, "speech-recognition", SEGMENTS)
    payload = json.loads(show(vault, "talk.mp3", "--json").stdout)
    content = next(digest["content"] for digest in payload["digests"] if digest["digester"] == "speech-recognition")
    assert json.loads(content)["segments"][1]["text"] == "Grüße aus Łódź!"


def test_content_that_is_no_transcript_is_shown_as_it_is(vault: Path) -> None:
    record(vault, "speech-recognition", '{"words": "in some shape of a plug-in"}')
    assert '  {"words": "in some shape of a plug-in"}\n' in show(vault, "talk.mp3").stdout


@pytest.mark.parametrize(
    ("place", "person", "expected"),
    [
        (Place(0, 1, seconds=65.4), None, "1:05"),
        (Place(0, 1, seconds=3723, speaker="speaker-2"), None, "1:02:03, Speaker 2"),
        (Place(0, 1, seconds=65, speaker="speaker-2"), "Ada\x1b[2J", "1:05, Ada\\x1b[2J"),
    ],
)
def test_a_hit_shows_the_second_and_the_speaker(place: Place, person: str | None, expected: str) -> None:
    assert describe_place(place, person) == expected
