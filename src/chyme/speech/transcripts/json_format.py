"""A transcript as JSON and back: the content of speech-recognition and of its cleanup."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from chyme.model import Segment, Transcript, Word


def as_json(transcript: Transcript, **more: object) -> str:
    """The content of a digest; `more` are fields that only one digester has."""
    told: dict[str, object] = {
        "text": "\n".join(segment.text for segment in transcript.segments),
        "language": transcript.language,
        "model": transcript.model,
        "duration": round(transcript.duration, 2),
        "segments": [_segment(segment) for segment in transcript.segments],
        "speakers": [
            {"speaker": speaker, "seconds": round(seconds, 2)}
            for speaker, seconds in speaking_times(transcript.segments)
        ],
        **more,
    }
    if transcript.note:
        told["note"] = transcript.note
    return json.dumps(told, ensure_ascii=False, separators=(",", ":"))


def from_json(content: str) -> Transcript:
    """What `as_json` wrote."""
    told: dict[str, Any] = json.loads(content)
    return Transcript(
        told["language"],
        told["model"],
        told["duration"],
        tuple(
            Segment(
                row["start"],
                row["end"],
                row["text"],
                row["speaker"],
                tuple(Word(word["word"], word["start"], word["end"], word["probability"]) for word in row["words"]),
            )
            for row in told["segments"]
        ),
        told.get("note"),
    )


def speaking_times(segments: Iterable[Segment]) -> list[tuple[str, float]]:
    """How long each speaker spoke, in order of appearance."""
    seconds: dict[str, float] = {}
    for segment in segments:
        if segment.speaker is not None:
            seconds[segment.speaker] = seconds.get(segment.speaker, 0.0) + segment.end - segment.start
    return list(seconds.items())


def speaker_label(number: int) -> str:
    """What the speakers of a file are called before anybody knows them; counted from 1."""
    return f"speaker-{number}"


def format_speaker_label(label: str) -> str:
    """A label as people read it: Speaker 1."""
    return label.replace("-", " ", 1).capitalize()


def _segment(segment: Segment) -> dict[str, object]:
    return {
        "start": round(segment.start, 2),
        "end": round(segment.end, 2),
        "text": segment.text,
        "speaker": segment.speaker,
        "words": _words(segment.words),
    }


def _words(words: Sequence[Word]) -> list[dict[str, object]]:
    return [
        {
            "word": word.word,
            "start": round(word.start, 2),
            "end": round(word.end, 2),
            "probability": round(word.probability, 3),
        }
        for word in words
    ]
