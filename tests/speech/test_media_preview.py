"""The digester that looks and listens into audio and video."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import av
import pytest
from disk_source import file_of, source_of

from chyme.core.children.places import Family
from chyme.core.children.runner import Runner
from chyme.core.children.task import Task
from chyme.digester import Digester
from chyme.errors import DigestError, UnreadableFile
from chyme.model import Kind, Limits, Output, Stamp
from chyme.speech.media.container import MediaLimits
from chyme.speech.media_preview import MediaPreview

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "tests" / "samples" / "media"
CORPUS = ROOT / "../shared/corpus"
MEGABYTE = 1 << 20

BESIDE = [Path(__file__).parent, Path(__file__).parents[1] / "support"]  # what children import


def in_child(_config: dict[str, object]) -> dict[str, Digester]:
    """What the children of these tests load."""
    return {MediaPreview.name: MediaPreview()}


def content_of(outputs: list[Output]) -> dict[str, Any]:
    (output,) = outputs
    assert output.name == "media-preview"
    content: dict[str, Any] = json.loads(output.content or "")
    return content


def test_only_audio_and_video_are_digested(tmp_path: Path) -> None:
    file = source_of(SAMPLES / "song.mp3", tmp_path).file
    assert [kind for kind in Kind if MediaPreview().can_digest(replace(file, kind=kind))] == [Kind.AUDIO, Kind.VIDEO]


def test_a_song_and_a_film_come_out_as_compact_json_with_their_pictures(tmp_path: Path) -> None:
    (song,) = MediaPreview().digest(source_of(SAMPLES / "cover.mp3", tmp_path))
    assert song.content is not None
    assert "Überfahrt" in song.content
    assert ", " not in song.content
    assert [artifact.filename for artifact in song.artifacts] == ["cover.jpg", "thumbnail.jpg"]
    (film,) = MediaPreview().digest(source_of(SAMPLES / "mill.mp4", tmp_path))
    assert [artifact.filename for artifact in film.artifacts] == ["poster.jpg", "thumbnail.jpg"]
    content = content_of([film])
    assert list(content) == [
        *("duration", "container", "video", "audio", "tags", "chapters"),
        *("peaks", "silent", "loudest", "poster", "poster_second"),
    ]
    assert len(content["peaks"]) <= 1000
    assert all(0 <= peak <= 100 for peak in content["peaks"])


def test_the_place_of_a_film_is_kept_only_when_wanted(tmp_path: Path) -> None:
    path = tmp_path / "here.mov"
    with av.open(SAMPLES / "mill.mp4") as film, av.open(path, "w", format="mov") as copy:
        copy.metadata["location"] = "+54.1000+012.1000/"
        (stream,) = film.streams.video
        copied = copy.add_stream_from_template(stream)
        for packet in film.demux(stream):
            if packet.dts is not None:
                packet.stream = copied
                copy.mux(packet)
    source = source_of(path, tmp_path)
    assert content_of(MediaPreview().digest(source))["place"] == {"latitude": 54.1, "longitude": 12.1}
    assert "54.1" not in (MediaPreview(tell_place=False).digest(source)[0].content or "")


def test_time_grows_with_the_file(tmp_path: Path) -> None:
    source = source_of(SAMPLES / "song.mp3", tmp_path)
    large = replace(source, file=replace(source.file, stamp=Stamp("1", "1", 3000 * MEGABYTE, 0)))
    assert MediaPreview(seconds=60).time_limit(large) == 60 + 3000
    assert 60 < MediaPreview(seconds=60).time_limit(source) < 61


def test_limits_come_by_the_constructor_and_count_in_the_recipe(tmp_path: Path) -> None:
    small = MediaPreview(MediaLimits(video_pixels=100))
    (output,) = small.digest(source_of(SAMPLES / "mill.mp4", tmp_path))
    assert "video_pixels" in content_of([output])["note"]
    assert small.recipe != MediaPreview().recipe


def test_progress_is_reported_on_the_way(tmp_path: Path) -> None:
    long = tmp_path / "long.wav"
    data = (SAMPLES / "song.wav").read_bytes()
    at = data.index(b"data")
    sound = data[at + 8 :] * 150
    long.write_bytes(data[: at + 4] + len(sound).to_bytes(4, "little") + sound)
    source = source_of(long, tmp_path)
    MediaPreview().digest(source)
    assert source.heard
    assert source.heard == sorted(source.heard)


def test_the_parent_process_loads_no_decoder() -> None:
    code = (
        "import sys; from chyme.speech.media_preview import MediaPreview; MediaPreview().recipe;"
        "print([name for name in ('av', 'numpy', 'PIL') if name in sys.modules])"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert output.strip() == "[]"


# In a real child


Ask = Callable[[Path], list[Output]]


@pytest.fixture
def runner() -> Iterator[Runner]:
    families = {"media": Family(count=1, memory_bytes=600 * MEGABYTE)}
    runner = Runner(
        "test_media_preview:in_child",
        {},
        families,
        import_from=BESIDE,
    )
    yield runner
    runner.close()


@pytest.fixture
def ask(runner: Runner, tmp_path: Path) -> Ask:
    def ask(path: Path) -> list[Output]:
        scratch = tmp_path / f"scratch-{len(list(tmp_path.iterdir()))}"
        scratch.mkdir()
        fd = os.open(path, os.O_RDONLY)
        try:
            task = Task("media-preview", file_of(path), fd, (), scratch)
            return runner.run(task, "media", Limits(60, 60, 600 * MEGABYTE))
        finally:
            os.close(fd)
            assert list(scratch.iterdir()) == []

    return ask


def test_a_child_reads_every_sample_without_dying(ask: Ask, runner: Runner) -> None:
    for path in sorted(SAMPLES.iterdir()):
        assert content_of(ask(path))["duration"] > 0
    assert runner.snapshot().restarts == 0


def test_a_huge_cover_costs_a_child_no_memory(ask: Ask, runner: Runner) -> None:
    ask(SAMPLES / "cover.mp3")
    before = runner.snapshot().children[0].peak_bytes
    ask(SAMPLES / "huge_cover.mp3")
    assert runner.snapshot().children[0].peak_bytes - before < 20 * MEGABYTE


def test_long_sound_takes_a_child_no_more_memory_than_short(ask: Ask, runner: Runner, tmp_path: Path) -> None:
    data = (SAMPLES / "song.mp3").read_bytes()
    start = data.index(b"\xff", data.index(b"Recorded"))
    minute, long = tmp_path / "minute.mp3", tmp_path / "long.mp3"
    minute.write_bytes(data[start:] * 30)
    long.write_bytes(data[start:] * 30 * 20)
    assert content_of(ask(minute))["duration"] > 50
    before = runner.snapshot().children[0].peak_bytes
    assert content_of(ask(long))["duration"] > 1000
    assert runner.snapshot().children[0].peak_bytes - before < 8 * MEGABYTE


BROKEN = {
    "audio/mutagen__106-invalid-streaminfo.flac",  # the block that describes the sound is broken
    "audio/mutagen__too-short.mp3",  # tags, and not one whole frame of sound
    "hostile/zero.mp3",
    "hostile/zero.mp4",
}


@pytest.mark.skipif(not CORPUS.is_dir(), reason=f"the shared corpus is not at {CORPUS}")
def test_every_recording_of_the_corpus_is_read_or_refused_with_a_reason(ask: Ask, runner: Runner) -> None:
    paths = [path for folder in ("audio", "video", "speech", "hostile") for path in sorted((CORPUS / folder).iterdir())]
    paths = [path for path in paths if MediaPreview().can_digest(file_of(path))]
    assert len(paths) > 35
    refused = set()
    for path in paths:
        before = hashlib.sha256(path.read_bytes()).digest()
        try:
            assert content_of(ask(path))["duration"] > 0
        except DigestError as error:
            assert isinstance(error, UnreadableFile)
            assert str(error).startswith(f"{path.name}: ")
            assert "; " in str(error)
            refused.add(f"{path.parent.name}/{path.name}")
        assert hashlib.sha256(path.read_bytes()).digest() == before
    assert refused == BROKEN
    assert runner.snapshot().restarts == 0
