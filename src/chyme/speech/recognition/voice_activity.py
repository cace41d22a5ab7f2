"""Detect speech: the Silero model reads the sound as a stream, and each span of speech is returned as it ends."""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from chyme.errors import EngineUnavailable
from chyme.models.weights.onnx_session import open_session
from chyme.speech.recognition.audio_stream import RATE

if TYPE_CHECKING:
    from chyme.speech.recognition.audio_stream import Samples
    from chyme.speech.voices.diarization import Window

    # From samples, the second at which they start, and the speech in them to the voices in it.
    Embed = Callable[[Samples, float, Sequence["SpeechSpan"]], Sequence[Window]]

WINDOW, CONTEXT = 512, 64  # samples per model input, and preceding samples passed along
STATE = 128  # size of each of the model's two state vectors
WINDOWS_PER_CALL = 32  # windows per model call: about a second
MAX_SILENT_WINDOWS = 600  # silent windows after which the model is not run: hours of silence must not cost hours
MIN_CUT_PAUSE = 0.098  # seconds of quiet after which overlong speech may be cut
_MODEL = "silero_vad_v6.onnx"


class SpeechSpan(NamedTuple):
    """A span of speech, in seconds into the file."""

    start: float
    end: float


@dataclass(frozen=True, slots=True)
class ActivityRules:
    """What counts as speech. All times in seconds."""

    threshold: float = 0.5  # probability from which speech begins
    quiet: float = 0.35  # probability below which it may end
    min_speech: float = 0.25  # anything shorter is not speech …
    min_last_speech: float = 0.1  # … unless the sound stops in it: a last word may be cut off
    min_silence: float = 0.5  # a shorter pause does not end it
    pad: float = 0.3  # sound kept before and after
    longest: float = 28.0  # longer speech is cut, at its last pause if it has one


class SpeechDetector:
    """Receives pieces of any length at 16 kHz and returns the speech in them, in order and without overlap.

    The rules are those of faster_whisper.vad, applied to sound that is never in memory as a whole.
    """

    def __init__(self, rules: ActivityRules | None = None) -> None:
        self._rules = rules or ActivityRules()
        self._model = _SileroModel()
        self._builder = _SpanBuilder(self._rules)
        self._length = 0  # samples received
        self._pending: SpeechSpan | None = None  # its end depends on what comes next

    @property
    def settled_until(self) -> float:
        """No span returned later starts before this second."""
        if self._pending is not None:
            return self._pending.start
        return max(0.0, self._builder.next_start / RATE - self._rules.pad)

    def feed(self, piece: Samples) -> list[SpeechSpan]:
        """Return the speech that is certainly over."""
        self._length += len(piece)
        spans = self._pad_spans(self._builder.finished_spans(self._model.probabilities(piece)))
        return [*spans, *self._take_settled()]

    def finish(self) -> list[SpeechSpan]:
        """Return the rest at the end of the sound."""
        speech = [*self._builder.finished_spans(self._model.finish()), *self._builder.finish(self._length)]
        spans = self._pad_spans(iter(speech))
        if self._pending is not None:
            spans.append(SpeechSpan(self._pending.start, min(self._length / RATE, self._pending.end + self._rules.pad)))
            self._pending = None
        return spans

    def _pad_spans(self, speech: Iterator[tuple[int, int]]) -> list[SpeechSpan]:
        """Add some sound around each span; spans close to each other share the pause between them."""
        pad, spans = self._rules.pad, []
        for first, last in speech:
            start, end = first / RATE, last / RATE
            if self._pending is None:
                start = max(0.0, start - pad)
            else:
                share = min(pad, (start - self._pending.end) / 2)
                spans.append(SpeechSpan(self._pending.start, self._pending.end + share))
                start -= share
            self._pending = SpeechSpan(start, end)
        return spans

    def _take_settled(self) -> list[SpeechSpan]:
        """Return the last span, once anything that follows is too far away to share a pause with it."""
        if self._pending is None:
            return []
        if self._builder.next_start / RATE - self._pending.end < 2 * self._rules.pad:
            return []
        span = SpeechSpan(self._pending.start, self._pending.end + self._rules.pad)
        self._pending = None
        return [span]


