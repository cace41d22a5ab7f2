"""Embedding voices, and telling the speakers of a file apart."""

from __future__ import annotations

import io
import math
import os
import pickle
import random
import tracemalloc
import zipfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import av
import numpy
import pytest
from growth import NOISE_SECONDS, cpu_seconds
from numpy.typing import NDArray

from chyme.errors import EngineUnavailable
from chyme.model import Turn
from chyme.models.weights.catalog import VOICES
from chyme.models.weights.folder import path_of
from chyme.models.weights.onnx_session import open_session
from chyme.models.weights.onnx_writer import OnnxFile
from chyme.speech.voices.campplus_network import RATE, spectrum
from chyme.speech.voices.diarization import Window, cluster_vectors, separate_speakers, voices_of
from chyme.speech.voices.encoder import LENGTH, MODEL, SHORTEST, Encoder, load
from chyme.speech.voices.torch_file import read_tensors

pytestmark = pytest.mark.slow

SAMPLES = Path(__file__).parents[1] / "samples" / "speech"
SIZE = 24  # of the vectors that are made up here
SAME_PERSON = 0.65

Samples = NDArray[numpy.float32]


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    if path_of(VOICES) is None:
        pytest.skip("needs the weights for voices, and they are not there: run 'chyme weights voices'")
    return load()


def sound(path: Path) -> Samples:
    resampler = av.AudioResampler("flt", "mono", RATE)
    with av.open(str(path), "r") as recording:
        frames = [part for frame in recording.decode(audio=0) for part in resampler.resample(frame)]
    return numpy.concatenate([frame.to_ndarray()[0] for frame in [*frames, *resampler.resample(None)]])


def whole(encoder: Encoder, samples: Samples) -> list[Window]:
    return encoder.windows(samples, 0.0, [(0.0, len(samples) / RATE)])


def voice(encoder: Encoder, samples: Samples) -> Samples:
    (only,) = voices_of(whole(encoder, samples), [Turn(0.0, len(samples) / RATE, "speaker-1")], encoder.model)
    return numpy.array(only.vector, numpy.float32)


def confused(reference: Sequence[Turn], found: Sequence[Turn]) -> float:
    """The share of the time with one speaker in which the two speakers of `found` are mixed up, named as fits best."""
    marks = [
        (expected.speaker, actual.speaker)
        for at in numpy.arange(0.0, max(turn.end for turn in reference), 0.02)
        for expected in reference
        for actual in found
        if expected.start + 0.25 <= at < expected.end - 0.25 and actual.start <= at < actual.end
        and sum(turn.start <= at < turn.end for turn in reference) == 1
    ]  # fmt: skip
    names = sorted({expected for expected, _ in marks})
    right = sum(found == f"speaker-{names.index(expected) + 1}" for expected, found in marks)
    return 1 - max(right, len(marks) - right) / len(marks)


# Windows


def test_windows_cover_the_speech_and_nothing_else(encoder: Encoder) -> None:
    samples = sound(SAMPLES / "memo.ogg")
    windows = encoder.windows(samples, 100.0, [(100.5, 104.0), (104.5, 105.3)])
    assert [(round(window.start, 2), round(window.end, 2)) for window in windows] == [
        *((100.5, 102.0), (101.17, 102.67), (101.83, 103.33), (102.5, 104.0)),
        (104.5, 105.3),
    ]
    assert all(math.isclose(math.hypot(*window.vector), 1.0, abs_tol=1e-5) for window in windows)


def test_the_vector_of_a_window_depends_on_its_sound_alone(encoder: Encoder) -> None:
    samples = sound(SAMPLES / "memo.ogg")
    here = encoder.windows(samples, 0.0, [(1.0, 1.0 + LENGTH)])[0]
    cut = encoder.windows(samples[RATE:], 51.0, [(51.0, 51.0 + LENGTH)])[0]
    quiet = encoder.windows(samples * 0.05, 0.0, [(1.0, 1.0 + LENGTH)])[0]
    assert numpy.allclose(here.vector, cut.vector, atol=1e-4)
    assert numpy.dot(here.vector, quiet.vector) > 0.99


def test_several_threads_hear_the_same(encoder: Encoder) -> None:
    pieces = [sound(SAMPLES / name) for name in ("memo.ogg", "recipe.m4a", "memo.ogg", "recipe.m4a")]
    with ThreadPoolExecutor(4) as threads:
        together = list(threads.map(lambda piece: whole(encoder, piece[: 3 * RATE]), pieces))
    assert together == [whole(encoder, piece[: 3 * RATE]) for piece in pieces]


