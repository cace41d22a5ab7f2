"""Transcripts as speech-recognition would make them, from written lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from free_calls import FreeCalls
from upstreams import upstream

from chyme.digester import Calls, StaysHome
from chyme.model import File, Kind, Segment, Stamp, Transcript, Upstream, Word
from chyme.speech.transcripts.json_format import as_json

SPOKEN = Path(__file__).parents[1] / "samples" / "spoken"
FILE = File(1, "a/talk.mp3", "talk.mp3", Kind.AUDIO, "audio/mpeg", Stamp("1", "1", 1000, 0), "00", 1)
SECONDS_A_WORD = 0.4


def segment_of(text: str, start: float = 0.0, speaker: str | None = None) -> Segment:
    """A segment whose words take equally long."""
    words = text.split()
    times = [start + at * SECONDS_A_WORD for at in range(len(words) + 1)]
    spoken = tuple(Word(word, times[at], times[at + 1], 0.9) for at, word in enumerate(words))
    return Segment(start, times[-1], text, speaker, spoken)


def transcript_of(lines: Sequence[str | tuple[str, str]], language: str | None = "en") -> Transcript:
    """A transcript with a segment for each line: a text, or a speaker and a text."""
    segments: list[Segment] = []
    now = 0.0
    for line in lines:
        speaker, text = (None, line) if isinstance(line, str) else line
        segments.append(segment_of(text, now, speaker))
        now = segments[-1].end + 0.5
    return Transcript(language, "whisper-base", now, tuple(segments))


def sample(name: str) -> Transcript:
    """A written conversation; its language is in its name: meeting.en."""
    lines = [line.partition(": ") for line in (SPOKEN / f"{name}.txt").read_text("utf-8").splitlines()]
    return transcript_of([(f"speaker-{int(who)}", text) for who, _, text in lines], name.rpartition(".")[2])


@dataclass(frozen=True)
class SpokenSource(StaysHome):
    """A recording of which only the transcript is used."""

    inputs: Mapping[str, Upstream]
    scratch: Path
    file: File = FILE
    heard: list[float] = field(default_factory=list)
    asked: FreeCalls = field(default_factory=FreeCalls)

    @property
    def calls(self) -> Calls:
        return self.asked

    def open(self) -> BinaryIO:
        raise AssertionError("the recording itself is not needed")

    def output(self, name: str) -> Upstream | None:
        return self.inputs.get(name)

    def progress(self, fraction: float) -> None:
        assert 0 <= fraction <= 1
        self.heard.append(fraction)


def source_of(transcript: Transcript | None, scratch: Path) -> SpokenSource:
    content = as_json(transcript) if transcript else None
    return SpokenSource({"speech-recognition": upstream("speech-recognition", content)} if content else {}, scratch)
