"""Recognise all speech of a recording here: one pass through its sound, several stretches at a time."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from chyme.speech.media.limits import MediaLimits
from chyme.speech.media.preview import Recording
from chyme.speech.recognition.audio_stream import read_samples
from chyme.speech.recognition.checkpoints import ChunkCheckpoints, ChunkResult, Place
from chyme.speech.recognition.hallucination_filter import WhisperWord, filter_hallucinations
from chyme.speech.recognition.speech_chunks import SpeechChunk, SpeechChunker
from chyme.speech.recognition.voice_activity import SpeechSpan
from chyme.speech.recognition.whisper import SURE, EncodedAudio, Whisper, load_for_settings
from chyme.speech.recognition.whisper_settings import SpeechSettings
from chyme.speech.voices.window import Window

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Samples = NDArray[np.float32]

AHEAD = 2  # stretches that wait for each one that is being heard
LANGUAGE_SAMPLES = 3  # stretches listened to at most before the language is settled …
ENOUGH = 5.0  # … and seconds of them, when it is clear before
COUNTED = 10.0  # seconds for which one stretch counts at most

Embed = Callable[["Samples", float, Sequence[SpeechSpan]], Sequence[Window]]


@dataclass(frozen=True, slots=True)
class VoiceEmbedder:
    """What hears how voices sound: `embed` takes samples, the second they begin at, and the speech in them."""

    model: str
    embed: Embed


@dataclass(frozen=True, slots=True)
class RecognitionResult:
    """What was said in a recording. `words` are in order; times are seconds into the file."""

    language: str | None  # None when nobody spoke
    seconds: float  # how much sound there is
    words: tuple[WhisperWord, ...]
    windows: tuple[Window, ...]


def recognise(
    recording: Recording,
    limits: MediaLimits,
    settings: SpeechSettings,
    scratch: Path,
    voices: VoiceEmbedder | None = None,
    progress: Callable[[float], None] = lambda seconds: None,
) -> RecognitionResult:
    """Hears what is not kept in `scratch` from an attempt before. `progress` is told seconds of sound that are done.

    Raises UnreadableFile, UnsupportedFile or EngineUnavailable.
    """
    kept = ChunkCheckpoints(scratch, voices.model if voices else None)
    stretches = SpeechChunker()
    places: list[Place] = []
    with (
        closing(read_samples(recording, limits)) as pieces,
        ThreadPoolExecutor(settings.workers, thread_name_prefix="speech") as threads,
    ):
        work = _Work(threads, kept, settings, voices, lambda running: progress(min([*running, stretches.done_until])))
        try:
            for stretch in stretches.cut(work.watched(pieces)):
                places.append(stretch.place)
                if kept.get(stretch.place) is None:
                    work.take(stretch)
            work.finish()
            progress(stretches.seconds)
        except BaseException:
            threads.shutdown(wait=False, cancel_futures=True)
            raise
    done = [one for place in places if (one := kept.get(place)) is not None]
    return RecognitionResult(
        settings.language or kept.language if any(one.words for one in done) else None,
        stretches.seconds,
        tuple(word for one in done for word in one.words),
        tuple(window for one in done for window in one.windows),
    )


class _Work:
    """Stretches on their way to the threads, few at a time."""

    def __init__(
        self,
        threads: ThreadPoolExecutor,
        kept: ChunkCheckpoints,
        settings: SpeechSettings,
        voices: VoiceEmbedder | None,
        progress: Callable[[list[float]], None],
    ) -> None:
        """`progress` is told where the stretches begin that are not done yet."""
        self._threads = threads
        self._kept = kept
        self._settings = settings
        self._voices = voices
        self._progress = progress
        self._model: Whisper | None = None
        self._language = settings.language or kept.language
        self._tasted: list[tuple[SpeechChunk, EncodedAudio]] = []  # they wait for the language
        self._chances: dict[str, float] = {}
        self._running: dict[Future[None], float] = {}  # and where each stretch begins

    def watched(self, pieces: Iterator[Samples]) -> Iterator[Samples]:
        """The pieces as they are; on the way, progress is told."""
        for piece in pieces:
            yield piece
            self._collect(wait(self._running, timeout=0).done)

    def take(self, stretch: SpeechChunk) -> None:
        if self._model is None:
            self._model = load_for_settings(self._settings)
        if self._language is None:
            self._taste(self._model, stretch)
        else:
            self._start(self._model, stretch, None, self._language)

    def finish(self) -> None:
        if self._tasted and self._model:
            self._settle(self._model)
        while self._running:
            self._collect(wait(self._running, return_when=FIRST_COMPLETED).done)

    def _taste(self, model: Whisper, stretch: SpeechChunk) -> None:
        """Listens for the language only. What was heard for that is used again for the words."""
        ear = model.encode(stretch.samples)
        told = model.detect_language(ear)
        weight = min(COUNTED, stretch.end - stretch.start)
        for language, probability in told.items():
            self._chances[language] = self._chances.get(language, 0.0) + weight * probability
        self._tasted.append((stretch, ear))
        clear = max(told.values()) >= SURE and sum(one.end - one.start for one, _ in self._tasted) >= ENOUGH
        if clear or len(self._tasted) >= LANGUAGE_SAMPLES:
            self._settle(model)

    def _settle(self, model: Whisper) -> None:
        self._language = max(self._chances, key=self._chances.__getitem__)
        self._kept.save_language(self._language)
        tasted, self._tasted = self._tasted, []
        for stretch, ear in tasted:
            self._start(model, stretch, ear, self._language)

    def _start(self, model: Whisper, stretch: SpeechChunk, ear: EncodedAudio | None, language: str) -> None:
        while len(self._running) >= AHEAD * self._settings.workers + 1:
            self._collect(wait(self._running, return_when=FIRST_COMPLETED).done)
        self._running[self._threads.submit(self._hear, model, stretch, ear, language)] = stretch.start

    def _hear(self, model: Whisper, stretch: SpeechChunk, ear: EncodedAudio | None, language: str) -> None:
        """In a thread."""
        heard = model.transcribe(ear or model.encode(stretch.samples), language)
        windows = self._voices.embed(stretch.samples, stretch.start, stretch.spans) if self._voices else ()
        self._kept.add(stretch.place, ChunkResult(_placed(filter_hallucinations(heard), stretch), tuple(windows)))
        _give_back()

    def _collect(self, done: set[Future[None]]) -> None:
        """Raises what went wrong in a thread."""
        for one in done:
            del self._running[one]
            one.result()
        begins = [*self._running.values(), *(stretch.start for stretch, _ in self._tasted)]
        self._progress(begins)


def _give_back() -> None:
    """Memory that is free in pieces goes back to the system: without, a recording of hours would take ever more."""
    with suppress(AttributeError):  # only the GNU library has it
        ctypes.CDLL(None).malloc_trim(0)


def _placed(words: Sequence[WhisperWord], stretch: SpeechChunk) -> tuple[WhisperWord, ...]:
    """With times of the file. A word that reaches into a pause is cut to where somebody speaks."""
    placed: list[WhisperWord] = []
    over = stretch.start
    for word in words:
        start, end = stretch.start + word.start, stretch.start + word.end
        shares = [(min(end, span.end) - max(start, span.start), span) for span in stretch.spans]
        share, span = max(shares, key=lambda one: one[0])
        if share > 0:
            start, end = max(start, span.start), min(end, span.end)
        start = max(over, start)
        over = min(max(start, end), stretch.end)
        placed.append(replace(word, start=min(start, over), end=over))
    return tuple(placed)
