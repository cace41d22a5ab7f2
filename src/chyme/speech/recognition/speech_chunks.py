"""Cut the speech of a recording into stretches that the recogniser takes one by one, each by itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from chyme.speech.recognition.audio_stream import RATE
from chyme.speech.recognition.voice_activity import ActivityRules, SpeechDetector, SpeechSpan

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Samples = NDArray[np.float32]

LENGTH = 20.0  # seconds; measured: a stretch of 28 takes the encoder twice as long for each second
FAR = 2.0  # a pause of more seconds always ends a stretch


@dataclass(frozen=True, slots=True)
class SpeechChunk:
    """Some seconds of the file without long pauses, and the speech in them."""

    spans: tuple[SpeechSpan, ...]
    samples: Samples = field(compare=False, repr=False)  # from the start of the first span to the end of the last

    @property
    def start(self) -> float:
        return self.spans[0].start

    @property
    def end(self) -> float:
        return self.spans[-1].end

    @property
    def place(self) -> tuple[int, int]:
        """Which samples of the file it is."""
        return round(self.start * RATE), round(self.end * RATE)


class SpeechChunker:
    """Goes through the sound once. In memory are one stretch and what may become the next."""

    def __init__(self, rules: ActivityRules | None = None) -> None:
        self._activity = SpeechDetector(rules)
        self._tail = _Tail()
        self._open: list[SpeechSpan] = []  # speech of the stretch that is not closed yet

    @property
    def seconds(self) -> float:
        """How much has been heard."""
        return self._tail.end / RATE

    @property
    def done_until(self) -> float:
        """The second up to which all speech has been given out."""
        return self._open[0].start if self._open else min(self.seconds, self._activity.settled_until)

    def cut(self, pieces: Iterable[Samples]) -> Iterator[SpeechChunk]:
        """The stretches, in order; most of them no longer than LENGTH, and none longer than speech without a pause."""
        for piece in pieces:
            self._tail.add(piece)
            for span in self._activity.feed(piece):
                yield from self._take(span)
            if self._open and self._activity.settled_until - self._open[-1].end > FAR:
                yield self._closed(len(self._open))
            self._tail.forget(self._open[0].start if self._open else self._activity.settled_until)
        for span in self._activity.finish():
            yield from self._take(span)
        if self._open:
            yield self._closed(len(self._open))

    def _take(self, span: SpeechSpan) -> Iterator[SpeechChunk]:
        if self._open and span.start - self._open[-1].end > FAR:
            yield self._closed(len(self._open))
        self._open.append(span)
        while len(self._open) > 1 and self._open[-1].end - self._open[0].start > LENGTH:
            yield self._closed(self._widest_pause())

    def _widest_pause(self) -> int:
        """How many spans come before the best place to cut: a long pause, rather late than early."""
        first, spans = self._open[0].start, self._open
        pauses = [(after.start - before.end, number) for number, (before, after) in enumerate(pairwise(spans), 1)]
        late = [(pause, number) for pause, number in pauses if spans[number - 1].end - first >= LENGTH / 2]
        return max(late or pauses)[1]

    def _closed(self, count: int) -> SpeechChunk:
        spans, self._open = tuple(self._open[:count]), self._open[count:]
        return SpeechChunk(spans, self._tail.between(spans[0].start, spans[-1].end))


class _Tail:
    """The last part of a sound."""

    def __init__(self) -> None:
        self.end = 0  # samples heard
        self._pieces: list[Samples] = []
        self._from = 0  # the first sample that is still here

    def add(self, piece: Samples) -> None:
        self._pieces.append(piece)
        self.end += len(piece)

    def forget(self, before: float) -> None:
        """Whole pieces before this second may go."""
        keep = int(before * RATE)
        while self._pieces and self._from + len(self._pieces[0]) <= keep:
            self._from += len(self._pieces.pop(0))

    def between(self, start: float, end: float) -> Samples:
        import numpy

        begin, over, at = round(start * RATE), round(end * RATE), self._from
        parts = []
        for piece in self._pieces:
            if at < over and at + len(piece) > begin:
                parts.append(piece[max(0, begin - at) : over - at])
            at += len(piece)
        return numpy.concatenate(parts) if parts else numpy.zeros(0, numpy.float32)
