"""Where somebody speaks: the Silero model listens along and tells each stretch of speech as it ends."""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chyme.errors import EngineUnavailable
from chyme.models.weights.onnx_session import open_session
from chyme.speech.recognition.audio_stream import RATE

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Samples = NDArray[np.float32]

WINDOW, CONTEXT = 512, 64  # samples the model hears at once, and of those before that go along
STATE = 128  # numbers the model remembers, twice
TOGETHER = 32  # windows given to the model in one call: about a second
ENOUGH = 600  # windows of nothing at all after which the model is not asked: hours of nothing must not cost hours
NOTICED = 0.098  # seconds of quiet after which speech that is too long may be cut
_MODEL = "silero_vad_v6.onnx"


@dataclass(frozen=True, slots=True)
class SpeechSpan:
    """Somebody speaks from here to there, in seconds into the file."""

    start: float
    end: float


@dataclass(frozen=True, slots=True)
class ActivityRules:
    """What counts as speech. All times in seconds."""

    threshold: float = 0.5  # probability from which speech begins
    quiet: float = 0.35  # probability below which it may end
    min_speech: float = 0.25  # what is shorter is no speech
    min_silence: float = 0.5  # a pause that is shorter does not end it
    pad: float = 0.3  # kept before and after
    longest: float = 28.0  # what is longer is cut, at its last pause if it has one


class SpeechDetector:
    """Hears pieces of any length at 16 kHz and tells the speech in them, in order and without overlap.

    The rules are those of faster_whisper.vad; here they hold for sound that never is in memory as a whole.
    """

    def __init__(self, rules: ActivityRules | None = None) -> None:
        self._rules = rules or ActivityRules()
        self._model = _Model()
        self._steps = _Steps(self._rules)
        self._length = 0  # samples heard
        self._last: SpeechSpan | None = None  # its end waits for what comes next

    @property
    def settled_until(self) -> float:
        """Nothing that is still to be told begins before this second."""
        if self._last is not None:
            return self._last.start
        begun = self._steps.begun if self._steps.begun is not None else self._steps.at
        return max(0.0, begun / RATE - self._rules.pad)

    def feed(self, piece: Samples) -> list[SpeechSpan]:
        """The speech that is over, as far as that is certain by now."""
        self._length += len(piece)
        told = self._padded(self._steps.over(self._model.hear(piece)))
        return [*told, *self._alone()]

    def finish(self) -> list[SpeechSpan]:
        """What is left, when there is no more to hear."""
        spoken = [*self._steps.over(self._model.finish()), *self._steps.finish(self._length)]
        told = self._padded(iter(spoken))
        if self._last is not None:
            told.append(SpeechSpan(self._last.start, min(self._length / RATE, self._last.end + self._rules.pad)))
            self._last = None
        return told

    def _padded(self, spoken: Iterator[tuple[int, int]]) -> list[SpeechSpan]:
        """With some sound around each; where two are close, they share what is between them."""
        pad, told = self._rules.pad, []
        for begin, over in spoken:
            start, end = begin / RATE, over / RATE
            if self._last is None:
                start = max(0.0, start - pad)
            else:
                share = min(pad, (start - self._last.end) / 2)
                told.append(SpeechSpan(self._last.start, self._last.end + share))
                start -= share
            self._last = SpeechSpan(start, end)
        return told

    def _alone(self) -> list[SpeechSpan]:
        """The last span, once whatever follows is too far away to share a pause with it."""
        if self._last is None:
            return []
        following = self._steps.begun if self._steps.begun is not None else self._steps.at
        if following / RATE - self._last.end < 2 * self._rules.pad:
            return []
        told = SpeechSpan(self._last.start, self._last.end + self._rules.pad)
        self._last = None
        return [told]


