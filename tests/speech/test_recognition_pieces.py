"""The speech of a recording, cut into files that are small enough to be sent."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import wave
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

import av
import numpy
import pytest
from numpy.typing import NDArray

from chyme.core.children.places import Family
from chyme.core.children.runner import Runner
from chyme.core.children.task import Task
from chyme.core.files.untrusted_files import open_untrusted, write_atomically
from chyme.digester import Digester, Runs, Source
from chyme.errors import UnreadableFile
from chyme.model import File, Kind, Limits, Output, Stamp
from chyme.speech.media.container import MediaLimits, Recording
from chyme.speech.recognition.audio_stream import RATE, read_samples
from chyme.speech.recognition.piece_index import INDEX, Piece, PreparedRecording, load_prepared
from chyme.speech.recognition.pieces import CutRules, prepare
from chyme.speech.recognition.voice_activity import SpeechSpan
from chyme.speech.voices.diarization import Window

pytestmark = pytest.mark.slow

SAMPLES = Path(__file__).resolve().parents[1] / "samples"
SPEECH = SAMPLES / "speech"
LIMITS = MediaLimits()
SMALL = CutRules(longest=30.0)
STEP = 2 / 32767  # how far a sample may be off after it was written in 16 bits

Samples = NDArray[numpy.float32]


def recording(path: Path) -> Recording:
    return Recording(path.name, "audio/x-wav", path.stat().st_size, lambda: path.open("rb"))


def samples_of(path: Path) -> Samples:
    return numpy.concatenate(list(read_samples(recording(path), LIMITS)))


def write_wav(path: Path, *parts: Samples) -> Path:
    """Write a WAV file of these parts, one after the other."""
    with wave.open(str(path), "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(RATE)
        for part in parts:
            out.writeframes((part.clip(-1, 1) * 32767).astype("<i2").tobytes())
    return path


def silence(seconds: float) -> Samples:
    return numpy.zeros(int(seconds * RATE), dtype=numpy.float32)


@pytest.fixture(scope="module")
def memo() -> Samples:
    """Some ten seconds of speech, without the silence around it."""
    return samples_of(SPEECH / "memo.ogg")[int(0.3 * RATE) :]


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    folder = tmp_path / "scratch"
    folder.mkdir()
    return folder


def check(found: PreparedRecording, scratch: Path, original: Samples, most: float) -> None:
    """Check any result: pieces contain what the index says, in order, and all speech is in exactly one of them."""
    clock = 0.0
    original = original.clip(-1.0, 1.0)
    for piece in found.pieces:
        with av.open(scratch / piece.file) as container:
            (stream,) = container.streams.audio
            assert (stream.codec_context.name, stream.rate, stream.channels) == ("flac", RATE, 1)
            decoded = numpy.concatenate([frame.to_ndarray()[0] for frame in container.decode(stream)]) / 32767
        assert piece.length <= most
        assert piece.size <= 20_000_000
        assert len(decoded) == round(piece.length * RATE)
        at = 0
        for stretch in piece.stretches:
            assert clock <= stretch.start < stretch.end
            clock = stretch.end
            begin, end = round(stretch.start * RATE), round(stretch.end * RATE)
            assert numpy.abs(decoded[at : at + end - begin] - original[begin:end]).max() < STEP
            at += end - begin
        for span in piece.spans:
            assert any(part.start - 1e-4 <= span.start and span.end <= part.end + 1e-4 for part in piece.stretches)
    spans = [time for piece in found.pieces for span in piece.spans for time in (span.start, span.end)]
    assert spans == sorted(spans)
    assert found.duration == pytest.approx(len(original) / RATE)


def test_short_speech_is_one_piece_of_flac(scratch: Path) -> None:
    path = SPEECH / "memo.ogg"
    found = prepare(recording(path), LIMITS, scratch)
    check(found, scratch, samples_of(path), 590.0)
    (piece,) = found.pieces
    assert piece.size < piece.length * RATE * 2 * 0.7
    assert load_prepared(scratch) == found
    assert sorted(os.listdir(scratch)) == [piece.file, INDEX]


@pytest.mark.parametrize("name", ["dialogue.mp3", "film.mp4", "recipe.m4a", "wetter.ogg"])
def test_every_sort_of_recording_is_cut(name: str, scratch: Path) -> None:
    found = prepare(recording(SPEECH / name), LIMITS, scratch)
    check(found, scratch, samples_of(SPEECH / name), 590.0)
    assert len(found.pieces) == 1


@pytest.mark.parametrize("name", ["speech/silence.flac", "speech/tune.mp3"])
def test_without_speech_there_is_nothing_to_send(name: str, scratch: Path) -> None:
    found = prepare(recording(SAMPLES / name), LIMITS, scratch)
    assert found.pieces == ()
    assert found.duration >= 5.0
    assert os.listdir(scratch) == [INDEX]
    assert load_prepared(scratch) == found


def test_long_silence_is_not_sent_and_short_silence_is(memo: Samples, scratch: Path, tmp_path: Path) -> None:
    seconds = len(memo) / RATE
    path = write_wav(tmp_path / "a.wav", silence(100), memo, silence(1.5), memo, silence(40), memo, silence(60))
    found = prepare(recording(path), LIMITS, scratch)
    check(found, scratch, samples_of(path), 590.0)
    (piece,) = found.pieces
    assert [round(stretch.start) for stretch in piece.stretches] == [99, round(100 + 2 * seconds + 1.5 + 40 - 1)]
    assert 3 * seconds + 1.5 < piece.length < 3 * seconds + 1.5 + 5
    apart = piece.stretches[0].end - piece.stretches[0].start
    assert piece.end_in_recording(apart) == piece.stretches[0].end
    assert piece.start_in_recording(apart) == piece.stretches[1].start
    assert piece.start_in_recording(apart + 2.0) == pytest.approx(piece.stretches[1].start + 2.0)
    assert piece.end_in_recording(10_000.0) == piece.start_in_recording(10_000.0) == piece.stretches[1].end


def test_pieces_end_at_pauses_and_are_not_too_long(memo: Samples, scratch: Path, tmp_path: Path) -> None:
    parts = [part for _ in range(9) for part in (memo, silence(1.5))]
    path = write_wav(tmp_path / "a.wav", *parts)
    found = prepare(recording(path), LIMITS, scratch, cuts=SMALL)
    check(found, scratch, samples_of(path), 30.0)
    assert [piece.file for piece in found.pieces] == [f"piece-{number:04}.flac" for number in range(1, 5)]
    original = samples_of(path)
    for piece in found.pieces[:-1]:
        assert piece.length > 20.0
        cut = round(piece.stretches[-1].end * RATE)
        assert numpy.abs(original[cut - 800 : cut + 800]).max() < 0.05 * numpy.abs(memo).max()


def test_a_piece_that_is_almost_full_ends_at_the_next_pause(memo: Samples, scratch: Path, tmp_path: Path) -> None:
    path = write_wav(tmp_path / "a.wav", *[memo, silence(1.5)] * 9)
    found = prepare(recording(path), LIMITS, scratch, cuts=CutRules(longest=30.0, late=0.7))
    check(found, scratch, samples_of(path), 30.0)
    period = len(memo) / RATE + 1.5
    assert [round(piece.stretches[0].start / period) for piece in found.pieces] == [0, 2, 4, 6, 8]


def test_speech_without_any_pause_is_cut_too(memo: Samples, scratch: Path, tmp_path: Path) -> None:
    path = write_wav(tmp_path / "a.wav", *[memo[int(0.3 * RATE) : -int(0.5 * RATE)]] * 8)
    found = prepare(recording(path), LIMITS, scratch, cuts=SMALL)
    check(found, scratch, samples_of(path), 30.0)
    assert len(found.pieces) >= 3
    covered = sum(piece.length for piece in found.pieces)
    assert covered == pytest.approx(found.duration, abs=3.0)


def test_the_noisiest_piece_stays_below_the_limit(memo: Samples, scratch: Path, tmp_path: Path) -> None:
    noise = numpy.random.default_rng(7).uniform(-0.4, 0.4, len(memo)).astype(numpy.float32)
    path = write_wav(tmp_path / "a.wav", memo * 0.6 + noise)
    (piece,) = prepare(recording(path), LIMITS, scratch).pieces
    assert piece.length > 5
    assert piece.size / piece.length * CutRules().longest < 20_000_000
    assert RATE * 2 * 1.01 * CutRules().longest < 20_000_000  # even if nothing can be made smaller


def test_existing_pieces_are_not_made_again(scratch: Path) -> None:
    path = SPEECH / "wetter.ogg"
    first = prepare(recording(path), LIMITS, scratch)
    before = {name: (scratch / name).stat().st_mtime_ns for name in os.listdir(scratch)}

    def opened() -> BinaryIO:
        raise AssertionError("the file must not be opened again")

    again = prepare(Recording("wetter.ogg", "audio/ogg", 1, opened), LIMITS, scratch)
    assert again == first
    assert {name: (scratch / name).stat().st_mtime_ns for name in os.listdir(scratch)} == before


def test_voices_are_embedded_on_the_way(memo: Samples, scratch: Path, tmp_path: Path) -> None:
    path = write_wav(tmp_path / "a.wav", silence(50), *[memo, silence(5)] * 4)
    original = samples_of(path)
    embedded: list[SpeechSpan] = []

    def embed(samples: Any, start: float, spans: Sequence[SpeechSpan]) -> list[Window]:
        assert spans[0].start == start
        begin = round(start * RATE)
        assert len(samples) == round(spans[-1].end * RATE) - begin
        assert numpy.array_equal(samples, original[begin : begin + len(samples)])
        assert len(samples) < 60 * RATE
        embedded.extend(spans)
        return [Window(span.start, span.end, (1.0,)) for span in spans]

    saved: list[Window] = []

    def save(windows: Sequence[Window]) -> None:
        assert load_prepared(scratch) is None  # the index appears only after the windows are saved
        saved.extend(windows)

    found = prepare(recording(path), LIMITS, scratch, embed, save)
    assert embedded == [span for piece in found.pieces for span in piece.spans]
    assert len(embedded) >= 4
    assert [(window.start, window.end) for window in found.windows] == [(span.start, span.end) for span in embedded]
    assert saved == list(found.windows)
    assert load_prepared(scratch) == PreparedRecording(found.duration, found.pieces)


@pytest.mark.parametrize("name", ["zero.wav", "noise.wav"])
def test_a_file_that_cannot_be_read_is_refused_and_leaves_nothing(name: str, scratch: Path, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(b"" if name == "zero.wav" else b"RIFF" + os.urandom(1000))
    with pytest.raises(UnreadableFile, match=rf"^{name}: "):
        prepare(recording(path), LIMITS, scratch)
    assert os.listdir(scratch) == []


def test_an_error_on_the_way_leaves_no_index_and_nothing_half_written(
    memo: Samples, scratch: Path, tmp_path: Path
) -> None:
    def embed(samples: Any, start: float, spans: Sequence[SpeechSpan]) -> list[Window]:
        if start > 40:
            raise UnreadableFile("enough")
        return []

    path = write_wav(tmp_path / "a.wav", *[memo, silence(1.5)] * 6)
    with pytest.raises(UnreadableFile, match="enough"):
        prepare(recording(path), LIMITS, scratch, embed, cuts=SMALL)
    assert os.listdir(scratch) == ["piece-0001.flac"]
    assert load_prepared(scratch) is None


KILLED = """
import os, signal, sys
from pathlib import Path
from chyme.speech.media.container import MediaLimits
from chyme.speech.media.container import Recording
from chyme.speech.recognition.pieces import CutRules, prepare

