"""Embedded speech recognition: cutting into stretches, filtering hallucinations, checkpoints, and real speech."""

# Set CHYME_WEIGHTS_DIR where the weights are not beside Python.

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import av
import numpy as np
import pytest
from numpy.typing import NDArray

from chyme.errors import EngineUnavailable
from chyme.models.weights.catalog import SPEECH as WEIGHTS
from chyme.models.weights.folder import folder_of, path_of
from chyme.speech.media.container import MediaLimits, Recording
from chyme.speech.recognition.audio_stream import RATE, read_samples
from chyme.speech.recognition.checkpoints import NAME, ChunkCheckpoints, ChunkResult
from chyme.speech.recognition.hallucination_filter import WhisperResult, WhisperWord, filter_hallucinations, is_doubtful
from chyme.speech.recognition.local_recogniser import RecognitionResult, VoiceEmbedder, recognise
from chyme.speech.recognition.settings import SpeechSettings
from chyme.speech.recognition.speech_chunks import LENGTH, SpeechChunk, SpeechChunker
from chyme.speech.recognition.voice_activity import ActivityRules, SpeechSpan
from chyme.speech.recognition.whisper import load_for_settings
from chyme.speech.voices.diarization import Window

pytestmark = pytest.mark.slow

Samples = NDArray[np.float32]

SPEECH = Path(__file__).resolve().parents[1] / "samples" / "speech"
SETTINGS = SpeechSettings(threads=2, weights_dir=os.environ.get("CHYME_WEIGHTS_DIR", ""))
WITHOUT = replace(SETTINGS, weights_dir="/nonexistent")
LIMITS = MediaLimits()
needs_weights = pytest.mark.skipif(
    path_of(WEIGHTS, SETTINGS.weights_dir) is None, reason="needs the weights of Whisper: chyme weights speech"
)


def recording(name: str | Path) -> Recording:
    path = SPEECH / name
    return Recording(path.name, "", path.stat().st_size, lambda: path.open("rb"))


def truth() -> dict[str, tuple[str, str]]:
    rows = [line.split("\t") for line in (SPEECH / "transcripts.tsv").read_text(encoding="utf-8").splitlines()[1:]]
    return {name: (language, text) for name, language, text in rows}


def plain(text: str) -> list[str]:
    return re.sub(r"[^\w' ]", " ", text.lower().replace("mr.", "mister")).split()


def errors(expected: Sequence[str], recognised: Sequence[str]) -> int:
    """How many words are wrong, missing or too many."""
    row = list(range(len(recognised) + 1))
    for at, word in enumerate(expected, 1):
        before, row[0] = row[:], at
        for column, other in enumerate(recognised, 1):
            row[column] = min(before[column] + 1, row[column - 1] + 1, before[column - 1] + (word != other))
    return row[-1]


def text_of(found: RecognitionResult) -> str:
    return "".join(word.text for word in found.words).strip()


# Stretches


