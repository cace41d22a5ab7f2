"""The sound of recordings as a stream, and where there is speech in it."""

from __future__ import annotations

import io
import struct
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from growth import cpu_seconds
from numpy.typing import NDArray

from chyme.errors import UnreadableFile, UnsupportedFile
from chyme.speech.media.container import MediaLimits, Recording
from chyme.speech.recognition.audio_stream import PIECE, RATE, read_samples
from chyme.speech.recognition.voice_activity import ActivityRules, SpeechDetector, SpeechSpan

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "tests" / "samples"
SPEECH, MEDIA = SAMPLES / "speech", SAMPLES / "media"

Samples = NDArray[np.float32]


def recording_of(data: bytes, name: str = "it", mime: str = "") -> Recording:
    return Recording(name, mime, len(data), lambda: io.BytesIO(data))


def on_disk(path: Path) -> Recording:
    return replace(recording_of(path.read_bytes()), name=path.name)


def all_of(recording: Recording, limits: MediaLimits | None = None) -> Samples:
    pieces = list(read_samples(recording, limits or MediaLimits()))
    assert all(0 < len(piece) <= PIECE * RATE and piece.dtype == np.float32 for piece in pieces)
    return np.concatenate(pieces) if pieces else np.zeros(0, np.float32)


def tone(seconds: float, hertz: float = 440.0, rate: int = RATE) -> Samples:
    return (0.5 * np.sin(2 * np.pi * hertz * np.arange(int(seconds * rate)) / rate)).astype(np.float32)


def loudness(samples: Samples) -> float:
    return float(np.sqrt(np.square(samples).mean()))


def wave(samples: NDArray[Any], rate: int, channels: int = 1, mask: int = 0) -> bytes:
    """A WAV file of interleaved samples, their bytes unchanged; `mask` says which loudspeaker each channel is for."""
    data = samples.tobytes()
    bits = samples.dtype.itemsize * 8
    block = channels * bits // 8
    tag = 3 if samples.dtype.kind == "f" else 1
    form = struct.pack("<HHIIHH", 0xFFFE if mask else tag, channels, rate, rate * block, block, bits)
    if mask:
        form += struct.pack("<HHIH14s", 22, bits, mask, tag, bytes.fromhex("000000001000800000aa00389b71"))
    chunks = b"fmt " + struct.pack("<I", len(form)) + form + b"data" + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", 4 + len(chunks)) + b"WAVE" + chunks


def encoded(codec: str, format_: str, parts: list[tuple[float, Samples]], rate: int = RATE) -> bytes:
    """A file in which each part begins at its own second."""
    out = io.BytesIO()
    with av.open(out, "w", format=format_) as file:
        stream: Any = file.add_stream(codec, rate=rate, layout="mono")
        for start, samples in parts:
            for at in range(0, len(samples), 1024):
                piece = (samples[None, at : at + 1024] * 32767).astype(np.int16)
                frame = av.AudioFrame.from_ndarray(piece, format="s16", layout="mono")
                frame.sample_rate, frame.pts, frame.time_base = rate, round(start * rate) + at, Fraction(1, rate)
                file.mux(stream.encode(frame))
        file.mux(stream.encode(None))
    return out.getvalue()


@pytest.mark.parametrize("name", ["song.mp3", "song.m4a", "song.ogg", "song.flac", "song.wav", "mill.mp4"])
def test_any_codec_comes_out_at_16_khz_in_one_channel_and_the_same_every_time(name: str) -> None:
    decoded = all_of(on_disk(MEDIA / name))
    with av.open(MEDIA / name) as file:
        seconds = (file.duration or 0) / 1_000_000
    assert len(decoded) / RATE == pytest.approx(seconds, abs=0.1)
    assert loudness(decoded) > 0.01
    assert np.array_equal(decoded, all_of(on_disk(MEDIA / name)))


