"""The voices of a recording that may be recognised elsewhere, and why others may not."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from upstreams import upstream

from chyme.digester import StaysHome
from chyme.errors import EngineUnavailable, UpstreamMissing
from chyme.model import File, Kind, Output, Segment, Stamp, Transcript, Upstream, Voice
from chyme.speech.speaker_embedding import SpeakerEmbedding
from chyme.speech.transcripts import json_format as transcript
from chyme.speech.voices import json_format as voices


@dataclass
class RecordingSource(StaysHome):
    """A recording after speech-recognition."""

    upstream: Upstream | None
    file: File = File(1, "talk.mp3", "talk.mp3", Kind.AUDIO, "audio/mpeg", Stamp("1", "1", 1, 0), "hash", 1)  # noqa: RUF009
    scratch: Path = Path()

    def open(self) -> BinaryIO:
        return io.BytesIO()

    def output(self, name: str) -> Upstream | None:
        return self.upstream if name == "speech-recognition" else None

    def progress(self, fraction: float) -> None:
        pass


def recognised(spoken: dict[str, float], *sounds: Voice, artifact: bytes | None = None) -> RecordingSource:
    segments = tuple(Segment(0.0, seconds, "words", speaker) for speaker, seconds in spoken.items())
    content = transcript.as_json(Transcript("en", "m", 60.0, segments))
    data = voices.as_json(sounds) if artifact is None else artifact
    return RecordingSource(upstream("speech-recognition", content, artifacts={voices.VOICES: data} if data else {}))


def digest(source: RecordingSource, least_seconds: float = 2.0) -> tuple[Output, dict[str, Any]]:
    (output,) = SpeakerEmbedding(least_seconds).digest(source)
    return output, json.loads(output.content or "null")


def sound(speaker: str, seconds: float, vector: tuple[float, ...] = (0.6, 0.8)) -> Voice:
    return Voice(speaker, seconds, "ear 1", vector)


def test_every_voice_that_is_long_enough_is_handed_on() -> None:
    first, second = sound("speaker-1", 30.0), sound("speaker-2", 2.0, (1.0, 0.0))
    output, content = digest(recognised({"speaker-1": 30.0, "speaker-2": 2.0}, second, first))

    assert output.voices == (first, second)  # in the order of the transcript
    assert content == {
        "speakers": [{"speaker": "speaker-1", "seconds": 30.0}, {"speaker": "speaker-2", "seconds": 2.0}],
        "skipped": [],
    }


def test_speakers_who_cannot_be_recognised_are_listed_with_the_reason() -> None:
    source = recognised(
        {"speaker-1": 30.0, "speaker-2": 1.94, "speaker-3": 0.4, "speaker-4": 9.0},
        *(sound("speaker-1", 30.0), sound("speaker-2", 1.94), sound("speaker-4", 9.0, (0.0, 0.0))),
    )
    output, content = digest(source)

    assert [voice.speaker for voice in output.voices] == ["speaker-1"]
    assert content["skipped"] == [
        {"speaker": "speaker-2", "reason": "spoke 1.9 s; 2 s are needed to be recognised"},
        {"speaker": "speaker-3", "reason": "spoke too little to be recognised"},
        {"speaker": "speaker-4", "reason": "has no voice that could be compared"},
    ]


def test_the_minimum_length_can_be_set_and_changes_the_recipe() -> None:
    output, _ = digest(recognised({"speaker-1": 1.0}, sound("speaker-1", 1.0)), least_seconds=0.5)

    assert len(output.voices) == 1
    assert SpeakerEmbedding(0.5).recipe != SpeakerEmbedding().recipe


def test_a_transcript_without_speaker_labels_has_no_speakers() -> None:
    segment = Segment(0.0, 5.0, "words")
    content = transcript.as_json(Transcript("en", "m", 60.0, (segment,)))
    output, _ = digest(RecordingSource(upstream("speech-recognition", content, artifacts={voices.VOICES: b"[]"})))

    assert (output.content, output.voices) == (None, ())


def test_without_speech_there_are_no_voices_and_nothing_fails() -> None:
    output, _ = digest(RecordingSource(upstream("speech-recognition", None)))
    assert (output.content, output.voices) == (None, ())


def test_without_a_transcript_speakers_cannot_be_recognised() -> None:
    with pytest.raises(UpstreamMissing, match=r"talk\.mp3: it has no transcript"):
        SpeakerEmbedding().digest(RecordingSource(None))


@pytest.mark.parametrize("artifact", [b"", b"{", b"[1]", b'[{"speaker": "speaker-1"}]', b"\xff\xfe"])
def test_without_voices_it_says_how_to_get_them(artifact: bytes) -> None:
    with pytest.raises(EngineUnavailable, match=r"chyme weights voices.*chyme reset --digester speech-recognition"):
        SpeakerEmbedding().digest(recognised({"speaker-1": 9.0}, artifact=artifact))


def test_only_what_can_be_listened_to_has_speakers() -> None:
    applying = [
        kind
        for kind in Kind
        if SpeakerEmbedding().can_digest(File(1, "f", "f", kind, "", Stamp("1", "1", 1, 0), "hash", 1))
    ]
    assert applying == [Kind.AUDIO, Kind.VIDEO]
    assert not SpeakerEmbedding.promises.reusable