@pytest.mark.parametrize(
    "samples",
    [
        numpy.zeros(0, numpy.float32),
        numpy.zeros(10, numpy.float32),
        numpy.zeros(5 * RATE, numpy.float32),
        numpy.full(5 * RATE, 1e-6, numpy.float32),
        numpy.full(5 * RATE, numpy.nan, numpy.float32),
        numpy.full(5 * RATE, numpy.inf, numpy.float32),
    ],
    ids=["none", "ten", "silence", "nearly silence", "nan", "infinite"],
)
def test_without_usable_sound_there_are_no_windows(encoder: Encoder, samples: Samples) -> None:
    assert encoder.windows(samples, 0.0, [(0.0, 5.0), (7.0, 8.0), (3.0, 2.0)]) == []


def test_broken_and_clipped_sound_still_gives_vectors(encoder: Encoder) -> None:
    samples = sound(SAMPLES / "memo.ogg")[: 4 * RATE]
    holes = samples.copy()
    holes[::50] = numpy.nan
    huge = samples * numpy.float32(1e30)
    for broken in (holes, huge, numpy.clip(samples * 50, -1, 1)):
        windows = whole(encoder, broken)
        assert len(windows) == 5
        assert all(math.isfinite(sum(window.vector)) for window in windows)


def test_speech_too_short_to_hear_a_voice_in_has_no_window(encoder: Encoder) -> None:
    samples = sound(SAMPLES / "memo.ogg")
    spans = [(1.0, 1.0 + SHORTEST - 0.05), (2.0, 2.0 + SHORTEST + 0.05)]
    assert [window.start for window in encoder.windows(samples, 0.0, spans)] == [2.0]


# People


def test_one_voice_in_two_files_is_alike_and_another_is_not(encoder: Encoder) -> None:
    memo, film, recipe = (voice(encoder, sound(SAMPLES / name)) for name in ("memo.ogg", "film.mp4", "recipe.m4a"))
    assert memo @ film > SAME_PERSON > max(memo @ recipe, film @ recipe)


def test_the_two_speakers_of_a_dialogue_are_told_apart(encoder: Encoder) -> None:
    rows = [row.split("\t") for row in (SAMPLES / "dialogue.tsv").read_text(encoding="utf-8").splitlines()[1:]]
    reference = [Turn(float(row[0]), float(row[1]), row[2]) for row in rows]
    windows = encoder.windows(sound(SAMPLES / "dialogue.mp3"), 0.0, [(turn.start, turn.end) for turn in reference])
    turns = separate_speakers(windows)
    assert [turn.speaker for turn in turns] == ["speaker-1", "speaker-2", "speaker-1", "speaker-2"]
    assert confused(reference, turns) == 0


def test_two_people_on_the_telephone_are_two(encoder: Encoder, corpus: Path) -> None:
    rows = [row.split() for row in (corpus / "speech" / "two_speakers.rttm").read_text().splitlines()]
    reference = [Turn(float(row[3]), float(row[3]) + float(row[4]), row[7]) for row in rows]
    samples = sound(corpus / "speech" / "two_speakers.wav")
    for spans in ([(7.38, 30.0)], [(7.0, 30.0)], [(7.3, 18.0), (18.0, 30.0)]):  # as they come from various detectors
        turns = separate_speakers(encoder.windows(samples, 0.0, spans))
        assert {turn.speaker for turn in turns} == {"speaker-1", "speaker-2"}
        assert confused(reference, turns) < 0.08


def test_a_reader_stays_one_speaker_with_music_and_in_other_files(encoder: Encoder, corpus: Path) -> None:
    chapters = [sound(path) for path in sorted((corpus / "speech").glob("sense_*.wav"))]
    voices = [voice(encoder, chapter) for chapter in chapters]
    assert min(first @ second for first in voices for second in voices) > SAME_PERSON
    assert max(first @ voice(encoder, sound(corpus / "speech" / "jfk.wav")) for first in voices) < 0.4
    together = numpy.concatenate(chapters)
    times = numpy.arange(len(together)) / RATE
    tune = sum(numpy.sin(2 * numpy.pi * pitch * times) for pitch in (220.0, 277.2, 329.6))
    tune *= 0.02 * (times > times[-1] / 2)  # it sets in half way
    for played in (together, (together + tune).astype(numpy.float32)):
        assert {turn.speaker for turn in separate_speakers(whole(encoder, played))} == {"speaker-1"}


