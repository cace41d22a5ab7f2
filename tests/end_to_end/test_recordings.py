"""Recordings through the real command: the spoken words, their times and their speakers."""

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


def wav_with_wrong_length() -> bytes:
    """A WAV file that claims to last a day and contains a tenth of a second."""
    samples, claimed = bytes(RATE // 5), 86_400 * RATE * 2
    format_ = struct.pack("<HHIIHH", 1, 1, RATE, RATE * 2, 2, 16)
    head = b"RIFF" + struct.pack("<I", claimed + 36) + b"WAVEfmt " + struct.pack("<I", len(format_)) + format_
    return head + b"data" + struct.pack("<I", claimed) + samples


def hashes(vault: Path) -> dict[str, str]:
    files = (path for path in vault.rglob("*") if path.is_file() and ".chyme" not in path.parts)
    return {path.relative_to(vault).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.fixture(scope="module")
def digested(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningChyme]:
    """A vault with all these recordings and some broken ones, digested once."""
    chyme = RunningChyme(tmp_path_factory.mktemp("speech"))
    for name in (*CLIPS, *QUIET):
        chyme.drop(name, (SPOKEN / name).read_bytes())
    chyme.drop("broken/cut.mp4", (SPOKEN / "film.mp4").read_bytes()[:20_000])
    chyme.drop("broken/empty.mp3", b"")
    chyme.drop("broken/liar.wav", wav_with_wrong_length())
    before = hashes(chyme.vault)
    ended = chyme.run("digest", seconds=400)
    assert ended.code == 1, ended.out + ended.err  # the broken ones
    assert hashes(chyme.vault) == before
    yield chyme
    assert chyme.close() == []


def show(chyme: RunningChyme, path: str) -> dict[str, Any]:
    return chyme.run("show", path, "--json").json  # type: ignore[no-any-return]


def digest_of(details: dict[str, Any], name: str) -> dict[str, Any]:
    return next(digest for digest in details["digests"] if digest["digester"] == name)


def find_one(chyme: RunningChyme, question: str) -> dict[str, Any]:
    (found,) = chyme.run("search", question, "--json").json["hits"]
    return found  # type: ignore[no-any-return]


def people_of(chyme: RunningChyme, path: str) -> dict[str, int]:
    """Label → person."""
    return {label: person["person_id"] for label, person in show(chyme, path)["people"].items()}


def turns() -> list[dict[str, str]]:
    with (SPOKEN / "dialogue.tsv").open(encoding="utf-8", newline="") as table:
        return list(csv.DictReader(table, delimiter="\t"))


@pytest.mark.parametrize("path", CLIPS)
def test_every_clip_is_recognised_in_its_language(digested: RunningChyme, path: str) -> None:
    details = show(digested, path)
    assert details["document"]["state"] == "completed"
    recognised = json.loads(digest_of(details, "speech-recognition")["content"])
    with (SPOKEN / "transcripts.tsv").open(encoding="utf-8", newline="") as table:
        truth = next(row for row in csv.DictReader(table, delimiter="\t") if row["file"] == path)
    assert recognised["language"] == truth["language"]
    wanted, found = (set(re.findall(r"\w+", text.lower())) for text in (truth["text"], recognised["text"]))
    assert len(wanted & found) >= 0.8 * len(wanted)
    assert digest_of(details, "speech-recognition")["artifacts"] == ["subtitles.srt", "subtitles.vtt", "voices.json"]


@pytest.mark.parametrize(("word", "turn"), [("telescope", 0), ("bicycles", 1), ("moon", 2)])
def test_a_spoken_word_is_found_at_its_second_with_its_speaker(digested: RunningChyme, word: str, turn: int) -> None:
    found = find_one(digested, word)
    assert found["path"] == "dialogue.mp3"
    spoken = turns()[turn]
    assert float(spoken["start"]) - 1 <= found["place"]["seconds"] <= float(spoken["end"])
    assert found["place"].get("until", 0) <= float(spoken["end"]) + 1
    assert found["place"]["speaker"] == ("speaker-2" if turn == 1 else "speaker-1")
    minutes, seconds = divmod(int(found["place"]["seconds"]), 60)
    assert f"{minutes}:{seconds:02d}" in digested.run("search", word).out.splitlines()[0]


def test_a_spoken_word_in_a_film_is_found(digested: RunningChyme) -> None:
    found = find_one(digested, "elephant")
    assert found["path"] == "film.mp4"
    assert 0 <= found["place"]["seconds"] < 8
    assert found["place"]["speaker"] == "speaker-1"


def test_subtitles_name_both_speakers_at_their_times(digested: RunningChyme) -> None:
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


def test_a_transcript_is_printed_in_readable_lines(digested: RunningChyme) -> None:
    output = digested.run("show", "film.mp4").out
    assert any(line.strip().startswith("0:0") and "museum" in line for line in output.splitlines())
    assert '"segments"' not in output


def test_the_same_voice_in_two_files_is_one_person_and_another_is_another(digested: RunningChyme) -> None:
    (michael,) = people_of(digested, "memo.ogg").values()
    assert set(people_of(digested, "film.mp4").values()) == {michael}
    (annie,) = people_of(digested, "recipe.m4a").values()
    (german,) = people_of(digested, "wetter.ogg").values()
    assert len({michael, annie, german}) == 3
    assert people_of(digested, "dialogue.mp3") == {"speaker-1": michael, "speaker-2": annie}


def test_a_name_given_once_is_displayed_and_found_everywhere(digested: RunningChyme) -> None:
    person = people_of(digested, "memo.ogg")["speaker-1"]
    assert digested.run("people", "name", str(person), "Ada Byron").code == 0
    try:
        assert "Ada Byron: Welcome" in digested.run("show", "film.mp4", "--srt").out
        assert "<v Ada Byron>" in digested.run("show", "memo.ogg", "--vtt").out
        assert "Ada Byron: " in digested.run("show", "dialogue.mp3").out
        assert "Ada Byron" in digested.run("search", "elephant").out.splitlines()[0]
        everywhere = digested.run("search", "person:Ada", "--json").json["hits"]
        assert {hit["path"] for hit in everywhere} == {"memo.ogg", "film.mp4", "dialogue.mp3"}
        among = digested.run("search", "person:Ada piano", "--json").json["hits"]
        assert [hit["path"] for hit in among] == ["memo.ogg"]
    finally:
        digested.run("people", "undo")
    assert "Ada" not in digested.run("show", "film.mp4", "--srt").out


@pytest.mark.parametrize("path", QUIET)
def test_recordings_without_speech_have_no_text(digested: RunningChyme, path: str) -> None:
    details = show(digested, path)
    recognition = digest_of(details, "speech-recognition")
    assert (recognition["status"], recognition["content"], recognition["error"]) == ("completed", None, None)
    assert details["document"]["state"] == "completed"
    assert details["people"] == {}


@pytest.mark.parametrize("name", ["cut.mp4", "empty.mp3"])
def test_a_broken_recording_says_what_is_wrong(digested: RunningChyme, name: str) -> None:
    recognition = digest_of(show(digested, f"broken/{name}"), "speech-recognition")
    assert (recognition["status"], recognition["error_category"], recognition["attempts"]) == (
        "failed",
        "validation",
        1,
    )
    assert name in recognition["error"]


def test_a_file_that_lies_about_its_length_costs_nothing_else(digested: RunningChyme) -> None:
    recognition = digest_of(show(digested, "broken/liar.wav"), "speech-recognition")
    assert recognition["attempts"] == 1
    assert (recognition["status"], recognition["error_category"]) in (("completed", None), ("failed", "validation"))
    assert recognition["duration_ms"] < 60_000


def join_clips(path: Path, names: tuple[str, ...]) -> None:
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


def progress_of(server: Server) -> float | None:
    """The progress of the recogniser according to /api/status."""
    work = server.http.get("/api/status").json()["work"]
    return next((task["fraction"] for task in work if task["digester"] == "speech-recognition"), None)


def finished_stretches(data: bytes) -> list[bytes]:
    """The stretches that are recorded as done, oldest first."""
    return re.findall(rb'"place":\[\d+,\d+\]', data)


def test_recognition_resumes_where_chyme_was_killed(chyme: RunningChyme, tmp_path: Path) -> None:
    join_clips(tmp_path / "long.wav", ("memo.ogg", "film.mp4", "recipe.m4a", "dialogue.mp3", "memo.ogg", "film.mp4"))
    chyme.drop("long.wav", (tmp_path / "long.wav").read_bytes())
    server = chyme.serve()
    seen: list[float] = []

    def half_done() -> bool:
        seen.append(progress_of(server) or 0.0)
        return len(finished_stretches(scratch(chyme))) >= 2 and seen[-1] > 0

    wait_until(half_done)
    assert 0 < seen[-1] < 1  # progress is reported while it runs
    server.http.close()
    with suppress(ProcessLookupError):
        os.killpg(server.process.pid, signal.SIGKILL)
    server.process.wait(AMPLE)
    wait_until(lambda: chyme.alive() == [])
    left = scratch(chyme)
    assert chyme.rows("SELECT status FROM digests WHERE digester = 'speech-recognition'") == [("in-progress",)]

    server = chyme.serve()
    latest = left

    def over() -> bool:
        nonlocal latest
        latest = scratch(chyme) or latest
        return chyme.rows("SELECT status FROM digests WHERE digester = 'speech-recognition'") == [("completed",)]

    wait_until(over)
    assert server.end(signal.SIGTERM) == 0
    assert chyme.run("digest").code == 0
    assert latest.startswith(left)
    places = finished_stretches(latest)
    assert len(places) > len(finished_stretches(left))
    assert len(set(places)) == len(places)  # none was recognised twice
    assert scratch(chyme) == b""
    assert chyme.rows("SELECT attempts FROM digests WHERE digester = 'speech-recognition'") == [(1,)]
    text = json.loads(digest_of(show(chyme, "long.wav"), "speech-recognition")["content"])["text"]
    assert [text.count(word) for word in ("piano", "elephant", "onions", "telescope", "neighbor")] == [2, 2, 1, 1, 1]
    assert find_one(chyme, "onions")["place"]["seconds"] > 20


def scratch(chyme: RunningChyme) -> bytes:
    """The recogniser's stored work so far, for the only file."""
    (*found,) = (chyme.vault / ".chyme/scratch").glob("*/stretches.jsonl")
    with suppress(FileNotFoundError):
        return b"".join(path.read_bytes() for path in found)
    return b""
