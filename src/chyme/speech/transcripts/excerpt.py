"""As much of a transcript as a model may receive: all of it, or its beginning, middle and end."""

from __future__ import annotations

import json
from collections.abc import Sequence

from chyme.model import Segment
from chyme.speech.transcripts.json_format import format_speaker_label
from chyme.speech.transcripts.summary import format_clock
from chyme.text.excerpts import Excerpts, take_excerpts

_JOINED_CHARACTERS = 400  # maximum characters to which one speaker's segments are joined
_MAX_LINE_CHARACTERS = 2000  # maximum characters of a line, for segments of any length
_GAP = json.dumps({"left_out": "a part of the recording"})


def excerpt(segments: Sequence[Segment], characters: int) -> Excerpts:
    """Lines of JSON, each with time and speaker; if there are too many, lines that say what is left out."""
    return take_excerpts(_make_lines(segments), characters, _GAP)


def _make_lines(segments: Sequence[Segment]) -> list[str]:
    joined: list[Segment] = []
    for segment in segments:
        text = " ".join(segment.text.split())
        if not text:
            continue
        last = joined[-1] if joined else None
        if last and last.speaker == segment.speaker and len(last.text) + len(text) < _JOINED_CHARACTERS:
            joined[-1] = Segment(last.start, segment.end, f"{last.text} {text}", last.speaker)
        else:
            joined.append(Segment(segment.start, segment.end, text, segment.speaker))
    return [
        _format_line(segment, segment.text[offset : offset + _MAX_LINE_CHARACTERS])
        for segment in joined
        for offset in range(0, len(segment.text), _MAX_LINE_CHARACTERS)
    ]


def _format_line(segment: Segment, text: str) -> str:
    fields = {"time": format_clock(segment.start)}
    if segment.speaker is not None:
        fields["speaker"] = format_speaker_label(segment.speaker)
    return json.dumps({**fields, "text": text}, ensure_ascii=False)
