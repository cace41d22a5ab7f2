"""Recognise all speech of a recording locally: one pass through its sound, several chunks at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from chyme.core.process_memory import release_memory
from chyme.speech.media.container import MediaLimits, Recording
from chyme.speech.recognition.audio_stream import read_samples
from chyme.speech.recognition.checkpoints import ChunkCheckpoints, ChunkResult, Place
from chyme.speech.recognition.hallucination_filter import WhisperWord, filter_hallucinations
from chyme.speech.recognition.settings import SpeechSettings
from chyme.speech.recognition.speech_chunks import SpeechChunk, SpeechChunker
from chyme.speech.recognition.whisper import SURE, EncodedAudio, Whisper, load_for_settings
from chyme.speech.voices.diarization import Window

if TYPE_CHECKING:
    from chyme.speech.recognition.audio_stream import Samples
    from chyme.speech.recognition.voice_activity import Embed

QUEUED_PER_WORKER = 2  # chunks queued per chunk being processed
LANGUAGE_SAMPLES = 3  # chunks used at most to detect the language …
CLEAR_SECONDS = 5.0  # … and seconds that suffice when the language is clear
MAX_CHUNK_WEIGHT = 10.0  # seconds that one chunk counts for at most


@dataclass(frozen=True, slots=True)
class VoiceEmbedder:
    """Computes voice embeddings: `embed` takes samples, the second they start at, and the speech in them."""

    model: str
    embed: Embed


@dataclass(frozen=True, slots=True)
class RecognitionResult:
    """The words of a recording, in order. Times are seconds into the file."""

    language: str | None  # None when there is no speech
    seconds: float  # length of the sound
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
    """Recognise what `scratch` does not hold from an earlier attempt. `progress` receives the seconds of sound done.

    Raises UnreadableFile, UnsupportedFile or EngineUnavailable.
    """
    checkpoints = ChunkCheckpoints(scratch, voices.model if voices else None)
    chunker = SpeechChunker()
    places: list[Place] = []
    with (
        closing(read_samples(recording, limits)) as pieces,
        ThreadPoolExecutor(settings.workers, thread_name_prefix="speech") as threads,
    ):
        scheduler = _ChunkScheduler(
            threads, checkpoints, settings, voices, lambda starts: progress(min([*starts, chunker.done_until]))
        )
        try:
            for chunk in chunker.cut(scheduler.with_progress(pieces)):
                places.append(chunk.place)
                if checkpoints.get(chunk.place) is None:
                    scheduler.add_chunk(chunk)
            scheduler.finish()
            progress(chunker.seconds)
        except BaseException:
            threads.shutdown(wait=False, cancel_futures=True)
            raise
    results = [result for place in places if (result := checkpoints.get(place)) is not None]
    return RecognitionResult(
        settings.language or checkpoints.language if any(result.words for result in results) else None,
        chunker.seconds,
        tuple(word for result in results for word in result.words),
        tuple(window for result in results for window in result.windows),
    )


class _ChunkScheduler:
    """Hands chunks to the threads, few at a time."""

    def __init__(
        self,
        threads: ThreadPoolExecutor,
        checkpoints: ChunkCheckpoints,
        settings: SpeechSettings,
        voices: VoiceEmbedder | None,
        progress: Callable[[list[float]], None],
    ) -> None:
        """`progress` receives the start times of the chunks that are not done yet."""
        self._threads = threads
        self._checkpoints = checkpoints
        self._settings = settings
        self._voices = voices
        self._progress = progress
        self._model: Whisper | None = None
        self._language = settings.language or checkpoints.language
        self._language_samples: list[tuple[SpeechChunk, EncodedAudio]] = []  # chunks waiting for the language
        self._language_scores: dict[str, float] = {}
        self._tasks: dict[Future[None], float] = {}  # task → start of its chunk

    def with_progress(self, pieces: Iterator[Samples]) -> Iterator[Samples]:
        """Yield the pieces unchanged, and report progress in between."""
        for piece in pieces:
            yield piece
            self._collect(wait(self._tasks, timeout=0).done)

    def add_chunk(self, chunk: SpeechChunk) -> None:
        if self._model is None:
            self._model = load_for_settings(self._settings)
        if self._language is None:
            self._sample_language(self._model, chunk)
        else:
            self._start(self._model, chunk, None, self._language)

    def finish(self) -> None:
        if self._language_samples and self._model:
            self._decide_language(self._model)
        while self._tasks:
            self._collect(wait(self._tasks, return_when=FIRST_COMPLETED).done)

    def _sample_language(self, model: Whisper, chunk: SpeechChunk) -> None:
        """Detect the language only. The encoded audio is reused for the words."""
        encoded = model.encode(chunk.samples)
        probabilities = model.detect_language(encoded)
        weight = min(MAX_CHUNK_WEIGHT, chunk.end - chunk.start)
        for language, probability in probabilities.items():
            self._language_scores[language] = self._language_scores.get(language, 0.0) + weight * probability
        self._language_samples.append((chunk, encoded))
        is_clear = (
            max(probabilities.values()) >= SURE
            and sum(sample.end - sample.start for sample, _ in self._language_samples) >= CLEAR_SECONDS
        )
        if is_clear or len(self._language_samples) >= LANGUAGE_SAMPLES:
            self._decide_language(model)

    def _decide_language(self, model: Whisper) -> None:
        self._language = max(self._language_scores, key=self._language_scores.__getitem__)
        self._checkpoints.save_language(self._language)
        samples, self._language_samples = self._language_samples, []
        for chunk, encoded in samples:
            self._start(model, chunk, encoded, self._language)

    def _start(self, model: Whisper, chunk: SpeechChunk, encoded: EncodedAudio | None, language: str) -> None:
        while len(self._tasks) >= QUEUED_PER_WORKER * self._settings.workers + 1:
            self._collect(wait(self._tasks, return_when=FIRST_COMPLETED).done)
        self._tasks[self._threads.submit(self._process_chunk, model, chunk, encoded, language)] = chunk.start

    def _process_chunk(self, model: Whisper, chunk: SpeechChunk, encoded: EncodedAudio | None, language: str) -> None:
        """Transcribe one chunk and save the result. Runs in a thread."""
        result = model.transcribe(encoded or model.encode(chunk.samples), language)
        windows = self._voices.embed(chunk.samples, chunk.start, chunk.spans) if self._voices else ()
        self._checkpoints.add(
            chunk.place, ChunkResult(_shift_to_file(filter_hallucinations(result), chunk), tuple(windows))
        )
        release_memory()  # fragmented: otherwise hours of recording would take ever more

    def _collect(self, done: set[Future[None]]) -> None:
        """Remove finished tasks and report progress. Raises the error of a failed task."""
        for task in done:
            del self._tasks[task]
            task.result()
        starts = [*self._tasks.values(), *(chunk.start for chunk, _ in self._language_samples)]
        self._progress(starts)


def _shift_to_file(words: Sequence[WhisperWord], chunk: SpeechChunk) -> tuple[WhisperWord, ...]:
    """Shift words to file times. A word that extends into a pause is cut to the speech."""
    shifted: list[WhisperWord] = []
    previous_end = chunk.start
    for word in words:
        start, end = chunk.start + word.start, chunk.start + word.end
        overlaps = [(min(end, span.end) - max(start, span.start), span) for span in chunk.spans]
        overlap, span = max(overlaps, key=lambda pair: pair[0])
        if overlap > 0:
            start, end = max(start, span.start), min(end, span.end)
        start = max(previous_end, start)
        previous_end = min(max(start, end), chunk.end)
        shifted.append(replace(word, start=min(start, previous_end), end=previous_end))
    return tuple(shifted)