# Telling apart, on vectors made up here


def crowd(speakers: Sequence[int], seed: int = 1, hop: float = 0.75, spread: float = 0.6) -> list[Window]:
    """Windows one after the other, each sounding like one of the speakers."""
    chance = numpy.random.default_rng(seed)
    centres = numpy.eye(SIZE)[: max(speakers) + 1]
    windows = []
    for at, speaker in enumerate(speakers):
        vector = centres[speaker] + chance.normal(scale=spread / math.sqrt(SIZE), size=SIZE)
        vector /= numpy.linalg.norm(vector)
        windows.append(Window(hop * at, hop * at + LENGTH, tuple(vector.tolist())))
    return windows


def test_without_windows_there_are_no_turns_and_no_voices() -> None:
    assert separate_speakers([]) == []
    assert voices_of([], [], MODEL) == ()


def test_one_window_is_one_turn_of_one_speaker() -> None:
    (window,) = crowd([0])
    assert separate_speakers([window]) == [Turn(0.0, LENGTH, "speaker-1")]


def test_windows_that_say_nothing_are_left_out() -> None:
    good = crowd([0] * 6)
    nothing = tuple([0.0] * SIZE)
    broken = tuple([math.nan] * SIZE)
    bad = [Window(1.0, 2.5, nothing), Window(2.0, 3.5, broken), Window(3.0, 3.0, good[0].vector)]
    assert separate_speakers([*good, *bad]) == separate_speakers(good)
    assert separate_speakers(bad) == []
    assert len(voices_of([*good, *bad], separate_speakers(good), MODEL)) == 1


def test_speakers_are_numbered_as_they_appear_and_turns_do_not_overlap() -> None:
    speakers = [2] * 8 + [0] * 8 + [2] * 8 + [1] * 8
    turns = separate_speakers(crowd(speakers))
    assert [turn.speaker for turn in turns] == ["speaker-1", "speaker-2", "speaker-1", "speaker-3"]
    times = [time for turn in turns for time in (turn.start, turn.end)]
    assert times == sorted(times)
    assert (times[0], times[-1]) == (0.0, 31 * 0.75 + LENGTH)


def test_the_order_of_the_windows_does_not_matter() -> None:
    windows = crowd([0] * 9 + [1] * 9 + [0] * 5)
    shuffled = random.Random(5).sample(windows, len(windows))
    assert separate_speakers(shuffled) == separate_speakers(windows)


def test_silence_between_windows_ends_a_turn() -> None:
    early, late = crowd([0] * 5), crowd([0] * 5, seed=2)
    moved = [Window(window.start + 60, window.end + 60, window.vector) for window in late]
    assert [(turn.start, turn.end) for turn in separate_speakers([*early, *moved])] == [(0.0, 4.5), (60.0, 64.5)]


def test_windows_with_two_speakers_are_not_a_third_speaker() -> None:
    windows = crowd(([0] * 8 + [1] * 8) * 6)
    for at in range(7, len(windows) - 1, 8):
        both = numpy.array(windows[at].vector) + numpy.array(windows[at + 1].vector)
        mixed = tuple((both / numpy.linalg.norm(both)).tolist())
        windows[at] = Window(windows[at].start, windows[at].end, mixed)
        windows[at + 1] = Window(windows[at + 1].start, windows[at + 1].end, mixed)
    assert {turn.speaker for turn in separate_speakers(windows)} == {"speaker-1", "speaker-2"}


def test_a_doubtful_window_belongs_to_the_speaker_around_it() -> None:
    windows = crowd([0] * 10 + [1] * 10)
    for at, share in ((5, 0.52), (15, 0.48)):
        doubtful = Window(windows[at].start, windows[at].end, (1 - share, share, *[0.0] * (SIZE - 2)))
        assert [turn.speaker for turn in separate_speakers([*windows[:at], doubtful, *windows[at + 1 :]])] == [
            "speaker-1",
            "speaker-2",
        ]


def test_one_stray_window_is_no_speaker_and_no_turn_but_a_sentence_is() -> None:
    stray = separate_speakers(crowd([0] * 20 + [1] + [0] * 20))
    assert {turn.speaker for turn in stray} == {"speaker-1"}
    sentence = separate_speakers(crowd([0] * 20 + [1] * 5 + [0] * 20))
    assert [turn.speaker for turn in sentence] == ["speaker-1", "speaker-2", "speaker-1"]


