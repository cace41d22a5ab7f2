"""Recordings through the front door: what was said, when, and by whom."""

from __future__ import annotations

import csv
import hashlib
import json
import os
import re
import signal
import struct
import wave
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from running_chyme import SAMPLES, RunningChyme, Server, wait_until
from waiting import AMPLE

from chyme.models.weights.catalog import SPEECH, VOICES
from chyme.models.weights.folder import path_of

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        path_of(SPEECH) is None or path_of(VOICES) is None,
        reason="the weights for speech are missing: chyme weights speech voices",
    ),
]

SPOKEN = SAMPLES / "speech"
CLIPS = ("memo.ogg", "film.mp4", "recipe.m4a", "dialogue.mp3", "wetter.ogg")
QUIET = ("tune.mp3", "silence.flac")
RATE = 16_000


def liar() -> bytes:
    """A WAV file that says it goes on for a day and holds a tenth of a second."""
    samples, claimed = bytes(RATE // 5), 86_400 * RATE * 2
    format_ = struct.pack("<HHIIHH", 1, 1, RATE, RATE * 2, 2, 16)
    head = b"RIFF" + struct.pack("<I", claimed + 36) + b"WAVEfmt " + struct.pack("<I", len(format_)) + format_
    return head + b"data" + struct.pack("<I", claimed) + samples


def hashes(vault: Path) -> dict[str, str]:
    files = (path for path in vault.rglob("*") if path.is_file() and ".chyme" not in path.parts)
    return {path.relative_to(vault).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.fixture(scope="module")
def digested(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningChyme]:
    """A vault with all of them, and some that are broken, digested once."""
    chyme = RunningChyme(tmp_path_factory.mktemp("speech"))
    for name in (*CLIPS, *QUIET):
        chyme.drop(name, (SPOKEN / name).read_bytes())
    chyme.drop("broken/cut.mp4", (SPOKEN / "film.mp4").read_bytes()[:20_000])
    chyme.drop("broken/empty.mp3", b"")
    chyme.drop("broken/liar.wav", liar())
    before = hashes(chyme.vault)
    ended = chyme.run("digest", seconds=400)
    assert ended.code == 1, ended.out + ended.err  # the broken ones
    assert hashes(chyme.vault) == before
    yield chyme
    assert chyme.close() == []


def shown(chyme: RunningChyme, path: str) -> dict[str, Any]:
    return chyme.run("show", path, "--json").json  # type: ignore[no-any-return]


def digest(told: dict[str, Any], name: str) -> dict[str, Any]:
    return next(one for one in told["digests"] if one["digester"] == name)


def hit(chyme: RunningChyme, question: str) -> dict[str, Any]:
    (found,) = chyme.run("search", question, "--json").json["hits"]
    return found  # type: ignore[no-any-return]


def people_of(chyme: RunningChyme, path: str) -> dict[str, int]:
    """Label → person."""
    return {label: person["person_id"] for label, person in shown(chyme, path)["people"].items()}


def turns() -> list[dict[str, str]]:
    with (SPOKEN / "dialogue.tsv").open(encoding="utf-8", newline="") as table:
        return list(csv.DictReader(table, delimiter="\t"))


@pytest.mark.parametrize("path", CLIPS)
def test_every_clip_is_recognised_in_its_language(digested: RunningChyme, path: str) -> None:
    told = shown(digested, path)
    assert told["document"]["state"] == "completed"
    heard = json.loads(digest(told, "speech-recognition")["content"])
    with (SPOKEN / "transcripts.tsv").open(encoding="utf-8", newline="") as table:
        truth = next(row for row in csv.DictReader(table, delimiter="\t") if row["file"] == path)
    assert heard["language"] == truth["language"]
    wanted, found = (set(re.findall(r"\w+", text.lower())) for text in (truth["text"], heard["text"]))
    assert len(wanted & found) >= 0.8 * len(wanted)
    assert digest(told, "speech-recognition")["artifacts"] == ["subtitles.srt", "subtitles.vtt", "voices.json"]


@pytest.mark.parametrize(("word", "turn"), [("telescope", 0), ("bicycles", 1), ("moon", 2)])
def test_a_spoken_word_is_found_at_its_second_with_its_speaker(digested: RunningChyme, word: str, turn: int) -> None:
    found = hit(digested, word)
    assert found["path"] == "dialogue.mp3"
    said = turns()[turn]
    assert float(said["start"]) - 1 <= found["place"]["seconds"] <= float(said["end"])
    assert found["place"].get("until", 0) <= float(said["end"]) + 1
    assert found["place"]["speaker"] == ("speaker-2" if turn == 1 else "speaker-1")
    minutes, seconds = divmod(int(found["place"]["seconds"]), 60)
    assert f"{minutes}:{seconds:02d}" in digested.run("search", word).out.splitlines()[0]


def test_a_word_said_in_a_film_is_found(digested: RunningChyme) -> None:
    found = hit(digested, "elephant")
    assert found["path"] == "film.mp4"
    assert 0 <= found["place"]["seconds"] < 8
    assert found["place"]["speaker"] == "speaker-1"


def test_subtitles_tell_both_speakers_at_their_times(digested: RunningChyme) -> None:
    srt = digested.run("show", "dialogue.mp3", "--srt")
    vtt = digested.run("show", "dialogue.mp3", "--vtt")
    assert (srt.code, vtt.code, srt.err, vtt.err) == (0, 0, "", "")
    assert srt.out.startswith("1\n00:00:00,")
    assert vtt.out.startswith("WEBVTT\n\n00:00:00.")
    assert vtt.out.count(" --> ") == srt.out.count(" --> ") >= 4
    cues = [block for block in vtt.out.split("\n\n") if "bicycles" in block]
    voices = {block.partition("<v ")[2].partition(">")[0] for block in vtt.out.split("\n\n")[1:]}
    assert len(voices) == 2
    assert cues[0].startswith(("00:00:04.", "00:00:05.", "00:00:06.", "00:00:07."))
    refused = digested.run("show", "silence.flac", "--srt")
    assert (refused.code, "nothing is said in it" in refused.err) == (2, True)


def test_a_transcript_is_shown_in_lines_for_people(digested: RunningChyme) -> None:
    told = digested.run("show", "film.mp4").out
    assert any(line.strip().startswith("0:0") and "museum" in line for line in told.splitlines())
    assert '"segments"' not in told


def test_the_same_voice_in_two_files_is_one_person_and_another_is_another(digested: RunningChyme) -> None:
    (michael,) = people_of(digested, "memo.ogg").values()
    assert set(people_of(digested, "film.mp4").values()) == {michael}
    (annie,) = people_of(digested, "recipe.m4a").values()
    (german,) = people_of(digested, "wetter.ogg").values()
    assert len({michael, annie, german}) == 3
    assert people_of(digested, "dialogue.mp3") == {"speaker-1": michael, "speaker-2": annie}


def test_a_name_given_once_is_shown_and_found_everywhere(digested: RunningChyme) -> None:
    person = people_of(digested, "memo.ogg")["speaker-1"]
    assert digested.run("people", "name", str(person), "Ada Byron").code == 0
    try:
        assert "Ada Byron: Welcome" in digested.run("show", "film.mp4", "--srt").out
        assert "<v Ada Byron>" in digested.run("show", "memo.ogg", "--vtt").out
        assert "Ada Byron: " in digested.run("show", "dialogue.mp3").out
        assert "Ada Byron" in digested.run("search", "elephant").out.splitlines()[0]
        everywhere = digested.run("search", "person:Ada", "--json").json["hits"]
        assert {one["path"] for one in everywhere} == {"memo.ogg", "film.mp4", "dialogue.mp3"}
        among = digested.run("search", "person:Ada piano", "--json").json["hits"]
        assert [one["path"] for one in among] == ["memo.ogg"]
    finally:
        digested.run("people", "undo")
    assert "Ada" not in digested.run("show", "film.mp4", "--srt").out


@pytest.mark.parametrize("path", QUIET)
def test_where_nothing_is_said_nothing_is_found(digested: RunningChyme, path: str) -> None:
    told = shown(digested, path)
    heard = digest(told, "speech-recognition")
    assert (heard["status"], heard["content"], heard["error"]) == ("completed", None, None)
    assert told["document"]["state"] == "completed"
    assert told["people"] == {}


@pytest.mark.parametrize("name", ["cut.mp4", "empty.mp3"])
def test_a_broken_recording_says_what_is_wrong(digested: RunningChyme, name: str) -> None:
    heard = digest(shown(digested, f"broken/{name}"), "speech-recognition")
    assert (heard["status"], heard["error_category"], heard["attempts"]) == ("failed", "validation", 1)
    assert name in heard["error"]


def test_a_file_that_lies_about_its_length_costs_nothing_else(digested: RunningChyme) -> None:
    heard = digest(shown(digested, "broken/liar.wav"), "speech-recognition")
    assert heard["attempts"] == 1
    assert (heard["status"], heard["error_category"]) in (("completed", None), ("failed", "validation"))
    assert heard["duration_ms"] < 60_000


def joined(path: Path, names: tuple[str, ...]) -> None:
    """One long WAV file of several clips."""
    with wave.open(os.fspath(path), "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(RATE)
        for name in names:
            resampler = av.AudioResampler(format="s16", layout="mono", rate=RATE)
            with av.open(os.fspath(SPOKEN / name)) as clip:
                frames = [part for frame in clip.decode(audio=0) for part in resampler.resample(frame)]
            for frame in [*frames, *resampler.resample(None)]:
                out.writeframes(frame.to_ndarray().astype(np.int16).tobytes())
            out.writeframes(bytes(RATE * 2))


def at_work(server: Server) -> float | None:
    """How far the recogniser is, as /api/status tells it."""
    told = server.http.get("/api/status").json()["work"]
    return next((one["fraction"] for one in told if one["digester"] == "speech-recognition"), None)


def finished(kept: bytes) -> list[bytes]:
    """The stretches that were written down as done, oldest first."""
    return re.findall(rb'"place":\[\d+,\d+\]', kept)


def test_a_recording_is_taken_up_where_chyme_was_killed(chyme: RunningChyme, tmp_path: Path) -> None:
    joined(tmp_path / "long.wav", ("memo.ogg", "film.mp4", "recipe.m4a", "dialogue.mp3", "memo.ogg", "film.mp4"))
    chyme.drop("long.wav", (tmp_path / "long.wav").read_bytes())
    server = chyme.serve()
    seen: list[float] = []

    def half_done() -> bool:
        seen.append(at_work(server) or 0.0)
        return len(finished(scratch(chyme))) >= 2 and seen[-1] > 0

    wait_until(half_done)
    assert 0 < seen[-1] < 1  # it is told while it goes on
    server.http.close()
    with suppress(ProcessLookupError):
        os.killpg(server.process.pid, signal.SIGKILL)
    server.process.wait(AMPLE)
    wait_until(lambda: chyme.alive() == [])
    left = scratch(chyme)
    assert chyme.rows("SELECT status FROM digests WHERE digester = 'speech-recognition'") == [("in-progress",)]

    server = chyme.serve()
    kept = left

    def over() -> bool:
        nonlocal kept
        kept = scratch(chyme) or kept
        return chyme.rows("SELECT status FROM digests WHERE digester = 'speech-recognition'") == [("completed",)]

    wait_until(over)
    assert server.end(signal.SIGTERM) == 0
    assert chyme.run("digest").code == 0
    assert kept.startswith(left)
    places = finished(kept)
    assert len(places) > len(finished(left))
    assert len(set(places)) == len(places)  # none was heard twice
    assert scratch(chyme) == b""
    assert chyme.rows("SELECT attempts FROM digests WHERE digester = 'speech-recognition'") == [(1,)]
    text = json.loads(digest(shown(chyme, "long.wav"), "speech-recognition")["content"])["text"]
    assert [text.count(word) for word in ("piano", "elephant", "onions", "telescope", "neighbor")] == [2, 2, 1, 1, 1]
    assert hit(chyme, "onions")["place"]["seconds"] > 20


def scratch(chyme: RunningChyme) -> bytes:
    """What the recogniser has kept so far, of the only file there is."""
    (*found,) = (chyme.vault / ".chyme/scratch").glob("*/stretches.jsonl")
    with suppress(FileNotFoundError):
        return b"".join(path.read_bytes() for path in found)
    return b""
