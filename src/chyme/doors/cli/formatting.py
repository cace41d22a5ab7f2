"""How commands print counts, failures and the content of recordings."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from chyme.doors.cli.vault_options import printable
from chyme.model import Digest, Form, Segment
from chyme.speech.transcripts.json_format import format_speaker_label, from_json
from chyme.text.display import format_time

Names = Mapping[str, str]  # of people, by the label of the speaker in this file


def format_count(count: int, what: str) -> str:
    """Format a count with its noun: 1 file, 2,000 files."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def format_failures(failed: Iterable[Digest]) -> list[str]:
    """Describe the first failure of each file and how many other digests of it failed."""
    by_file: dict[int, list[Digest]] = {}
    for digest in failed:
        by_file.setdefault(digest.file_id, []).append(digest)
    return [_format_file(digests) for digests in by_file.values()]


def _format_file(digests: list[Digest]) -> str:
    first = min(digests, key=lambda digest: digest.updated_at)
    others = len(digests) - 1
    suffix = f" ({others} more of its digests failed)" if others else ""
    return f"{first.error_category}: {printable(first.error or '')}{suffix}"


def names_in(details: Mapping[str, Any]) -> dict[str, str]:
    """Map speaker labels to names, for those people in a file's details who have a name."""
    people: Mapping[str, Mapping[str, Any]] = details.get("people") or {}
    return {label: str(person["name"]) for label, person in people.items() if person.get("name")}


def format_digest(form: Form, content: str, names: Names) -> list[str] | None:
    """Format a digest of sound or speech as lines; None for other digests. A waveform is left out."""
    try:
        if form is Form.TRANSCRIPT:
            return _format_transcript(content, names)
        if form is Form.MEDIA_FACTS:
            preview = json.loads(content)
            return [json.dumps({key: preview[key] for key in preview if key != "peaks"}, ensure_ascii=False)]
        if form is Form.SUMMARY:
            return _format_summary(content, names)
        return _format_voices(json.loads(content), names) if form is Form.SPEAKERS else None
    except (ValueError, KeyError, TypeError, AttributeError):
        return None  # a plug-in may use another format


def _format_transcript(content: str, names: Names) -> list[str]:
    transcript = from_json(content)
    header = (transcript.language, format_time(transcript.duration), transcript.model)
    lines = [", ".join(part for part in header if part)]
    if transcript.note:
        lines.append(f"note: {transcript.note}")
    labels = {segment.speaker for segment in transcript.segments}
    show_speakers = len(labels) > 1 or any(label in names for label in labels)
    width = len(format_time(transcript.segments[-1].start)) if transcript.segments else 0
    lines += [
        f"{format_time(segment.start):>{width}}  "
        f"{_speaker_prefix(segment, names) if show_speakers else ''}{segment.text}"
        for segment in transcript.segments
    ]
    return lines


def _format_summary(content: str, names: Names) -> list[str]:
    """Replace speaker labels by names. The summary has labels, because people may get names later."""
    lines = content.splitlines()
    for label, name in names.items():
        before, after = f"- {format_speaker_label(label)}: ", f"- {name}: "
        lines = [after + line.removeprefix(before) if line.startswith(before) else line for line in lines]
    return lines


def _speaker_prefix(segment: Segment, names: Names) -> str:
    return "" if segment.speaker is None else f"{names.get(segment.speaker) or format_speaker_label(segment.speaker)}: "


def _format_voices(content: Mapping[str, Any], names: Names) -> list[str]:
    voices = [
        f"{names.get(row['speaker']) or format_speaker_label(row['speaker'])} {format_time(row['seconds'])}"
        for row in content["speakers"]
    ]
    lines = [f"voices: {', '.join(voices)}"] if voices else []
    return lines + [
        f"{format_speaker_label(row['speaker'])} left out: {row['reason']}" for row in content.get("skipped", ())
    ]
