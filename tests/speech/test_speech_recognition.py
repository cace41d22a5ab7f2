"""The digester that transcribes speech."""

# Set CHYME_WEIGHTS_DIR where the weights are not beside Python.

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from disk_source import DiskSource, file_of, source_of
from upstreams import upstream

from chyme.core.children.places import Family
from chyme.core.children.runner import Runner
from chyme.core.children.task import Task
from chyme.digester import Digester
from chyme.errors import DigestError, EngineUnavailable, UnreadableFile
from chyme.model import Kind, Limits, Output, Segment, Stamp, Transcript, Turn, Upstream, Voice, Word
from chyme.models.weights.catalog import SPEECH as WEIGHTS
from chyme.models.weights.folder import path_of
from chyme.speech.media.container import MediaLimits
from chyme.speech.media_preview import MediaPreview
from chyme.speech.recognition.settings import SpeechSettings
from chyme.speech.speech_recognition import SpeechRecognition, build_output
from chyme.speech.transcripts.json_format import from_json
from chyme.speech.voices.encoder import load
from chyme.speech.voices.json_format import from_json as voices_from_json

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "tests" / "samples"
SPEECH, MEDIA = SAMPLES / "speech", SAMPLES / "media"
CORPUS = ROOT / "../shared/corpus"
MEGABYTE = 1 << 20
MEMORY = 2048 * MEGABYTE
SETTINGS = SpeechSettings(threads=2, weights_dir=os.environ.get("CHYME_WEIGHTS_DIR", ""))
needs_weights = pytest.mark.skipif(
    path_of(WEIGHTS, SETTINGS.weights_dir) is None, reason="needs the weights of Whisper: chyme weights speech"
)


@cache
def tells_voices_apart() -> bool:
    try:
        load(SETTINGS.weights_dir)
    except EngineUnavailable:
        return False
    return True


def in_child(_config: dict[str, object]) -> dict[str, Digester]:
    """What the children of these tests load."""
    return {SpeechRecognition.name: SpeechRecognition(SETTINGS)}


def previewed(path: Path) -> Upstream:
    """The file's preview as its reader sees it."""
    (preview,) = MediaPreview().digest(source_of(path))
    return upstream(preview.name, preview.content)


def source(path: Path, scratch: Path, **fields: Any) -> DiskSource:
    """The file and its preview; with `fields`, a preview that contains only these."""
    preview = upstream("media-preview", json.dumps(fields)) if fields else previewed(path)
    return replace(source_of(path, scratch), inputs={"media-preview": preview})


def content_of(outputs: list[Output]) -> dict[str, Any]:
    (output,) = outputs
    assert output.name == "speech-recognition"
    content: dict[str, Any] = json.loads(output.content or "")
    return content


def test_only_audio_and_video_are_digested(tmp_path: Path) -> None:
    file = source_of(SPEECH / "memo.ogg", tmp_path).file
    kinds = [kind for kind in Kind if SpeechRecognition().can_digest(replace(file, kind=kind))]
    assert kinds == [Kind.AUDIO, Kind.VIDEO]


@needs_weights
def test_weights_that_appear_make_another_recipe_so_that_digests_waiting_for_them_run(tmp_path: Path) -> None:
    without = SpeechRecognition(replace(SETTINGS, weights_dir=str(tmp_path)))
    assert without.recipe != SpeechRecognition(SETTINGS).recipe
    assert SpeechRecognition(replace(SETTINGS, threads=7)).recipe == SpeechRecognition(SETTINGS).recipe


def test_time_grows_with_how_long_it_plays(tmp_path: Path) -> None:
    digester = SpeechRecognition(SpeechSettings(seconds=60, pace=2.0), MediaLimits(sound_hours=2))
    memo = SPEECH / "memo.ogg"
    assert digester.time_limit(source(memo, tmp_path, duration=500.5, audio={})) == 60 + 1001
    assert digester.time_limit(source(memo, tmp_path, duration=1e9, audio={})) == 60 + 2 * 7200
    unknown = source_of(memo, tmp_path)
    large = replace(unknown, file=replace(unknown.file, stamp=Stamp("1", "1", 4_000_000, 0)))
    assert digester.time_limit(large) == 60 + 2 * 1000


