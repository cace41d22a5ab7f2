"""Transcripts as JSON: the content of speech-recognition and of its cleanup."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from chyme.model import Segment, Transcript, Word

_MADE_LABEL = re.compile(r"[a-z]+-[a-z0-9]+")


def as_json(transcript: Transcript, **extra: object) -> str:
    """The content of a digest; `extra` are fields that only one digester has."""
    fields: dict[str, object] = {
        "text": "\n".join(segment.text for segment in transcript.segments),
        "language": transcript.language,
        "model": transcript.model,
        "duration": round(transcript.duration, 2),
        "segments": [_segment_fields(segment) for segment in transcript.segments],
        "speakers": [
            {"speaker": speaker, "seconds": round(seconds, 2)}
            for speaker, seconds in speaking_times(transcript.segments)
        ],
        **extra,
    }
    if transcript.note:
        fields["note"] = transcript.note
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":"))


def from_json(content: str) -> Transcript:
    """Parse what `as_json` wrote."""
    fields: dict[str, Any] = json.loads(content)
    return Transcript(
        fields["language"],
        fields["model"],
        fields["duration"],
        tuple(
            Segment(
                row["start"],
                row["end"],
                row["text"],
                row["speaker"],
                tuple(Word(word["word"], word["start"], word["end"], word["probability"]) for word in row["words"]),
            )
            for row in fields["segments"]
        ),
        fields.get("note"),
    )


def speaking_times(segments: Iterable[Segment]) -> list[tuple[str, float]]:
    """How long each speaker spoke, in order of appearance."""
    seconds: dict[str, float] = {}
    for segment in segments:
        if segment.speaker is not None:
            seconds[segment.speaker] = seconds.get(segment.speaker, 0.0) + segment.end - segment.start
    return list(seconds.items())


def format_speaker_label(label: str) -> str:
    """A label in readable form: Speaker 1. A name, as subtitles have it, stays as it is."""
    return label.replace("-", " ", 1).capitalize() if _MADE_LABEL.fullmatch(label) else label


def _segment_fields(segment: Segment) -> dict[str, object]:
    words = [
        {
            "word": word.word,
            "start": round(word.start, 2),
            "end": round(word.end, 2),
            "probability": round(word.probability, 3),
        }
        for word in segment.words
    ]
    return {
        "start": round(segment.start, 2),
        "end": round(segment.end, 2),
        "text": segment.text,
        "speaker": segment.speaker,
        "words": words,
    }