class _SpanBuilder:
    """Turns the probability of each window into spans of speech, in samples."""

    def __init__(self, rules: ActivityRules) -> None:
        self._rules = rules
        self._max_length = rules.longest * RATE - WINDOW - 2 * rules.pad * RATE
        self.position = 0  # start of the next window
        self.speech_start: int | None = None  # start of the current speech
        self._quiet_from: int | None = None  # where the speech may have ended
        self._pause: tuple[int, int | None] | None = None  # where it may be cut, and where it then continued

    @property
    def next_start(self) -> int:
        """No later span starts before this sample."""
        return self.position if self.speech_start is None else self.speech_start

    def finished_spans(self, probabilities: Iterator[float]) -> Iterator[tuple[int, int]]:
        """Yield each span whose end has been reached."""
        for probability in probabilities:
            yield from self._process_window(probability)
            self.position += WINDOW

    def finish(self, length: int) -> Iterator[tuple[int, int]]:
        if self.speech_start is not None and length - self.speech_start > self._rules.min_last_speech * RATE:
            yield self.speech_start, length
        self.speech_start = None

    def _process_window(self, probability: float) -> Iterator[tuple[int, int]]:
        rules = self._rules
        if probability >= rules.threshold:
            if self._quiet_from is not None:
                self._quiet_from = None
                if self._pause and self._pause[1] is None:
                    self._pause = self._pause[0], self.position
            if self.speech_start is None:
                self.speech_start = self.position
                return
        if self.speech_start is None:
            return
        if self.position - self.speech_start > self._max_length:
            end, resume = self._pause or (self.position, None)
            yield self.speech_start, end
            self._restart(resume)
            if self.speech_start is None:
                return
        if probability < rules.quiet:
            if self._quiet_from is None:
                self._quiet_from = self.position
            if self.position - self._quiet_from > MIN_CUT_PAUSE * RATE:
                self._pause = self._quiet_from, None
            if self.position - self._quiet_from >= rules.min_silence * RATE:
                if self._quiet_from - self.speech_start > rules.min_speech * RATE:
                    yield self.speech_start, self._quiet_from
                self._restart(None)

    def _restart(self, resume: int | None) -> None:
        self.speech_start, self._quiet_from, self._pause = resume, None, None


class _SileroModel:
    """Runs Silero on one window after another, with its state."""

    def __init__(self) -> None:
        import numpy

        self._session = _load_session()
        self._state = (numpy.zeros((1, 1, STATE), numpy.float32), numpy.zeros((1, 1, STATE), numpy.float32))
        self._context = numpy.zeros(CONTEXT, dtype=numpy.float32)
        self._rest = numpy.zeros(0, dtype=numpy.float32)
        self._silent_windows = 0  # consecutive windows without any sound

    def probabilities(self, piece: Samples) -> Iterator[float]:
        """Yield the probability of speech for every whole window."""
        import numpy

        samples = numpy.concatenate([self._rest, piece])
        usable = len(samples) // WINDOW * WINDOW
        self._rest = samples[usable:].copy()
        for start in range(0, usable, WINDOWS_PER_CALL * WINDOW):
            yield from self._predict(samples[start : min(usable, start + WINDOWS_PER_CALL * WINDOW)])

    def finish(self) -> Iterator[float]:
        """Yield the probability of the last window, padded with silence."""
        import numpy

        if len(self._rest):
            yield from self._predict(numpy.pad(self._rest, (0, WINDOW - len(self._rest))))
            self._rest = self._rest[:0]

    def _predict(self, samples: Samples) -> list[float]:
        import numpy

        windows = samples.reshape(-1, WINDOW)
        before = numpy.vstack([self._context, windows[:-1, -CONTEXT:]])
        self._context = windows[-1, -CONTEXT:].copy()
        selected = self._needs_prediction(windows)
        probabilities = numpy.zeros(len(windows), dtype=numpy.float32)
        if any(selected):
            inputs = numpy.hstack([before, windows])[selected]
            output, *state = self._session.run(None, {"input": inputs, "h": self._state[0], "c": self._state[1]})
            self._state = (state[0], state[1])
            probabilities[selected] = output.reshape(-1)
        numbers: list[float] = probabilities.tolist()
        return numbers

    def _needs_prediction(self, windows: Samples) -> list[bool]:
        import numpy

        selected = []
        for has_sound in numpy.any(windows, axis=1):
            self._silent_windows = 0 if has_sound else self._silent_windows + 1
            selected.append(self._silent_windows <= MAX_SILENT_WINDOWS)
        return selected


@functools.cache
def _load_session() -> Any:
    return open_session(str(_model_path()))


def _model_path() -> Path:
    spec = importlib.util.find_spec("faster_whisper")  # finds the package without importing it
    folders = list(spec.submodule_search_locations or ()) if spec else []
    for folder in folders:
        path = Path(folder) / "assets" / _MODEL
        if path.is_file():
            return path
    raise EngineUnavailable("the model that detects speech is missing; run 'pip install faster-whisper'")