path, scratch = map(Path, sys.argv[1:])
def embed(samples, start, spans):
    if start > 50:
        os.kill(os.getpid(), signal.SIGKILL)
    return []
recording = Recording("a.wav", "", path.stat().st_size, lambda: path.open("rb"))
prepare(recording, MediaLimits(), scratch, embed, cuts=CutRules(30.0))
"""


def test_a_killed_attempt_starts_over(memo: Samples, scratch: Path, tmp_path: Path) -> None:
    path = write_wav(tmp_path / "a.wav", *[memo, silence(1.5)] * 6)
    killed = subprocess.run([sys.executable, "-c", KILLED, str(path), str(scratch)], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert (scratch / "piece-0001.flac").exists()
    assert any(name.endswith(".part") for name in os.listdir(scratch))
    assert load_prepared(scratch) is None
    found = prepare(recording(path), LIMITS, scratch, cuts=SMALL)
    check(found, scratch, samples_of(path), 30.0)
    assert sorted(os.listdir(scratch)) == sorted([*(piece.file for piece in found.pieces), INDEX])


FULL = """
import resource, sys
from pathlib import Path
from chyme.speech.media.container import MediaLimits
from chyme.speech.media.container import Recording
from chyme.speech.recognition.pieces import prepare

path, scratch = map(Path, sys.argv[1:])
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
try:
    prepare(Recording("a.wav", "", path.stat().st_size, lambda: path.open("rb")), MediaLimits(), scratch)