def test_short_windows_are_given_to_a_speaker_but_make_no_new_speaker() -> None:
    windows = crowd([0] * 10 + [1] * 10)
    short = [Window(40.0 + at, 40.6 + at, windows[19].vector) for at in range(3)]
    strange = [Window(50.0 + at, 50.6 + at, tuple(numpy.eye(SIZE)[5].tolist())) for at in range(5)]
    turns = separate_speakers([*windows, *short, *strange])
    assert {turn.speaker for turn in turns} == {"speaker-1", "speaker-2"}
    assert [turn.speaker for turn in turns if 40 <= turn.start < 44] == ["speaker-2"] * 3


def test_a_file_of_only_short_windows_still_has_turns() -> None:
    vector = crowd([0])[0].vector
    assert separate_speakers([Window(0.0, 0.6, vector), Window(2.0, 2.6, vector)]) == [
        Turn(0.0, 0.6, "speaker-1"),
        Turn(2.0, 2.6, "speaker-1"),
    ]


def test_three_hours_of_windows_take_seconds_and_little_memory() -> None:
    chance = random.Random(3)
    speakers = [speaker for _ in range(1300) for speaker in [chance.randrange(4)] * 10]
    windows = crowd(speakers, spread=0.9)
    quarter = cpu_seconds(lambda: separate_speakers(windows[: len(windows) // 4]))
    whole = cpu_seconds(lambda: separate_speakers(windows))
    assert whole < 3 * 4**2 * max(quarter, NOISE_SECONDS)
    tracemalloc.start()
    turns = separate_speakers(windows)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert {turn.speaker for turn in turns} == {f"speaker-{number}" for number in range(1, 5)}
    assert most < 100 << 20


def test_joining_finds_the_same_groups_however_many_there_are() -> None:
    chance = random.Random(4)
    speakers = [chance.randrange(5) for _ in range(3500)]
    windows = crowd(speakers)
    group = cluster_vectors(numpy.array([window.vector for window in windows], numpy.float32), 0.4)
    assert group.max() == 4
    assert len({(speaker, int(label)) for speaker, label in zip(speakers, group, strict=True)}) == 5


def test_a_voice_is_the_mean_of_the_windows_without_other_speakers() -> None:
    windows = crowd([0] * 8 + [1] * 8, spread=0.3)
    mixed = windows[7]
    windows[7] = Window(mixed.start, mixed.end, tuple((-numpy.array(mixed.vector)).tolist()))
    turns = [Turn(0.0, 6.0, "speaker-1"), Turn(6.0, 12.75, "speaker-2")]
    first, second = voices_of(windows, turns, MODEL)
    assert (first.speaker, first.seconds, first.model) == ("speaker-1", 6.0, MODEL)
    assert (second.speaker, second.seconds) == ("speaker-2", 6.75)
    clean = numpy.array([window.vector for window in windows if window.end <= 6.0], numpy.float32).mean(axis=0)
    assert numpy.allclose(first.vector, clean / numpy.linalg.norm(clean), atol=1e-5)
    assert second.vector[1] > 0.9


def test_a_speaker_without_any_window_has_no_voice() -> None:
    windows = crowd([0] * 4)
    turns = [Turn(0.0, 3.75, "speaker-1"), Turn(50.0, 53.0, "speaker-2")]
    assert [found.speaker for found in voices_of(windows, turns, MODEL)] == ["speaker-1"]


# Weights


def test_missing_weights_say_how_to_get_them(tmp_path: Path) -> None:
    with pytest.raises(EngineUnavailable, match="chyme weights voices"):
        load(str(tmp_path))


def test_damaged_weights_say_how_to_get_them(tmp_path: Path) -> None:
    folder = tmp_path / VOICES.capability
    folder.mkdir()
    (folder / VOICES.members[0].filename).write_bytes(b"PK\x03\x04 no weights")
    with pytest.raises(EngineUnavailable, match="chyme weights voices"):
        load(str(tmp_path))


class Malicious:
    def __reduce__(self) -> Any:
        return os.mkdir, ("made by a file of weights",)


def archive(index: bytes, **storages: bytes) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as written:
        written.writestr("archive/data.pkl", index)
        for key, numbers in storages.items():
            written.writestr(f"archive/data/{key}", numbers)
    return data.getvalue()


def test_weights_never_run_what_they_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="mkdir, which weights have no use for"):
        read_tensors(archive(pickle.dumps({"a": Malicious()})))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"no archive",
        archive(b""),
        archive(b"\x80\x02}q\x00."),
        archive(pickle.dumps([1])),
        archive(b"cos\nsystem\n."),
    ],
    ids=["empty", "no archive", "no index", "no tensors", "a list", "a name"],
)
def test_other_files_are_refused_as_weights(data: bytes) -> None:
    with pytest.raises(ValueError):
        Encoder(data)


