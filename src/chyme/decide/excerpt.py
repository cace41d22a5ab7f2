"""As much of a transcript as a model may be sent: all of it, or its beginning, middle and end."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from chyme.decide.summary import clock
from chyme.decide.transcript import in_words
from chyme.model import Segment

_LINE = 400  # characters that one speaker's segments are joined up to
_LONGEST = 2000  # characters of a line, however long a segment is
_SHARES = (0.4, 0.3, 0.3)  # of the budget: beginning, middle, end


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Lines of JSON, each with its time and speaker, and which part of the transcript they are."""

    text: str
    share: float  # from 0 to 1


def excerpt(segments: Sequence[Segment], characters: int) -> Excerpt:
    """The transcript if it fits, else three stretches of it, with lines that tell what is left out."""
    lines = _lines(segments)
    sizes = [len(line) + 1 for line in lines]
    total = sum(sizes)
    if total <= characters:
        return Excerpt("\n".join(lines), 1.0)
    first, middle, last = (int(characters * share) for share in _SHARES)
    head = _fitting(sizes, 0, len(lines), first)
    tail = len(lines) - _fitting(sizes[::-1], 0, len(lines) - head, last)
    start = _middle(sizes, head, tail, middle)
    stop = start + _fitting(sizes, start, tail, middle)
    kept = [range(head), range(start, stop), range(tail, len(lines))]
    told: list[str] = []
    for stretch in kept:
        if told and stretch:
            told.append(json.dumps({"left_out": "a part of the recording"}))
        told += [lines[at] for at in stretch]
    taken = sum(sizes[at] for stretch in kept for at in stretch)
    return Excerpt("\n".join(told), taken / total)


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
    told = {"time": clock(segment.start)}
    if segment.speaker is not None:
        told["speaker"] = in_words(segment.speaker)
    return json.dumps({**told, "text": text}, ensure_ascii=False)


def _fitting(sizes: Sequence[int], start: int, stop: int, characters: int) -> int:
    """How many lines from `start` on fit; at least one where there is one, as a line may be longer than the budget."""
    count = taken = 0
    while start + count < stop and (taken + sizes[start + count] <= characters or count == 0):
        taken += sizes[start + count]
        count += 1
    return count


def _middle(sizes: Sequence[int], start: int, stop: int, characters: int) -> int:
    """Where a stretch of this length begins that stands in the middle of the rest."""
    skip = (sum(sizes[start:stop]) - characters) // 2
    at = start
    while at < stop - 1 and skip > sizes[at]:
        skip -= sizes[at]
        at += 1
    return at
