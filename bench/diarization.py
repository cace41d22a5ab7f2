"""How wrong a list of turns is: the diarization error rate, counted frame by frame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy
from numpy.typing import NDArray

from chyme.model import Turn

FRAME = 0.01  # seconds

Frames = NDArray[numpy.bool_]


@dataclass(frozen=True, slots=True)
class Errors:
    """Seconds. Where two people speak at once, each counts."""

    spoken: float  # by the reference
    missed: float
    false_alarm: float
    confused: float

    @property
    def rate(self) -> float:
        return (self.missed + self.false_alarm + self.confused) / self.spoken


def errors(reference: Sequence[Turn], found: Sequence[Turn], collar: float = 0.0) -> Errors:
    """What is wrong, when the speakers found are given the names that fit best.

    Within `collar` seconds of where a turn of the reference begins or ends, nothing counts.
    """
    length = round(max(turn.end for turn in (*reference, *found)) / FRAME) + 1
    wanted, heard = _frames(reference, length), _frames(found, length)
    counts = numpy.ones(length, bool)
    if collar:
        for turn in reference:
            for at in (turn.start, turn.end):
                counts[max(0, round((at - collar) / FRAME)) : round((at + collar) / FRAME)] = False
    talking = numpy.sum(wanted, axis=0) * counts
    told = numpy.sum(heard, axis=0) * counts if heard else numpy.zeros(length)
    right = _best([[int((one & other & counts).sum()) for other in wanted] for one in heard])
    return Errors(
        *(
            float(frames) * FRAME
            for frames in (
                talking.sum(),
                numpy.maximum(talking - told, 0).sum(),
                numpy.maximum(told - talking, 0).sum(),
                numpy.minimum(talking, told).sum() - right,
            )
        )
    )


def read_rttm(path: Path) -> list[Turn]:
    """The turns of a file in the format of the NIST."""
    rows = (line.split() for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("SPEAKER"))
    return [Turn(float(row[3]), float(row[3]) + float(row[4]), row[7]) for row in rows]


def _frames(turns: Sequence[Turn], length: int) -> list[Frames]:
    """For each speaker, in which frames they speak."""
    speakers: dict[str, Frames] = {}
    for turn in turns:
        frames = speakers.setdefault(turn.speaker, numpy.zeros(length, bool))
        frames[round(turn.start / FRAME) : round(turn.end / FRAME)] = True
    return list(speakers.values())


def _best(shared: Sequence[Sequence[int]]) -> int:
    """The most frames that agree, when every speaker found stands for at most one of the reference."""
    best = {0: 0}  # by the set of those that are taken
    for row in shared:
        after = dict(best)
        for taken, total in best.items():
            for number, frames in enumerate(row):
                if not taken >> number & 1:
                    now = taken | 1 << number
                    after[now] = max(after.get(now, 0), total + frames)
        best = after
    return max(best.values())
