"""Cut the speech of a recording into files that are small enough to send. Runs in a child process; sends nothing."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chyme.errors import EngineUnavailable
from chyme.speech.media.container import MediaLimits, Recording
from chyme.speech.recognition.audio_stream import RATE, SampleBuffer, read_samples
from chyme.speech.recognition.piece_index import Piece, PreparedRecording, load_prepared, write_index
from chyme.speech.recognition.voice_activity import SpeechDetector, SpeechSpan
from chyme.speech.voices.diarization import Window

if TYPE_CHECKING:
    from chyme.speech.recognition.voice_activity import Embed

# FLAC is accepted by every such service (OpenAI, Groq, faster-whisper, whisper.cpp, vLLM, LocalAI), has half the size
# of WAV for speech, is lossless, and does not shift the sound in time as MP3 and Opus encoders do.
FORMAT = "flac"


@dataclass(frozen=True, slots=True)
class CutRules:
    """Where the sound is cut. All times in seconds."""

    longest: float = 590.0  # of a piece; services refuse more than ten minutes. At least 30: the longest speech fits
    # At 16 bits per sample FLAC needs at most 32 KB per second, so 590 seconds stay below our own limit of 20 MB
    # and the 25 MB that services allow.
    late: float = 0.8  # share of `longest` from which a piece ends at the next pause
    silence: float = 3.0  # longer silence is left out
    margin: float = 0.7  # silence that stays on either side of one that is left out


def prepare(
    recording: Recording,
    limits: MediaLimits,
    scratch: Path,
    embed: Embed | None = None,
    keep: Callable[[Sequence[Window]], None] | None = None,
    cuts: CutRules | None = None,
) -> PreparedRecording:
    """Write the pieces to send into `scratch`; do nothing if they are there already.

    `embed` receives all speech and returns the voice windows. `keep` receives all windows before the index is written:
    what it stores in `scratch` exists whenever `load_prepared` finds something.
    Raises UnreadableFile, UnsupportedFile or EngineUnavailable.
    """
    prepared = load_prepared(scratch)
    if prepared is not None:
        return prepared
    try:
        activity = SpeechDetector()
    except EngineUnavailable as error:
        raise EngineUnavailable(f"{recording.name}: {error}") from error
    windows: list[Window] = []
    with _Cutter(scratch, cuts or CutRules()) as cutter:

        def add_speech(spans: list[SpeechSpan]) -> None:
            if embed and spans:
                windows.extend(embed(cutter.buffer.cut(spans[0].start, spans[-1].end), spans[0].start, spans))
            for span in spans:
                cutter.add(span)

        for samples in read_samples(recording, limits):
            cutter.buffer.append(samples)
            add_speech(activity.feed(samples))
            cutter.settle(activity.settled_until)
        add_speech(activity.finish())
        prepared = PreparedRecording(cutter.buffer.end / RATE, cutter.finish(), tuple(windows))
    if keep:
        keep(prepared.windows)
    write_index(scratch, prepared)
    return prepared


class _Cutter:
    """Write speech into files, one after the other. Counts in samples, so that nothing is lost or doubled."""

    def __init__(self, scratch: Path, cuts: CutRules) -> None:
        self.buffer = SampleBuffer()
        self._scratch = scratch
        self._max_length = int(cuts.longest * RATE)
        self._end_at_pause_from = int(cuts.late * self._max_length)
        self._silence, self._margin = int(cuts.silence * RATE), int(cuts.margin * RATE)
        self._pieces: list[Piece] = []
        self._file: _PieceFile | None = None

    def __enter__(self) -> _Cutter:
        return self

    def __exit__(self, *raised: object) -> None:
        if self._file:
            self._file.abandon()

    def add(self, span: SpeechSpan) -> None:
        """Add the next speech, which is still in the buffer."""
        begin, end = round(span.start * RATE), min(round(span.end * RATE), self.buffer.end)
        file = self._file
        if file:
            gap = max(0, begin - file.end)
            room = self._max_length - file.length - self._margin
            if gap + end - begin > room or (gap and file.length > self._end_at_pause_from):
                self._end_piece(file, begin - gap // 2)
                file = None
            elif file.paused or gap > self._silence:
                self._pause(file, begin)
                file.skip_to(max(begin - self._margin, file.end, self.buffer.start))
        if file is None:
            earliest = round(self._pieces[-1].stretches[-1].end * RATE) if self._pieces else 0
            begin = max(begin - self._margin, earliest, self.buffer.start)
            file = self._file = _PieceFile(self._scratch, len(self._pieces) + 1, begin)
        file.write(self.buffer, end)
        file.spans.append(span)

    def settle(self, second: float) -> None:
        """Note that no later speech starts before this second."""
        keep_from = round(second * RATE) - self._margin
        file = self._file
        if file and not file.paused:
            if keep_from - file.end > self._silence:
                self._pause(file, keep_from)
            else:
                keep_from = min(keep_from, file.end)
        self.buffer.drop_before(keep_from)

    def finish(self) -> tuple[Piece, ...]:
        if self._file:
            self._end_piece(self._file, self.buffer.end)
        return tuple(self._pieces)

    def _end_piece(self, file: _PieceFile, before: int) -> None:
        self._pause(file, before)
        self._pieces.append(file.close())
        self._file = None

    def _pause(self, file: _PieceFile, before: int) -> None:
        """Write some silence after the speech, up to sample `before`, once."""
        if not file.paused:
            file.write(self.buffer, min(before, file.end + self._margin))
            file.paused = True


class _PieceFile:
    """One piece being written, under a temporary name."""

    def __init__(self, scratch: Path, number: int, begin: int) -> None:
        import av

        self.spans: list[SpeechSpan] = []
        self.end = begin  # the first sample of the recording after this piece
        self.length = 0  # samples
        self.paused = False  # the following silence is left out
        self._path = scratch / f"piece-{number:04}.{FORMAT}"
        self._temporary = scratch / f".piece-{number:04}.part"
        self._stretches = [[begin, begin]]
        self._temporary.unlink(missing_ok=True)
        self._stream_out = self._temporary.open("xb")
        self._container = av.open(self._stream_out, "w", format=FORMAT)
        self._stream: Any = self._container.add_stream(FORMAT, rate=RATE, layout="mono", format="s16")

    def skip_to(self, until: int) -> None:
        """Continue at this sample."""
        self.end = until
        self.paused = False
        self._stretches.append([until, until])

    def write(self, buffer: SampleBuffer, end: int) -> None:
        """Write from the current end up to this sample."""
        import av
        import numpy

        samples = buffer.between(self.end, end)
        if not len(samples):
            return
        integers = numpy.rint(samples.clip(-1.0, 1.0) * 32767).astype(numpy.int16)
        frame = av.AudioFrame.from_ndarray(integers[None], format="s16", layout="mono")
        frame.sample_rate = RATE
        frame.pts = self.length
        self._container.mux(self._stream.encode(frame))
        self.length += len(samples)
        self.end = self._stretches[-1][1] = self.end + len(samples)

    def close(self) -> Piece:
        self._container.mux(self._stream.encode(None))
        self._container.close()
        self._stream_out.close()
        with self._temporary.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
            size = stream.tell()
        self._temporary.replace(self._path)
        stretches = tuple(SpeechSpan(begin / RATE, end / RATE) for begin, end in self._stretches)
        return Piece(self._path.name, size, digest, stretches, tuple(self.spans))

    def abandon(self) -> None:
        import av.error

        with suppress(OSError, av.error.FFmpegError):  # a full disk, which is reported elsewhere
            self._container.close()
        with suppress(OSError):
            self._stream_out.close()
        self._temporary.unlink(missing_ok=True)