def test_speakers_and_subtitles_are_made_the_same_way_for_every_recogniser() -> None:
    words = tuple(Word(word, at, at + 0.8, 0.9) for at, word in enumerate(("Hello.", "Who", "is", "there?")))
    transcript = Transcript("en", "some model", 4.0, (Segment(0.0, 3.8, "Hello. Who is there?", None, words),))
    turns = [Turn(0.0, 0.9, "speaker-1"), Turn(0.9, 4.0, "speaker-2")]
    voices = [Voice("speaker-1", 0.9, "m", (1.0, 0.0)), Voice("speaker-3", 0.5, "m", (0.0, 1.0))]
    made = build_output(transcript, turns, voices)
    content = content_of([made])
    assert [(row["speaker"], row["text"]) for row in content["segments"]] == [
        ("speaker-1", "Hello."),
        ("speaker-2", "Who is there?"),
    ]
    files = {artifact.filename: artifact.data for artifact in made.artifacts}
    assert list(files) == ["voices.json", "subtitles.srt", "subtitles.vtt"]
    assert [voice.speaker for voice in voices_from_json(files["voices.json"])] == ["speaker-1"]
    assert "<v Speaker 2>Who is there?" in files["subtitles.vtt"].decode()
    assert build_output(replace(transcript, segments=()), turns, voices) == Output("speech-recognition", None)


def test_a_film_without_sound_has_no_content_and_is_not_even_opened(tmp_path: Path) -> None:
    silent = replace(source(MEDIA / "turned.mp4", tmp_path), path=tmp_path / "nowhere")
    assert SpeechRecognition(SETTINGS).digest(silent) == [Output("speech-recognition", None)]


@pytest.mark.parametrize("path", [SPEECH / "silence.flac", SPEECH / "tune.mp3", MEDIA / "song.ogg", MEDIA / "mill.mp4"])
def test_silence_and_music_have_no_content(path: Path, tmp_path: Path) -> None:
    assert SpeechRecognition(SETTINGS).digest(source(path, tmp_path)) == [Output("speech-recognition", None)]


def test_without_the_weights_it_says_how_to_get_them(tmp_path: Path) -> None:
    without = SpeechRecognition(replace(SETTINGS, weights_dir=str(tmp_path)))
    with pytest.raises(EngineUnavailable, match=r"^memo\.ogg: .* run 'chyme weights speech'"):
        without.digest(source(SPEECH / "memo.ogg", tmp_path))


def test_a_broken_file_is_refused(tmp_path: Path) -> None:
    broken = tmp_path / "broken.m4a"
    broken.write_bytes((SPEECH / "recipe.m4a").read_bytes()[:2000])
    with pytest.raises(UnreadableFile, match=r"^broken\.m4a: .*; "):
        SpeechRecognition(SETTINGS).digest(replace(source_of(broken, tmp_path)))


@needs_weights
def test_a_film_comes_out_as_compact_json_with_subtitles(tmp_path: Path) -> None:
    film = source(SPEECH / "film.mp4", tmp_path)
    (made,) = SpeechRecognition(SETTINGS).digest(film)
    assert made.content is not None
    assert '": ' not in made.content
    content = content_of([made])
    fields = ["text", "language", "model", "duration", "segments", "speakers"]
    assert list(content) == (fields if tells_voices_apart() else [*fields, "note"])
    assert content["text"].splitlines() == [
        "Welcome to the museum.",
        "In this room you can see a large wooden elephant.",
        "It was built by hand a very long time ago.",
    ]
    assert (content["language"], content["model"]) == ("en", "whisper-base")
    assert content["duration"] == pytest.approx(9.66, abs=0.1)
    words = content["segments"][0]["words"]
    assert [word["word"] for word in words] == ["Welcome", "to", "the", "museum."]
    assert [artifact.filename for artifact in made.artifacts][-2:] == ["subtitles.srt", "subtitles.vtt"]
    assert film.heard == sorted(film.heard)
    assert film.heard[-1] > 0.9
    segments = from_json(made.content).segments
    assert all(0 <= segment.start < segment.end <= content["duration"] for segment in segments)
    assert all(before.end <= after.start for before, after in pairwise(segments))


@needs_weights
def test_without_the_weights_for_voices_there_is_a_transcript_all_the_same(tmp_path: Path) -> None:
    weights = path_of(WEIGHTS, SETTINGS.weights_dir)
    assert weights is not None
    (tmp_path / "weights").mkdir()
    (tmp_path / "weights" / "speech").symlink_to(weights)
    digester = SpeechRecognition(replace(SETTINGS, weights_dir=str(tmp_path / "weights")))
    (made,) = digester.digest(source(SPEECH / "memo.ogg", tmp_path))
    content = content_of([made])
    assert "Thursday" in content["text"]
    assert {segment["speaker"] for segment in content["segments"]} == {None}
    assert "'chyme weights voices', then 'chyme reset --digester speech-recognition'" in content["note"]
    assert [artifact.filename for artifact in made.artifacts] == ["subtitles.srt", "subtitles.vtt"]