def test_a_tensor_that_reaches_past_its_numbers_is_refused() -> None:
    def saved(size: int) -> bytes:
        """What torch writes for {"a": tensor of this size}."""
        storage = b"(X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x00kX\x03\x00\x00\x00cpuK\x02tQ"
        shape = b"K\x00K" + bytes([size]) + b"\x85K\x01\x85\x89N"
        tensor = b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + shape + b"tR"
        return b"\x80\x02}X\x01\x00\x00\x00a" + tensor + b"s."

    numbers = numpy.array([1.5, -2.0], "<f4").tobytes()
    assert read_tensors(archive(saved(2), k=numbers))["a"].tolist() == [1.5, -2.0]
    with pytest.raises(ValueError, match="reshape"):
        read_tensors(archive(saved(9), k=numbers))
    with pytest.raises(ValueError, match="data/k"):
        read_tensors(archive(saved(2), other=numbers))


# What the network is made of


def test_a_file_written_by_hand_is_what_onnxruntime_runs() -> None:
    made = OnnxFile()
    weight = numpy.arange(12, dtype=numpy.float32).reshape(2, 3, 2)
    shape = made.constant(numpy.array([0, -1], numpy.int64))
    result = made.add("Reshape", made.add("Conv", "given", made.constant(weight), strides=[2], pads=[1, 0]), shape)
    session = open_session(made.data({"given": ("batch", 3, "length")}, {result: ("batch", "all")}))
    given = numpy.arange(24, dtype=numpy.float32).reshape(2, 3, 4)
    (output,) = session.run(None, {"given": given})
    padded = numpy.pad(given, ((0, 0), (0, 0), (1, 0)))
    steps = [numpy.einsum("bci,oci->bo", padded[:, :, at : at + 2], weight) for at in (0, 2)]
    assert output.tolist() == numpy.stack(steps, axis=2).reshape(2, -1).tolist()


def test_an_invalid_network_is_refused(tmp_path: Path) -> None:
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(b"no network")
    for network in (b"no network", str(broken), str(tmp_path / "absent.onnx")):
        with pytest.raises(ValueError):
            open_session(network)


def test_a_tone_is_loudest_in_its_band() -> None:
    times = numpy.arange(2 * RATE) / RATE
    noise = numpy.random.default_rng(1).normal(scale=1e-3, size=len(times))
    beeps = numpy.sin(2 * numpy.pi * 1000 * times) * (times > 1) + noise
    energy = spectrum(beeps.astype(numpy.float32))
    assert energy.shape == (198, 80)
    mels = 1127 * numpy.log1p(numpy.array([20.0, 1000.0, 8000.0]) / 700)
    band = round((mels[1] - mels[0]) / (mels[2] - mels[0]) * 81) - 1
    assert abs(int((energy[150] - energy[50]).argmax()) - band) <= 1
    assert numpy.abs(energy.mean(axis=0)).max() < 1e-3


def test_bands_are_those_of_kaldi() -> None:
    times = numpy.arange(RATE) / RATE
    rising = 0.3 * numpy.sin(2 * numpy.pi * (80 * times + 1500 * times**2))
    humming = 0.2 * numpy.sin(2 * numpy.pi * 60 * times) * (times % 0.2 < 0.1)
    energy = spectrum((rising + humming + 0.1).astype(numpy.float32))
    # What kaldi-native-fbank 1.22 answers, without dither, less the mean of each band.
    wanted = {(0, 0): 4.81, (10, 2): -4.23, (20, 20): 14.59, (40, 40): -0.6, (60, 10): -1.48, (70, 60): -1.12}
    wanted |= {(90, 79): -0.9, (97, 33): -5.57}
    assert {place: round(float(energy[place]), 2) for place in wanted} == pytest.approx(wanted, abs=0.02)