def test_resampling_keeps_pitch_loudness_and_length() -> None:
    for rate in (8_000, 11_025, 44_100, 48_000, 96_000):
        decoded = all_of(recording_of(wave((tone(3, 440, rate) * 32767).astype("<i2"), rate)))
        assert len(decoded) == pytest.approx(3 * RATE, abs=1)
        assert np.abs(decoded[RATE : 2 * RATE] - tone(3)[RATE : 2 * RATE]).max() < 0.02


def test_whole_numbers_and_fractions_come_out_alike() -> None:
    plain = tone(1)
    for samples in (
        ((plain + 1) * 127.5).astype("u1"),
        (plain * 32767).astype("<i2"),
        (plain * (2**31 - 1)).astype("<i4"),
        plain.astype("<f4"),
        plain.astype("<f8"),
    ):
        assert np.abs(all_of(recording_of(wave(samples, RATE))) - plain).max() < 0.02


def test_a_pause_of_the_clock_is_silence_so_that_samples_tell_the_time() -> None:
    decoded = all_of(recording_of(encoded("pcm_s16le", "matroska", [(0.0, tone(1)), (4.0, tone(1))])))
    assert len(decoded) == pytest.approx(5 * RATE, abs=RATE // 50)
    assert loudness(decoded[: RATE - 500]) > 0.3
    assert loudness(decoded[RATE + 500 : 4 * RATE - 500]) == 0
    assert loudness(decoded[4 * RATE + 500 :]) > 0.3


def test_sound_that_begins_after_the_picture_begins_with_silence() -> None:
    out = io.BytesIO()
    with av.open(out, "w", format="matroska") as file:
        video: Any = file.add_stream("mpeg4", rate=5)
        video.width, video.height, video.pix_fmt = 64, 48, "yuv420p"
        audio: Any = file.add_stream("pcm_s16le", rate=RATE, layout="mono")
        for number in range(10):
            frame = av.VideoFrame(64, 48, "yuv420p")
            frame.pts, frame.time_base = number, Fraction(1, 5)
            file.mux(video.encode(frame))
        late = av.AudioFrame.from_ndarray((tone(1)[None] * 32767).astype(np.int16), format="s16", layout="mono")
        late.sample_rate, late.pts, late.time_base = RATE, round(0.4 * RATE), Fraction(1, RATE)
        file.mux(audio.encode(late))
        file.mux(video.encode(None))
    decoded = all_of(recording_of(out.getvalue()))
    assert np.flatnonzero(decoded)[0] / RATE == pytest.approx(0.4, abs=0.01)


def test_a_change_of_rate_on_the_way_does_not_move_the_clock() -> None:
    slow = encoded("mp2", "mp2", [(0.0, tone(3, 440, 22_050))], 22_050)
    fast = encoded("mp2", "mp2", [(0.0, tone(3, 440, 44_100))], 44_100)
    decoded = all_of(recording_of(slow + fast + slow))
    assert len(decoded) / RATE == pytest.approx(9, abs=0.3)
    for second in (1, 4, 7):
        part = decoded[second * RATE : (second + 1) * RATE]
        assert np.abs(np.fft.rfft(part)).argmax() == pytest.approx(440, abs=2)


def test_samples_that_are_no_numbers_are_silence() -> None:
    broken = tone(1).astype("<f4")
    broken[100:200], broken[300], broken[400] = np.nan, np.inf, -1e30
    decoded = all_of(recording_of(wave(broken, RATE)))
    assert np.isfinite(decoded).all()
    assert np.abs(decoded).max() <= 1
    assert not decoded[100:200].any()


def test_two_channels_that_are_opposites_do_not_cancel_each_other() -> None:
    stereo = np.stack([tone(1), -tone(1)], axis=1).reshape(-1)
    assert loudness(all_of(recording_of(wave(stereo.astype("<f4"), RATE, 2)))) == pytest.approx(loudness(tone(1)))


def test_a_film_speaks_from_the_centre() -> None:
    channels = np.zeros((RATE, 6), np.float32)
    channels[:, 2] = tone(1)
    alone = loudness(all_of(recording_of(wave(channels.astype("<f4").reshape(-1), RATE, 6, mask=0x3F))))
    channels[:, 2], channels[:, 3] = 0, tone(1)
    bass = loudness(all_of(recording_of(wave(channels.astype("<f4").reshape(-1), RATE, 6, mask=0x3F))))
    assert alone == pytest.approx(loudness(tone(1)) / 2, rel=0.01)
    assert bass < alone / 100 or bass == pytest.approx(loudness(tone(1)), rel=0.01)  # nothing else is there to hear


def test_eight_channels_are_no_reason_to_crash() -> None:
    out = io.BytesIO()
    with av.open(out, "w", format="mp4") as file:
        stream: Any = file.add_stream("aac", rate=48_000, layout="7.1")
        for at in range(0, 48_000, 1024):
            part = np.repeat(tone(1, 440, 48_000)[at : at + 1024], 8)
            frame = av.AudioFrame.from_ndarray(part[None], format="flt", layout="7.1")
            frame.sample_rate, frame.pts, frame.time_base = 48_000, at, Fraction(1, 48_000)
            file.mux(stream.encode(frame))
        file.mux(stream.encode(None))
    assert loudness(all_of(recording_of(out.getvalue()))[4000:12000]) == pytest.approx(0.35, abs=0.05)


def test_a_broken_middle_is_skipped() -> None:
    data = bytearray((SPEECH / "dialogue.mp3").read_bytes())
    whole = all_of(recording_of(bytes(data)))
    middle = len(data) // 2
    data[middle : middle + 3000] = bytes(range(250)) * 12
    decoded = all_of(recording_of(bytes(data)))
    assert len(decoded) > 0.95 * len(whole)
    assert np.abs(decoded[: 5 * RATE] - whole[: 5 * RATE]).max() < 1e-4


def test_no_more_than_sound_hours_are_decoded() -> None:
    long = recording_of(wave(np.full(3_700 * 1_000, 200, np.uint8), 1_000))
    decoded = sum(len(piece) for piece in read_samples(long, MediaLimits(sound_hours=1)))
    assert decoded == 3_600 * RATE


def test_a_clock_beyond_the_declared_end_is_not_believed() -> None:
    data = encoded("pcm_s16le", "matroska", [(0.0, tone(1)), (500.0, tone(1))])
    assert len(all_of(recording_of(data))) / RATE == pytest.approx(501, abs=0.1)
    at = data.index(b"\x44\x89\x88") + 3  # how long it plays, in thousandths
    short = data[:at] + struct.pack(">d", 2000.0) + data[at + 8 :]
    assert len(all_of(recording_of(short))) / RATE == pytest.approx(2, abs=0.1)


def test_a_film_without_sound_gives_nothing() -> None:
    assert len(all_of(on_disk(MEDIA / "turned.mp4"))) == 0


def test_files_that_cannot_be_read_are_refused_with_a_reason() -> None:
    for data in (b"", b"ID3" + bytes(500), (MEDIA / "song.m4a").read_bytes()[:300]):
        with pytest.raises((UnreadableFile, UnsupportedFile), match=r"^it: "):
            all_of(recording_of(data))


def test_sound_that_cannot_be_decoded_is_no_silence() -> None:
    data = bytearray((MEDIA / "song.m4a").read_bytes())
    begin = data.index(b"mdat") + 4
    size = int.from_bytes(data[begin - 8 : begin - 4], "big") - 8
    data[begin : begin + size] = b"\xff" * size
    with pytest.raises(UnreadableFile, match=r"^it: its sound cannot be decoded; play it elsewhere"):
        all_of(recording_of(bytes(data)))


# Where there is speech


def spans_of(activity: SpeechDetector, samples: Samples, length: int) -> list[SpeechSpan]:
    spans: list[SpeechSpan] = []
    for at in range(0, len(samples), length):
        settled = activity.settled_until
        found = activity.feed(samples[at : at + length])
        assert all(span.start >= settled - 1e-9 for span in found)
        spans += found
    return [*spans, *activity.finish()]


@pytest.fixture(scope="module")
def speech() -> Samples:
    """All speech of the samples, one after the other, with music and silence between."""
    names = ("dialogue.mp3", "tune.mp3", "memo.ogg", "silence.flac", "wetter.ogg", "recipe.m4a")
    return np.concatenate([all_of(on_disk(SPEECH / name)) for name in names])


RULES = (
    ActivityRules(),
    ActivityRules(min_silence=0.1, pad=0.2, longest=4.0),
    ActivityRules(min_silence=1.0, pad=0.1, longest=5.0),
    ActivityRules(min_silence=2.0, pad=0.4, min_speech=0.0, longest=1e6),
)


@pytest.mark.parametrize("rules", RULES)
def test_speech_is_found_where_faster_whisper_finds_it(speech: Samples, rules: ActivityRules) -> None:
    from faster_whisper.vad import VadOptions, get_speech_timestamps  # type: ignore[import-untyped]

    options = VadOptions(
        threshold=rules.threshold,
        neg_threshold=rules.quiet,
        min_speech_duration_ms=round(rules.min_speech * 1000),
        max_speech_duration_s=rules.longest,
        min_silence_duration_ms=round(rules.min_silence * 1000),
        speech_pad_ms=round(rules.pad * 1000),
    )
    theirs = [(span["start"] / RATE, span["end"] / RATE) for span in get_speech_timestamps(speech.copy(), options)]
    mine = [(span.start, span.end) for span in spans_of(SpeechDetector(rules), speech, RATE)]
    assert len(mine) == len(theirs) >= 3
    assert np.abs(np.array(mine) - np.array(theirs)).max() < 0.07


@pytest.mark.parametrize("length", [160, 7_001, 10 * RATE])
def test_pieces_of_any_length_give_the_same_spans(speech: Samples, length: int) -> None:
    part = speech[: 45 * RATE]
    expected = spans_of(SpeechDetector(), part, RATE)
    spans = spans_of(SpeechDetector(), part, length)
    assert spans == expected
    assert all(before.end <= after.start for before, after in pairwise(spans))
    assert 0 <= spans[0].start < spans[-1].end <= len(part) / RATE


def test_music_noise_and_silence_are_no_speech() -> None:
    noise = np.random.default_rng(1).standard_normal(8 * RATE).astype(np.float32) * 0.1
    for samples in (all_of(on_disk(SPEECH / "tune.mp3")), noise, tone(8), np.zeros(8 * RATE, np.float32)):
        assert spans_of(SpeechDetector(), samples, RATE) == []


def test_hours_of_nothing_cost_next_to_nothing() -> None:
    def hears(activity: SpeechDetector, samples: Samples, pieces: int) -> bool:
        return sum(len(activity.feed(samples)) for _ in range(pieces)) > 0

    noise = np.random.default_rng(1).standard_normal(10 * RATE).astype(np.float32) * 0.1
    with_model = cpu_seconds(lambda: hears(SpeechDetector(), noise, 12))  # two minutes on which the model is run
    activity = SpeechDetector()
    nothing = cpu_seconds(lambda: hears(activity, np.zeros(10 * RATE, np.float32), 6 * 360))  # six hours
    assert nothing < 180 * with_model / 3  # if the model were run on these, too, they would cost 180 times as much
    late = all_of(on_disk(SPEECH / "memo.ogg"))
    spans = [*activity.feed(late), *activity.finish()]
    assert spans[0].start == pytest.approx(6 * 3600 + 0.2, abs=0.3)
