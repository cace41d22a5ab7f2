"""Cut the speech of a recording into chunks that are recognised independently."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from chyme.speech.recognition.audio_stream import RATE, SampleBuffer
from chyme.speech.recognition.voice_activity import ActivityRules, SpeechDetector, SpeechSpan

if TYPE_CHECKING:
    from chyme.speech.recognition.audio_stream import Samples

LENGTH = 20.0  # seconds; measured: with chunks of 28, the encoder takes twice as long per second
MAX_PAUSE = 2.0  # a pause of more seconds always ends a chunk


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
        """First and last sample in the file."""
        return round(self.start * RATE), round(self.end * RATE)


class SpeechChunker:
    """Goes through the sound once. Keeps one chunk, and what may become the next, in memory."""

    def __init__(self, rules: ActivityRules | None = None) -> None:
        self._activity = SpeechDetector(rules)
        self._buffer = SampleBuffer()
        self._open: list[SpeechSpan] = []  # speech of the unfinished chunk

    @property
    def seconds(self) -> float:
        """Seconds of sound received."""
        return self._buffer.end / RATE

    @property
    def done_until(self) -> float:
        """The second up to which all speech has been yielded."""
        return self._open[0].start if self._open else min(self.seconds, self._activity.settled_until)

    def cut(self, pieces: Iterable[Samples]) -> Iterator[SpeechChunk]:
        """Yield the chunks in order; most are no longer than LENGTH, and none is longer than speech without a pause."""
        for piece in pieces:
            self._buffer.append(piece)
            for span in self._activity.feed(piece):
                yield from self._add_span(span)
            if self._open and self._activity.settled_until - self._open[-1].end > MAX_PAUSE:
                yield self._close_chunk(len(self._open))
            keep_from = self._open[0].start if self._open else self._activity.settled_until
            self._buffer.drop_before(int(keep_from * RATE))
        for span in self._activity.finish():
            yield from self._add_span(span)
        if self._open:
            yield self._close_chunk(len(self._open))

    def _add_span(self, span: SpeechSpan) -> Iterator[SpeechChunk]:
        if self._open and span.start - self._open[-1].end > MAX_PAUSE:
            yield self._close_chunk(len(self._open))
        self._open.append(span)
        while len(self._open) > 1 and self._open[-1].end - self._open[0].start > LENGTH:
            yield self._close_chunk(self._widest_pause())

    def _widest_pause(self) -> int:
        """Return how many spans precede the best place to cut: a long pause, preferably late."""
        first, spans = self._open[0].start, self._open
        pauses = [(after.start - before.end, number) for number, (before, after) in enumerate(pairwise(spans), 1)]
        late = [(pause, number) for pause, number in pauses if spans[number - 1].end - first >= LENGTH / 2]
        return max(late or pauses)[1]

    def _close_chunk(self, count: int) -> SpeechChunk:
        spans, self._open = tuple(self._open[:count]), self._open[count:]
        return SpeechChunk(spans, self._buffer.cut(spans[0].start, spans[-1].end))
