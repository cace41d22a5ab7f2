"""What is in a recording, in lines for people."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from chyme.model import Segment
from chyme.speech.transcripts.json_format import format_speaker_label, from_json

Names = Mapping[str, str]  # of people, by the speaker's label in this file

TRANSCRIPTS = ("speech-recognition", "speech-recognition-cleanup")
PREVIEW = "media-preview"
SUMMARY = "speech-recognition-summary"
VOICES = "speaker-embedding"


def format_time(seconds: float) -> str:
    """1:05, or 1:02:03 where there are hours."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def names_in(told: Mapping[str, Any]) -> dict[str, str]:
    """The people of a file who have a name, from what is told about it."""
    people: Mapping[str, Mapping[str, Any]] = told.get("people") or {}
    return {label: str(person["name"]) for label, person in people.items() if person.get("name")}


def format_digest(digester: str, content: str, names: Names) -> list[str] | None:
    """A digest of sound or speech in lines; None when it is something else. A waveform is not for reading."""
    try:
        if digester in TRANSCRIPTS:
            return _transcript(content, names)
        if digester == PREVIEW:
            told = json.loads(content)
            return [json.dumps({key: told[key] for key in told if key != "peaks"}, ensure_ascii=False)]
        if digester == SUMMARY:
            return _summary(content, names)
        return _voices(json.loads(content), names) if digester == VOICES else None
    except (ValueError, KeyError, TypeError, AttributeError):
        return None  # some plug-in's own shape


def _transcript(content: str, names: Names) -> list[str]:
    transcript = from_json(content)
    known = (transcript.language, format_time(transcript.duration), transcript.model)
    lines = [", ".join(part for part in known if part)]
    if transcript.note:
        lines.append(f"note: {transcript.note}")
    labels = {segment.speaker for segment in transcript.segments}
    told = len(labels) > 1 or any(label in names for label in labels)
    width = len(format_time(transcript.segments[-1].start)) if transcript.segments else 0
    lines += [
        f"{format_time(one.start):>{width}}  {_who(one, names) if told else ''}{one.text}"
        for one in transcript.segments
    ]
    return lines


def _summary(content: str, names: Names) -> list[str]:
    """Its points name speakers by their labels, for people may get their names later."""
    lines = content.splitlines()
    for label, name in names.items():
        before, after = f"- {format_speaker_label(label)}: ", f"- {name}: "
        lines = [after + line.removeprefix(before) if line.startswith(before) else line for line in lines]
    return lines


def _who(segment: Segment, names: Names) -> str:
    return "" if segment.speaker is None else f"{names.get(segment.speaker) or format_speaker_label(segment.speaker)}: "


def _voices(told: Mapping[str, Any], names: Names) -> list[str]:
    heard = [
        f"{names.get(row['speaker']) or format_speaker_label(row['speaker'])} {format_time(row['seconds'])}"
        for row in told["speakers"]
    ]
    lines = [f"voices: {', '.join(heard)}"] if heard else []
    return lines + [
        f"{format_speaker_label(row['speaker'])} left out: {row['reason']}" for row in told.get("skipped", ())
    ]