@needs_weights
def test_two_people_are_told_apart(tmp_path: Path) -> None:
    if not tells_voices_apart():
        pytest.skip("needs the weights that tell voices apart: chyme weights voices")
    (made,) = SpeechRecognition(SETTINGS).digest(source(SPEECH / "dialogue.mp3", tmp_path))
    content = content_of([made])
    assert [speaker["speaker"] for speaker in content["speakers"]] == ["speaker-1", "speaker-2"]
    speakers = {segment["text"]: segment["speaker"] for segment in content["segments"]}
    assert speakers["Did you find the old telescope in the cellar?"] == "speaker-1"
    assert speakers["It was standing behind two bicycles under a blanket."] == "speaker-2"
    assert speakers["Then we can look at the moon tonight."] == "speaker-1"
    assert speakers["I hope the weather stays clear."] == "speaker-2"
    voices = voices_from_json(made.artifacts[0].data)
    assert [voice.speaker for voice in voices] == ["speaker-1", "speaker-2"]


# In a real child

Ask = Callable[[Path], list[Output]]


@pytest.fixture
def runner() -> Iterator[Runner]:
    families = {"speech": Family(count=1, memory_bytes=MEMORY)}
    beside = [Path(__file__).parent, Path(__file__).parents[1] / "support"]
    runner = Runner("test_speech_recognition:in_child", {}, families, import_from=beside)
    yield runner
    runner.close()


@pytest.fixture
def ask(runner: Runner, tmp_path: Path) -> Ask:
    def ask(path: Path) -> list[Output]:
        scratch = tmp_path / f"scratch-{len(list(tmp_path.iterdir()))}"
        scratch.mkdir()
        try:
            inputs: tuple[Upstream, ...] = (previewed(path),)
        except DigestError:
            inputs = ()
        fd = os.open(path, os.O_RDONLY)
        try:
            task = Task("speech-recognition", file_of(path), fd, inputs, scratch)
            return runner.run(task, "speech", Limits(120, 240, MEMORY))
        finally:
            os.close(fd)

    return ask


@needs_weights
def test_a_child_hears_every_sample_without_dying(ask: Ask, runner: Runner) -> None:
    for line in (SPEECH / "transcripts.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        name, language, text = line.split("\t")
        content = content_of(ask(SPEECH / name))
        assert content["language"] == language
        assert _plain(content["text"]) == _plain(text)
    assert runner.snapshot().restarts == 0


@needs_weights
@pytest.mark.skipif(not CORPUS.is_dir(), reason=f"the shared corpus is not at {CORPUS}")
def test_every_recording_of_the_corpus_is_heard_or_refused_with_a_reason(ask: Ask, runner: Runner) -> None:
    paths = [path for folder in ("audio", "video", "speech", "hostile") for path in sorted((CORPUS / folder).iterdir())]
    found: dict[str, str | None] = {}
    for path in paths:
        if not SpeechRecognition().can_digest(file_of(path)):
            continue
        try:
            (made,) = ask(path)
            found[path.name] = json.loads(made.content)["text"] if made.content else None
        except UnreadableFile as error:
            assert re.fullmatch(rf"{re.escape(path.name)}: .+; .+", str(error))
            found[path.name] = "refused"
    assert runner.snapshot().restarts == 0
    assert {name for name, text in found.items() if text == "refused"} == REFUSED
    spoken = {name: text for name, text in found.items() if text and text != "refused"}
    assert set(spoken) == SPOKEN
    assert "Shakespeare" in spoken["docling__sample_10s.mp3"]
    assert "수업" in spoken["tika__ko-KR_(We_Are_Having_Class_x2).mp3"]
    assert "New Jersey" in spoken["two_speakers.wav"]


REFUSED = {
    "mutagen__106-invalid-streaminfo.flac",
    "mutagen__mac-390-hdr.ape",  # a header and no sound
    "mutagen__too-short.mp3",
    "tika__testMP4_drm.m4a",  # sold by a shop that locked it
    "zero.mp3",
    "zero.mp4",
}
SPOKEN = {
    *("docling__sample_10s.mp3", "docling__sample_10s_audio-aac.aac", "docling__sample_10s_audio-mpeg.mp3"),
    *("docling__sample_10s_audio-ogg.ogg", "docling__sample_10s_audio-x-flac.flac"),
    "docling__sample_10s_video-quicktime.mov",
    "doctor__ander_v._leo.mp3",  # a song with words
    *("markitdown__test.m4a", "markitdown__test.mp3"),
    *("tika__en-AU_(A_Little_Bottle_Of_Water).mp3", "tika__ko-KR_(We_Are_Having_Class_x2).mp3"),
    "tika__ko-KR_(Annyeonghaseyo).mp4",
    *("jfk.wav", "two_speakers.wav"),
    *(f"sense_and_sensibility_01_austen_64kb-0{number}.wav" for number in (870, 890, 920)),
}


def _plain(text: str) -> list[str]:
    return re.sub(r"[^\w' ]", " ", text.lower()).split()
