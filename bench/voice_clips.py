"""Recordings of known speakers: from the corpus, spoken by espeak-ng, and from meetings of a city council."""

from __future__ import annotations

import io
import random
import shutil
import subprocess
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy
from numpy.typing import NDArray

from bench.diarization import read_rttm
from bench.vaults import CORPUS
from bench.voice_rivals import taken_out
from chyme.model import Turn
from chyme.speech.recognition.voice_activity import SpeechDetector

Samples = NDArray[numpy.float32]
RATE = 16_000
SPEECH = CORPUS / "speech"
TWO = SPEECH / "two_speakers.wav"
# Real recordings, each of one person; a dash separates the person from the number of the file.
_FILES = {
    "kennedy": "speech/jfk.wav",
    "reader-1": "speech/sense_and_sensibility_01_austen_64kb-0870.wav",
    "reader-2": "speech/sense_and_sensibility_01_austen_64kb-0890.wav",
    "reader-3": "speech/sense_and_sensibility_01_austen_64kb-0920.wav",
    "docling": "audio/docling__sample_10s.mp3",
    "lawyer": "audio/doctor__ander_v._leo.mp3",
}
_ESPEAK = ("en-us+Michael", "en-us+Annie", "de+klatt4", "en-gb+m3", "fr+f5", "es+grandma")
_SENTENCES = (
    "The quick brown fox jumps over the lazy dog, and then it sleeps in the warm sun until evening.",
    "We will meet at the harbour tomorrow morning, when the first boats come home with their catch.",
)
# MIT; clips of the public meetings of the Seattle City Council, by meeting and by speaker, meant to test with.
_COUNCIL = "speakerbox==1.2.0", "speakerbox/tests/data/diarized.zip"


@dataclass(frozen=True, slots=True)
class Clip:
    """Sound in which one person speaks, and where in it they do."""

    speaker: str
    file: str  # clips of one file were recorded together
    samples: Samples
    spans: tuple[tuple[float, float], ...]


def decoded(source: Path | IO[bytes]) -> Samples:
    """Any recording at 16 kHz in one channel."""
    import av

    resampler = av.AudioResampler("flt", "mono", RATE)
    with av.open(str(source) if isinstance(source, Path) else source, "r") as recording:
        frames = [part for frame in recording.decode(audio=0) for part in resampler.resample(frame)]
    return numpy.concatenate([frame.to_ndarray()[0] for frame in [*frames, *resampler.resample(None)]])


def speech(samples: Samples) -> tuple[tuple[float, float], ...]:
    """Where somebody speaks."""
    activity = SpeechDetector()
    return tuple((span.start, span.end) for span in [*activity.feed(samples), *activity.finish()])


def corpus_clips() -> list[Clip]:
    """People in the corpus; of the two in one file, only where they speak alone."""
    clips = []
    for name, path in _FILES.items():
        samples = decoded(CORPUS / path)
        clips.append(Clip(name.partition("-")[0], path, samples, speech(samples)))
    both, turns = decoded(TWO), read_rttm(TWO.with_suffix(".rttm"))
    for speaker in sorted({turn.speaker for turn in turns}):
        clips.append(Clip(speaker, TWO.name, both, tuple(_alone(turns, speaker))))
    return clips


def espeak_clips() -> list[Clip]:
    """Voices of espeak-ng, two clips each; none where it is not installed."""
    if shutil.which("espeak-ng") is None:
        return []
    clips = []
    for voice in _ESPEAK:
        for number, sentence in enumerate(_SENTENCES):
            command = ["espeak-ng", "-v", voice, "--stdout", sentence]
            samples = decoded(io.BytesIO(subprocess.run(command, check=True, capture_output=True).stdout))
            clips.append(Clip(voice, f"{voice} {number}", samples, speech(samples)))
    return clips


def council_clips(folder: Path) -> list[Clip]:
    """Nine people in five meetings, everything somebody says in a meeting as one clip; none without a network."""
    data = taken_out(*_COUNCIL, folder)
    if data is None:
        return []
    said: dict[tuple[str, str], list[Samples]] = {}
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for name in sorted(archive.namelist()):
            if name.endswith(".wav") and not name.startswith("__"):
                *_, meeting, speaker, _ = name.split("/")
                said.setdefault((meeting, speaker), []).append(decoded(io.BytesIO(archive.read(name))))
    clips = []
    for (meeting, speaker), parts in said.items():
        samples = numpy.concatenate(parts)[: 40 * RATE]
        if len(samples) >= 5 * RATE:
            clips.append(Clip(speaker, meeting, samples, speech(samples)))
    return clips


def conversation(clips: Sequence[Clip], seconds: float, seed: int) -> tuple[Samples, list[Turn]]:
    """Turns of 1 to 8 seconds cut from clips of several speakers, with short pauses, and who spoke when."""
    chance = random.Random(seed)
    heard = {clip.speaker: _voiced(clip) for clip in clips}
    at = dict.fromkeys(heard, 0)
    parts: list[Samples] = []
    turns: list[Turn] = []
    now, before = 0.0, ""
    while now < seconds:
        speaker = chance.choice([one for one in heard if one != before or len(heard) == 1])
        length = round(chance.uniform(1.2, 8.0) * RATE)
        at[speaker] = 0 if at[speaker] + length > len(heard[speaker]) else at[speaker]
        part = heard[speaker][at[speaker] : at[speaker] + length]
        at[speaker] += length
        turns.append(Turn(now, now + len(part) / RATE, speaker))
        pause = numpy.zeros(round(chance.uniform(0.0, 0.6) * RATE), numpy.float32)
        parts += [part * (0.05 / (float(numpy.sqrt(numpy.mean(part**2))) + 1e-6)), pause]
        now += (len(part) + len(pause)) / RATE
        before = speaker
    return numpy.concatenate(parts).astype(numpy.float32), turns


def with_music(samples: Samples, decibels: float) -> Samples:
    """The same with a tune from the middle on, so much louder than the speech; two notes a second."""
    chance = numpy.random.default_rng(1)
    tune = numpy.zeros(len(samples))
    for begin in range(len(samples) // 2, len(samples), RATE // 2):
        times = numpy.arange(min(RATE // 2, len(samples) - begin)) / RATE
        pitch = float(chance.choice([220.0, 246.9, 261.6, 293.7, 329.6, 392.0, 440.0]))
        note = sum(numpy.sin(2 * numpy.pi * pitch * part * times) / part for part in (1, 2, 3, 4))
        tune[begin : begin + len(times)] = note * numpy.exp(-3 * times)
    loudness, own = (float(numpy.sqrt(numpy.mean(one**2))) for one in (samples, tune[len(samples) // 2 :]))
    mixed: Samples = (samples + tune * (loudness / own * 10 ** (decibels / 20))).astype(numpy.float32)
    return mixed


def _voiced(clip: Clip) -> Samples:
    return numpy.concatenate([clip.samples[round(a * RATE) : round(b * RATE)] for a, b in clip.spans])


def _alone(turns: Sequence[Turn], speaker: str) -> Iterable[tuple[float, float]]:
    """Where somebody speaks and nobody else does, for a while."""
    for turn in turns:
        if turn.speaker != speaker:
            continue
        free = [(turn.start, turn.end)]
        for other in turns:
            if other.speaker != speaker:
                free = [
                    part
                    for start, end in free
                    for part in ((start, min(end, other.start)), (max(start, other.end), end))
                    if part[1] > part[0]
                ]
        yield from ((start, end) for start, end in free if end - start >= 0.8)