except OSError as error:
    print(error.errno)
"""


def test_a_full_disk_is_reported_as_such(scratch: Path) -> None:
    command = [sys.executable, "-c", FULL, str(SPEECH / "dialogue.mp3"), str(scratch)]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stderr == ""
    assert result.stdout.split() == [str(errno.EFBIG)]
    assert os.listdir(scratch) == []


def _damage(scratch: Path, how: str) -> None:
    index = json.loads((scratch / INDEX).read_text())
    piece = index["pieces"][0]
    file = scratch / piece["file"]
    match how:
        case "no index":
            (scratch / INDEX).unlink()
        case "torn index":
            (scratch / INDEX).write_text((scratch / INDEX).read_text()[:-5])
        case "no piece":
            file.unlink()
        case "short piece":
            os.truncate(file, 100)
        case "long piece":
            with file.open("ab") as stream:
                stream.write(b"more")
        case "linked piece":
            file.rename(scratch / "real")
            file.symlink_to(scratch / "real")
        case "two names":
            os.link(file, scratch / "real")
        case _:
            index |= {"version": 0} if how == "version" else {}
            index |= {"duration": "long"} if how == "duration" else {}
            piece |= {"stretches": [[5.0, 1.0]]} if how == "order" else {}
            piece |= {"stretches": []} if how == "empty" else {}
            piece |= {"spans": [[float("nan"), 2.0]]} if how == "nan" else {}
            if how == "elsewhere":
                (scratch.parent / file.name).write_bytes(file.read_bytes())
                piece["file"] = f"../{file.name}"
            index = [] if how == "list" else index
            write_atomically(scratch / INDEX, json.dumps(index).encode())


@pytest.mark.parametrize(
    "how",
    [
        *("no index", "torn index", "no piece", "short piece", "long piece", "linked piece", "two names"),
        *("version", "duration", "order", "empty", "nan", "elsewhere", "list"),
    ],
)
def test_a_changed_folder_is_not_believed(how: str, scratch: Path) -> None:
    prepare(recording(SPEECH / "wetter.ogg"), LIMITS, scratch)
    assert load_prepared(scratch) is not None
    _damage(scratch, how)
    assert load_prepared(scratch) is None


def test_writing_a_file_does_not_follow_a_link(scratch: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (scratch / "a.json").symlink_to(victim)
    write_atomically(scratch / "a.json", b"{}")
    assert victim.read_text() == "mine"
    assert (scratch / "a.json").read_bytes() == b"{}"
    assert os.listdir(scratch) == ["a.json"]


@pytest.mark.parametrize("what", ["pipe", "folder", "large", "nothing"])
def test_only_plain_files_of_the_expected_size_are_opened(what: str, scratch: Path) -> None:
    path = scratch / "piece-0001.flac"
    if what == "pipe":
        os.mkfifo(path)
    elif what == "folder":
        path.mkdir()
    elif what == "large":
        path.write_bytes(bytes(11))
    with pytest.raises(OSError), open_untrusted(path, 10):
        raise AssertionError("it was opened")


def test_the_clock_of_a_piece_is_that_of_the_recording_when_nothing_was_left_out() -> None:
    piece = Piece("piece-0001.flac", 1, "", (SpeechSpan(10.0, 20.0),), ())
    assert [
        piece.start_in_recording(3.0),
        piece.end_in_recording(3.0),
        piece.start_in_recording(99.0),
        piece.length,
    ] == [13.0, 13.0, 20.0, 10.0]


MEASURED = """
import sys, tempfile
from pathlib import Path
from chyme.speech.media.container import MediaLimits
from chyme.speech.media.container import Recording
from chyme.speech.recognition.pieces import prepare