def speaking(*seconds: tuple[float, float], length: float) -> Iterator[Samples]:
    """Real speech from one of the samples, placed at these seconds; in pieces of a second."""
    voice = np.concatenate(list(read_samples(recording("memo.ogg"), LIMITS)))[RATE // 2 :]
    track = np.zeros(round(length * RATE), np.float32)
    for start, end in seconds:
        count = round((end - start) * RATE)
        track[round(start * RATE) : round(start * RATE) + count] = np.resize(voice[: 3 * RATE], count)
    return (track[at : at + RATE] for at in range(0, len(track), RATE))


def test_a_long_pause_ends_a_stretch_and_a_short_one_does_not() -> None:
    cut = list(SpeechChunker().cut(speaking((1, 3), (4, 6), (12, 14), length=20)))
    assert [round(stretch.start) for stretch in cut] == [1, 12]
    assert [len(stretch.spans) for stretch in cut] == [2, 1]
    assert all(len(stretch.samples) == pytest.approx((stretch.end - stretch.start) * RATE, abs=2) for stretch in cut)


def test_stretches_are_cut_at_the_widest_pause_before_they_get_too_long() -> None:
    cut = list(SpeechChunker().cut(speaking((0, 5), (6, 11), (12.7, 17), (18, 23), length=25)))
    assert [round(stretch.start) for stretch in cut] == [0, 12]
    assert all(stretch.end - stretch.start <= LENGTH for stretch in cut)


def test_speech_without_a_pause_is_cut_all_the_same() -> None:
    rules = ActivityRules(longest=8.0)
    cut = list(SpeechChunker(rules).cut(speaking((0, 50), length=50)))
    assert len(cut) > 2
    assert all(stretch.end - stretch.start <= LENGTH for stretch in cut)
    assert all(before.end <= after.start for before, after in pairwise(cut))


def test_the_samples_of_a_stretch_are_those_of_its_time() -> None:
    pieces = list(read_samples(recording("dialogue.mp3"), LIMITS))
    whole = np.concatenate(pieces)
    stretches = SpeechChunker()
    for stretch in stretches.cut(pieces):
        begin, end = stretch.place
        assert np.array_equal(stretch.samples, whole[begin:end])
    assert stretches.seconds == len(whole) / RATE


def test_hours_of_silence_are_not_kept_in_memory() -> None:
    stretches = SpeechChunker()
    quiet = np.zeros(10 * RATE, np.float32)
    assert list(stretches.cut(quiet for _ in range(360))) == []
    assert stretches._buffer.end - stretches._buffer.start < 30 * RATE


# Which results are believed


def whisper_result(
    text: str, seconds: float = 5.0, likely: float = -0.2, no_speech: float = 0.1, sure: float = 0.9
) -> WhisperResult:
    words = [" " + word for word in text.split()]
    step = seconds / max(1, len(words))
    spoken = tuple(WhisperWord(word, at * step, (at + 1) * step, sure) for at, word in enumerate(words))
    return WhisperResult(text, seconds, likely, no_speech, spoken)


def believed_text(result: WhisperResult) -> str:
    return "".join(word.text for word in filter_hallucinations(result)).strip()


def test_clear_speech_is_believed() -> None:
    for text in (
        "Thank you.",
        "No, no, no, that is not it.",
        "今天天气很好",
        "Ask not what your country can do for you.",
    ):
        assert believed_text(whisper_result(text)) == " ".join(text.split())
        assert not is_doubtful(whisper_result(text))


def test_guesses_are_not_believed() -> None:
    assert believed_text(whisper_result("we are ready now", likely=-1.1)) == ""
    assert believed_text(whisper_result("we are ready now", likely=-0.7, no_speech=0.7)) == ""
    assert believed_text(whisper_result("we are ready now", sure=0.2)) == ""
    assert believed_text(whisper_result("", likely=-0.1)) == ""


def test_phrases_the_model_invents_in_silence_must_be_clear_to_be_believed() -> None:
    assert believed_text(whisper_result("Thank you.", likely=-0.65)) == ""
    assert believed_text(whisper_result(" Thanks for watching!", no_speech=0.4)) == ""
    assert believed_text(whisper_result("ご視聴ありがとうございました", likely=-0.65)) == ""
    assert believed_text(whisper_result("We met the ambassador.", likely=-0.65, no_speech=0.4)) != ""


def test_loops_are_written_once_or_not_at_all() -> None:
    loop = whisper_result("I went home early. " + "And so we are here again. " * 20, 25.0)
    assert is_doubtful(loop)
    assert believed_text(loop) == "I went home early. And so we are here again."
    assert believed_text(whisper_result("b" * 30)) == believed_text(whisper_result("12" + ".00" * 9)) == ""
    assert believed_text(whisper_result("안녕하세요 " * 4, 0.9)) == "안녕하세요"
    assert is_doubtful(whisper_result("This is far more than anybody could ever say in so short a time.", 1.0))


# Checkpoints

DONE = ChunkResult(
    (WhisperWord(" Hello", 1.0, 1.5, 0.9), WhisperWord(" you.", 1.5, 2.0, 0.8)),
    (Window(1.0, 2.0, array("f", (0.25, -0.5))),),
)


def test_finished_stretches_are_found_again(tmp_path: Path) -> None:
    checkpoints = ChunkCheckpoints(tmp_path, "some model")
    checkpoints.save_language("de")
    checkpoints.add((16_000, 32_000), DONE)
    checkpoints.add((48_000, 64_000), ChunkResult((), ()))
    again = ChunkCheckpoints(tmp_path, "some model")
    assert again.language == "de"
    assert again.get((16_000, 32_000)) == DONE
    assert again.get((48_000, 64_000)) == ChunkResult((), ())
    assert again.get((16_000, 32_001)) is None


def test_windows_of_another_model_are_not_used(tmp_path: Path) -> None:
    ChunkCheckpoints(tmp_path, None).add((0, 16_000), ChunkResult(DONE.words, ()))
    assert ChunkCheckpoints(tmp_path, "some model").get((0, 16_000)) is None


def test_a_torn_line_costs_only_itself(tmp_path: Path) -> None:
    checkpoints = ChunkCheckpoints(tmp_path, "some model")
    checkpoints.add((0, 100), DONE)
    checkpoints.add((200, 300), DONE)
    whole = (tmp_path / NAME).read_bytes()
    for length in range(0, len(whole), 7):
        (tmp_path / NAME).write_bytes(whole[:length])
        after = ChunkCheckpoints(tmp_path, "some model")
        after.add((400, 500), DONE)
        again = ChunkCheckpoints(tmp_path, "some model")
        assert again.get((400, 500)) == DONE
        assert again.get((0, 100)) in (DONE, None)
        assert (again.get((0, 100)) is None) == (length < whole.index(b"\n", 1))
        assert again.get((200, 300)) is None


def test_checkpoints_changed_on_disk_are_not_believed(tmp_path: Path) -> None:
    ChunkCheckpoints(tmp_path, "some model").add((0, 100), DONE)
    path = tmp_path / NAME
    whole = path.read_bytes()
    for at in range(0, len(whole), 5):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        assert ChunkCheckpoints(tmp_path, "some model").get((0, 100)) in (None, DONE)
    path.write_bytes(whole.replace(b"Hello", b"Hallo"))
    assert ChunkCheckpoints(tmp_path, "some model").get((0, 100)) is None
    path.write_bytes(bytes(1000))
    assert ChunkCheckpoints(tmp_path, "some model").get((0, 100)) is None


# Settings


def test_the_recipe_names_model_and_language_without_loading_anything(tmp_path: Path) -> None:
    assert "whisper-base d01c3014881c9c6f" in SETTINGS.fingerprint
    assert replace(SETTINGS, language="de").fingerprint != SETTINGS.fingerprint
    assert replace(SETTINGS, threads=1).fingerprint == SETTINGS.fingerprint
    other = replace(SETTINGS, model_dir=str(tmp_path))
    assert other.model == tmp_path.name
    empty = other.fingerprint
    (tmp_path / "model.bin").write_bytes(b"numbers")
    assert other.fingerprint != empty
    code = (
        "import sys; from chyme.speech.speech_recognition import SpeechRecognition; SpeechRecognition().recipe;"
        "print([name for name in ('av', 'numpy', 'onnxruntime', 'faster_whisper') if name in sys.modules])"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert output.strip() == "[]"


def test_missing_weights_are_reported_with_the_way_to_get_them(tmp_path: Path) -> None:
    with pytest.raises(EngineUnavailable, match="chyme weights speech"):
        recognise(recording("memo.ogg"), LIMITS, WITHOUT, tmp_path)


def test_a_file_without_speech_needs_no_weights(tmp_path: Path) -> None:
    for name in ("silence.flac", "tune.mp3"):
        found = recognise(recording(name), LIMITS, WITHOUT, tmp_path)
        assert (found.words, found.language) == ((), None)
        assert found.seconds > 4


def test_a_folder_without_a_model_is_reported(tmp_path: Path) -> None:
    settings = replace(SETTINGS, model_dir=str(tmp_path))
    with pytest.raises(EngineUnavailable, match=r"no model\.bin in .*; set speech_dir"):
        load_for_settings(settings)
    for name in ("model.bin", "config.json", "tokenizer.json"):
        (tmp_path / name).write_bytes(b"{}")
    with pytest.raises(EngineUnavailable, match=r"cannot be loaded \(.*set speech_dir"):
        load_for_settings(settings)


@needs_weights
def test_damaged_weights_are_not_loaded(tmp_path: Path) -> None:
    shutil.copytree(folder_of(WEIGHTS, SETTINGS.weights_dir), tmp_path / "speech")
    with (tmp_path / "speech" / "model.bin").open("r+b") as numbers:
        numbers.seek(1_000_000)
        numbers.write(b"changed")
    with pytest.raises(EngineUnavailable, match="another hash"):
        load_for_settings(replace(SETTINGS, weights_dir=str(tmp_path)))


@needs_weights
def test_an_unknown_language_is_reported() -> None:
    with pytest.raises(EngineUnavailable, match="'klingon'; set speech_language to a code such as en"):
        load_for_settings(replace(SETTINGS, language="klingon"))


# Real speech


@needs_weights
@pytest.mark.parametrize("name", sorted(truth()))
def test_speech_is_written_down_in_its_language(name: str, tmp_path: Path) -> None:
    language, text = truth()[name]
    progress: list[float] = []
    found = recognise(recording(name), LIMITS, SETTINGS, tmp_path, progress=progress.append)
    assert found.language == language
    assert errors(plain(text), plain(text_of(found))) <= 1
    assert progress == sorted(progress)
    assert progress[-1] == pytest.approx(found.seconds)
    assert all(0 <= word.start <= word.end <= found.seconds for word in found.words)
    assert all(before.end <= after.start for before, after in pairwise(found.words))
    assert all(0 < word.probability <= 1 for word in found.words)


@needs_weights
def test_words_have_the_times_at_which_they_are_spoken(tmp_path: Path) -> None:
    rows = [line.split("\t") for line in (SPEECH / "dialogue.tsv").read_text(encoding="utf-8").splitlines()[1:]]
    words = recognise(recording("dialogue.mp3"), LIMITS, SETTINGS, tmp_path).words
    at = 0
    for start, end, _, text in rows:
        spoken = words[at : at + len(text.split())]
        at += len(spoken)
        assert spoken[0].start == pytest.approx(float(start), abs=0.4)
        assert spoken[-1].end == pytest.approx(float(end), abs=0.4)


@needs_weights
def test_a_language_that_was_set_is_not_detected(tmp_path: Path) -> None:
    found = recognise(recording("wetter.ogg"), LIMITS, replace(SETTINGS, language="en"), tmp_path)
    assert found.language == "en"


@needs_weights
def test_a_second_attempt_hears_only_what_is_missing(tmp_path: Path) -> None:
    first = recognise(recording("memo.ogg"), LIMITS, SETTINGS, tmp_path)
    again = recognise(recording("memo.ogg"), LIMITS, WITHOUT, tmp_path)
    assert again == first
    lines = (tmp_path / NAME).read_text().splitlines()
    (tmp_path / NAME).write_text("\n".join(line for line in lines if "place" not in line) + "\n")
    with pytest.raises(EngineUnavailable):
        recognise(recording("memo.ogg"), LIMITS, WITHOUT, tmp_path)
    assert recognise(recording("memo.ogg"), LIMITS, SETTINGS, tmp_path) == first


@needs_weights
def test_voices_are_embedded_along_the_way_and_saved(tmp_path: Path) -> None:
    def embed(samples: Samples, start: float, spans: Sequence[SpeechSpan]) -> list[Window]:
        assert len(samples) >= (spans[-1].end - start) * RATE - 2
        return [Window(span.start, span.end, array("f", (span.start, 1.0))) for span in spans]

    voices = VoiceEmbedder("some model", embed)
    first = recognise(recording("dialogue.mp3"), LIMITS, SETTINGS, tmp_path, voices)
    assert first.windows
    assert all(window.vector[0] == pytest.approx(window.start) for window in first.windows)
    refuse = VoiceEmbedder("some model", lambda samples, start, spans: pytest.fail("it was embedded already"))
    assert recognise(recording("dialogue.mp3"), LIMITS, WITHOUT, tmp_path, refuse) == first


@needs_weights
def test_an_error_in_a_thread_is_raised(tmp_path: Path) -> None:
    def embed(samples: Samples, start: float, spans: Sequence[SpeechSpan]) -> list[Window]:
        raise MemoryError

    with pytest.raises(MemoryError):
        recognise(recording("dialogue.mp3"), LIMITS, SETTINGS, tmp_path, VoiceEmbedder("some model", embed))


@needs_weights
@pytest.mark.parametrize("seconds", [2, 10])
def test_noise_and_music_give_no_words_even_where_they_are_taken_for_speech(seconds: int) -> None:
    random = np.random.default_rng(seconds)
    time = np.arange(seconds * RATE) / RATE
    beats = np.exp(-8 * (time % 0.5)) * random.standard_normal(len(time)) * 0.3
    sounds = {
        "white noise": random.standard_normal(len(time)) * 0.1,
        "drums": beats,
        "sweep": 0.3 * np.sin(2 * np.pi * np.cumsum(np.geomspace(80, 4000, len(time))) / RATE),
        "hum": sum(0.2 / part * np.sin(2 * np.pi * 50 * part * time) for part in range(1, 9)),
        "tune": np.resize(np.concatenate(list(read_samples(recording("tune.mp3"), LIMITS))), len(time)),
        "silence": np.zeros(len(time)),
    }
    model = load_for_settings(SETTINGS)
    for name, samples in sounds.items():
        stretch = SpeechChunk((SpeechSpan(0.0, float(seconds)),), np.asarray(samples, np.float32))
        result = model.transcribe(model.encode(stretch.samples), "en")
        assert filter_hallucinations(result) == (), name


CLIPS = Path(__file__).resolve().parents[2] / "../shared/corpus/speech"


@needs_weights
@pytest.mark.skipif(not CLIPS.is_dir(), reason=f"the shared corpus is not at {CLIPS}")
def test_at_most_one_word_in_twenty_is_wrong_in_real_speech(tmp_path: Path) -> None:
    wrong = total = 0
    for line in (CLIPS / "transcripts.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        name, text = line.split("\t")
        (tmp_path / name).mkdir()
        found = recognise(recording((CLIPS / name).resolve()), LIMITS, SETTINGS, tmp_path / name)
        assert found.language == "en"
        wrong += errors(plain(text), plain(text_of(found)))
        total += len(plain(text))
    assert wrong / total <= 0.05


KILLED = """
import json, sys
from pathlib import Path
from chyme.speech.media.container import MediaLimits
from chyme.speech.media.container import Recording
from chyme.speech.recognition.local_recogniser import recognise
from chyme.speech.recognition.settings import SpeechSettings

path, scratch, weights = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
recording = Recording(path.name, "", path.stat().st_size, lambda: path.open("rb"))
settings = SpeechSettings(threads=1, weights_dir=weights)
found = recognise(recording, MediaLimits(), settings, scratch, progress=lambda done: print(done, flush=True))
print(json.dumps([word.text for word in found.words]), flush=True)
"""


@needs_weights
def test_a_killed_attempt_leaves_what_it_finished(tmp_path: Path) -> None:
    names = ("memo.ogg", "recipe.m4a", "dialogue.mp3", "film.mp4")
    pause = np.zeros(3 * RATE, np.float32)
    parts = [part for name in names for part in (*read_samples(recording(name), LIMITS), pause)]
    path = tmp_path / "all.wav"
    with av.open(path, "w") as file:
        stream = file.add_stream("pcm_s16le", rate=RATE, layout="mono")
        for part in parts:
            frame = av.AudioFrame.from_ndarray((part[None] * 32767).astype(np.int16), format="s16", layout="mono")
            frame.sample_rate = RATE
            file.mux(stream.encode(frame))
    command = [sys.executable, "-c", KILLED, str(path), str(tmp_path), SETTINGS.weights_dir]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as first:
        assert first.stdout
        for line in first.stdout:
            if line.startswith("[") or float(line) > 25:
                break
        first.kill()
    finished = [line for line in (tmp_path / NAME).read_bytes().splitlines() if b'"place"' in line]
    assert 2 <= len(finished) < 4
    again = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    words = json.loads(again[-1])
    assert errors(plain(" ".join(truth()[name][1] for name in names)), plain("".join(words))) <= 2
    rows = [line for line in (tmp_path / NAME).read_bytes().splitlines() if b'"place"' in line]
    assert rows[: len(finished)] == finished
    assert len(rows) == 4