class _Steps:
    """From the probability of each window to stretches of speech, in samples."""

    def __init__(self, rules: ActivityRules) -> None:
        self._rules = rules
        self._most = rules.longest * RATE - WINDOW - 2 * rules.pad * RATE
        self.at = 0  # where the next window begins
        self.begun: int | None = None  # where the present speech began
        self._quiet_from: int | None = None  # it may have ended here
        self._pause: tuple[int, int | None] | None = None  # where it may be cut, and where it then went on

    def over(self, probabilities: Iterator[float]) -> Iterator[tuple[int, int]]:
        """Each stretch whose end has been heard."""
        for probability in probabilities:
            yield from self._step(probability)
            self.at += WINDOW

    def finish(self, length: int) -> Iterator[tuple[int, int]]:
        if self.begun is not None and length - self.begun > self._rules.min_speech * RATE:
            yield self.begun, length
        self.begun = None

    def _step(self, probability: float) -> Iterator[tuple[int, int]]:
        rules = self._rules
        if probability >= rules.threshold:
            if self._quiet_from is not None:
                self._quiet_from = None
                if self._pause and self._pause[1] is None:
                    self._pause = self._pause[0], self.at
            if self.begun is None:
                self.begun = self.at
                return
        if self.begun is None:
            return
        if self.at - self.begun > self._most:
            end, again = self._pause or (self.at, None)
            yield self.begun, end
            self._rest(again)
            if self.begun is None:
                return
        if probability < rules.quiet:
            if self._quiet_from is None:
                self._quiet_from = self.at
            if self.at - self._quiet_from > NOTICED * RATE:
                self._pause = self._quiet_from, None
            if self.at - self._quiet_from >= rules.min_silence * RATE:
                if self._quiet_from - self.begun > rules.min_speech * RATE:
                    yield self.begun, self._quiet_from
                self._rest(None)

    def _rest(self, again: int | None) -> None:
        self.begun, self._quiet_from, self._pause = again, None, None


class _Model:
    """Silero, one window after the other, with what it remembers."""

    def __init__(self) -> None:
        import numpy

        self._session = _session()
        self._memory = (numpy.zeros((1, 1, STATE), numpy.float32), numpy.zeros((1, 1, STATE), numpy.float32))
        self._context = numpy.zeros(CONTEXT, dtype=numpy.float32)
        self._rest = numpy.zeros(0, dtype=numpy.float32)
        self._nothing = 0  # windows without any sound up to now

    def hear(self, piece: Samples) -> Iterator[float]:
        """The probability of speech in every whole window."""
        import numpy

        samples = numpy.concatenate([self._rest, piece])
        whole = len(samples) // WINDOW * WINDOW
        self._rest = samples[whole:].copy()
        for at in range(0, whole, TOGETHER * WINDOW):
            yield from self._asked(samples[at : min(whole, at + TOGETHER * WINDOW)])

    def finish(self) -> Iterator[float]:
        """The last window, filled up with silence."""
        import numpy

        if len(self._rest):
            yield from self._asked(numpy.pad(self._rest, (0, WINDOW - len(self._rest))))
            self._rest = self._rest[:0]

    def _asked(self, samples: Samples) -> list[float]:
        import numpy

        windows = samples.reshape(-1, WINDOW)
        before = numpy.vstack([self._context, windows[:-1, -CONTEXT:]])
        self._context = windows[-1, -CONTEXT:].copy()
        asked = self._worth_asking(windows)
        probabilities = numpy.zeros(len(windows), dtype=numpy.float32)
        if any(asked):
            heard = numpy.hstack([before, windows])[asked]
            told, *memory = self._session.run(None, {"input": heard, "h": self._memory[0], "c": self._memory[1]})
            self._memory = (memory[0], memory[1])
            probabilities[asked] = told.reshape(-1)
        numbers: list[float] = probabilities.tolist()
        return numbers

    def _worth_asking(self, windows: Samples) -> list[bool]:
        import numpy

        asked = []
        for sounds in numpy.any(windows, axis=1):
            self._nothing = 0 if sounds else self._nothing + 1
            asked.append(self._nothing <= ENOUGH)
        return asked


@functools.cache
def _session() -> Any:
    return open_session(str(_path()))


def _path() -> Path:
    found = importlib.util.find_spec("faster_whisper")  # looks for the package without importing it
    folders = list(found.submodule_search_locations or ()) if found else []
    for folder in folders:
        path = Path(folder) / "assets" / _MODEL
        if path.is_file():
            return path
    raise EngineUnavailable("the model that hears where somebody speaks is not there; run 'pip install faster-whisper'")