path = Path(sys.argv[1])
with tempfile.TemporaryDirectory() as scratch:
    prepare(Recording("a.wav", "", path.stat().st_size, lambda: path.open("rb")), MediaLimits(), Path(scratch))
print(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0])
"""


def test_a_long_recording_takes_no_more_memory_than_a_short_one(memo: Samples, tmp_path: Path) -> None:
    def peak(*parts: Samples) -> int:
        path = write_wav(tmp_path / "a.wav", *parts)
        result = subprocess.run([sys.executable, "-c", MEASURED, str(path)], capture_output=True, text=True, check=True)
        return int(result.stdout)

    short = peak(*[memo, silence(1)] * 6)
    assert peak(*[memo, silence(1)] * 66, silence(600), *[memo] * 20) - short < 16 << 10  # kilobytes


class Prepares(Digester):
    """Prepares as speech-recognition does in a child, whose working folder is the scratch folder."""

    name = "prepares"
    label = description = ""
    runs = Runs(family="media")

    def can_digest(self, file: File) -> bool:
        return True

    def digest(self, source: Source) -> list[Output]:
        file = source.file
        found = prepare(Recording(file.name, file.mime, file.size, source.open), LIMITS, source.scratch)
        return [Output(self.name, str(len(found.pieces)))]


def in_child(_config: dict[str, object]) -> dict[str, Digester]:
    """What the child of this test loads."""
    return {Prepares.name: Prepares()}


def test_pieces_prepared_by_a_child_can_be_sent_by_its_parent(scratch: Path) -> None:
    path = SPEECH / "dialogue.mp3"
    size = path.stat().st_size
    file = File(1, path.name, path.name, Kind.AUDIO, "audio/mpeg", Stamp("1", "1", size, 0), "", 1)
    families = {"media": Family(count=1, memory_bytes=600 << 20)}
    runner = Runner("test_recognition_pieces:in_child", {}, families, import_from=[Path(__file__).parent])
    fd = os.open(path, os.O_RDONLY)
    try:
        for _ in range(2):
            task = Task(Prepares.name, file, fd, (), scratch)
            (output,) = runner.run(task, "media", Limits(60, 60, 600 << 20))
            assert output.content == "1"
    finally:
        os.close(fd)
        runner.close()
    found = load_prepared(scratch)
    assert found is not None
    check(found, scratch, samples_of(path), 590.0)
    write_atomically(scratch / "answer.json", b"{}")
