"""As much of a transcript as a model may be sent: all of it, or its beginning, middle and end."""

from __future__ import annotations

import json
from collections.abc import Sequence

from chyme.model import Segment
from chyme.speech.transcripts.json_format import format_speaker_label
from chyme.speech.transcripts.summary import format_clock
from chyme.text.excerpts import Excerpts, take_excerpts

_LINE = 400  # characters that one speaker's segments are joined up to
_LONGEST = 2000  # characters of a line, however long a segment is
_GAP = json.dumps({"left_out": "a part of the recording"})


def excerpt(segments: Sequence[Segment], characters: int) -> Excerpts:
    """Lines of JSON, each with its time and speaker; where there are too many, lines that tell what is left out."""
    return take_excerpts(_lines(segments), characters, _GAP)


def _lines(segments: Sequence[Segment]) -> list[str]:
    joined: list[Segment] = []
    for segment in segments:
        text = " ".join(segment.text.split())
        if not text:
            continue
        last = joined[-1] if joined else None
        if last and last.speaker == segment.speaker and len(last.text) + len(text) < _LINE:
            joined[-1] = Segment(last.start, segment.end, f"{last.text} {text}", last.speaker)
        else:
            joined.append(Segment(segment.start, segment.end, text, segment.speaker))
    return [
        _line(segment, segment.text[at : at + _LONGEST])
        for segment in joined
        for at in range(0, len(segment.text), _LONGEST)
    ]


def _line(segment: Segment, text: str) -> str:
    told = {"time": format_clock(segment.start)}
    if segment.speaker is not None:
        told["speaker"] = format_speaker_label(segment.speaker)
    return json.dumps({**told, "text": text}, ensure_ascii=False)
