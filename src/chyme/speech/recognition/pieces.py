"""Cut the speech of a recording into files that are small enough to be sent. Runs in a child; sends nothing."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chyme.errors import EngineUnavailable
from chyme.speech.media.limits import MediaLimits
from chyme.speech.media.preview import Recording
from chyme.speech.recognition.audio_stream import RATE, read_samples
from chyme.speech.recognition.piece_index import Piece, PreparedRecording, load_prepared, write_index
from chyme.speech.recognition.voice_activity import SpeechDetector, SpeechSpan
from chyme.speech.voices.window import Window

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Samples = NDArray[np.float32]

__all__ = ["CutRules", "Embed", "Piece", "PreparedRecording", "load_prepared", "prepare"]

Embed = Callable[["Samples", float, Sequence[SpeechSpan]], Sequence[Window]]

# FLAC is taken by every such service (OpenAI, Groq, faster-whisper, whisper.cpp, vLLM, LocalAI), is half of WAV for
# speech, loses nothing, and does not move the sound along the clock as encoders of MP3 and Opus do.
FORMAT = "flac"


@dataclass(frozen=True, slots=True)
class CutRules:
    """Where the sound is cut. All times in seconds."""

    longest: float = 590.0  # of a piece; services refuse more than ten minutes. At least 30: the longest speech fits
    # At 16 bits a sample FLAC needs 32 KB a second at the very worst, so 590 seconds stay below the 20 MB we allow
    # ourselves and the 25 MB that services allow.
    late: float = 0.8  # of the longest: from here on a piece ends at the next pause
    silence: float = 3.0  # longer silence is left out
    kept: float = 0.7  # of a silence that is left out, on either side of it


def prepare(
    recording: Recording,
    limits: MediaLimits,
    scratch: Path,
    embed: Embed | None = None,
    keep: Callable[[Sequence[Window]], None] | None = None,
    cuts: CutRules | None = None,
) -> PreparedRecording:
    """The pieces to send, in `scratch`; if they are there already, nothing is done.

    `embed` hears all speech as it passes and tells how the voices sound. `keep` is given all it told before the index
    is written: what it leaves in `scratch` is there whenever `prepared` finds something.
    Raises UnreadableFile, UnsupportedFile or EngineUnavailable.
    """
    found = load_prepared(scratch)
    if found is not None:
        return found
    try:
        activity = SpeechDetector()
    except EngineUnavailable as error:
        raise EngineUnavailable(f"{recording.name}: {error}") from error
    windows: list[Window] = []
    with _Cutter(scratch, cuts or CutRules()) as cutter:

        def speech(spans: list[SpeechSpan]) -> None:
            if embed and spans:
                windows.extend(embed(cutter.tape.cut(spans[0].start, spans[-1].end), spans[0].start, spans))
            for span in spans:
                cutter.add(span)

        for samples in read_samples(recording, limits):
            cutter.tape.append(samples)
            speech(activity.feed(samples))
            cutter.settle(activity.settled_until)
        speech(activity.finish())
        found = PreparedRecording(cutter.tape.end / RATE, cutter.finish(), tuple(windows))
    if keep:
        keep(found.windows)
    write_index(scratch, found)
    return found


class _Tape:
    """The last stretch of the sound; what nobody asks for any more is forgotten."""

    def __init__(self) -> None:
        import numpy

        self.start = 0  # samples before it
        self._samples: Samples = numpy.zeros(0, dtype=numpy.float32)

    @property
    def end(self) -> int:
        return self.start + len(self._samples)

    def append(self, samples: Samples) -> None:
        import numpy

        self._samples = numpy.concatenate([self._samples, samples])

    def forget(self, before: int) -> None:
        before = min(before, self.end)
        if before > self.start:
            self._samples = self._samples[before - self.start :]
            self.start = before

    def cut(self, start: float, end: float) -> Samples:
        """The samples between these seconds."""
        return self.between(round(start * RATE), round(end * RATE))

    def between(self, begin: int, end: int) -> Samples:
        return self._samples[max(0, begin - self.start) : max(0, end - self.start)]


class _Cutter:
    """Lays speech into files, one after the other. Counts in samples, so that nothing is lost or doubled."""

    def __init__(self, scratch: Path, cuts: CutRules) -> None:
        self.tape = _Tape()
        self._scratch = scratch
        self._most = int(cuts.longest * RATE)
        self._late = int(cuts.late * self._most)
        self._silence, self._kept = int(cuts.silence * RATE), int(cuts.kept * RATE)
        self._pieces: list[Piece] = []
        self._file: _File | None = None

    def __enter__(self) -> _Cutter:
        return self

    def __exit__(self, *raised: object) -> None:
        if self._file:
            self._file.abandon()

    def add(self, span: SpeechSpan) -> None:
        """The next speech, which is still on the tape."""
        begin, end = round(span.start * RATE), min(round(span.end * RATE), self.tape.end)
        file = self._file
        if file:
            gap = max(0, begin - file.end)
            room = self._most - file.length - self._kept
            if gap + end - begin > room or (gap and file.length > self._late):
                self._end_piece(file, begin - gap // 2)
                file = None
            elif file.paused or gap > self._silence:
                self._pause(file, begin)
                file.leave_out(max(begin - self._kept, file.end, self.tape.start))
        if file is None:
            earliest = round(self._pieces[-1].stretches[-1].end * RATE) if self._pieces else 0
            begin = max(begin - self._kept, earliest, self.tape.start)
            file = self._file = _File(self._scratch, len(self._pieces) + 1, begin)
        file.write(self.tape, end)
        file.spans.append(span)

    def settle(self, second: float) -> None:
        """No speech will be told that begins before this second."""
        wanted = round(second * RATE) - self._kept
        file = self._file
        if file and not file.paused:
            if wanted - file.end > self._silence:
                self._pause(file, wanted)
            else:
                wanted = min(wanted, file.end)
        self.tape.forget(wanted)

    def finish(self) -> tuple[Piece, ...]:
        if self._file:
            self._end_piece(self._file, self.tape.end)
        return tuple(self._pieces)

    def _end_piece(self, file: _File, before: int) -> None:
        self._pause(file, before)
        self._pieces.append(file.close())
        self._file = None

    def _pause(self, file: _File, before: int) -> None:
        """Some silence after the speech, as far as there is any before that sample; once."""
        if not file.paused:
            file.write(self.tape, min(before, file.end + self._kept))
            file.paused = True


class _File:
    """One piece while it is written, under a name that nobody takes for a finished one."""

    def __init__(self, scratch: Path, number: int, begin: int) -> None:
        import av

        self.spans: list[SpeechSpan] = []
        self.end = begin  # the first sample of the recording that is not in it
        self.length = 0  # samples
        self.paused = False  # what follows is left out
        self._path = scratch / f"piece-{number:04}.{FORMAT}"
        self._beside = scratch / f".piece-{number:04}.part"
        self._stretches = [[begin, begin]]
        self._beside.unlink(missing_ok=True)
        self._bytes = self._beside.open("xb")
        self._container = av.open(self._bytes, "w", format=FORMAT)
        self._stream: Any = self._container.add_stream(FORMAT, rate=RATE, layout="mono", format="s16")

    def leave_out(self, until: int) -> None:
        """Go on at that sample."""
        self.end = until
        self.paused = False
        self._stretches.append([until, until])

    def write(self, tape: _Tape, end: int) -> None:
        """From where it ends up to that sample."""
        import av
        import numpy

        samples = tape.between(self.end, end)
        if not len(samples):
            return
        whole = numpy.rint(samples.clip(-1.0, 1.0) * 32767).astype(numpy.int16)
        frame = av.AudioFrame.from_ndarray(whole[None], format="s16", layout="mono")
        frame.sample_rate = RATE
        frame.pts = self.length
        self._container.mux(self._stream.encode(frame))
        self.length += len(samples)
        self.end = self._stretches[-1][1] = self.end + len(samples)

    def close(self) -> Piece:
        self._container.mux(self._stream.encode(None))
        self._container.close()
        self._bytes.close()
        with self._beside.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
            size = stream.tell()
        self._beside.replace(self._path)
        stretches = tuple(SpeechSpan(begin / RATE, end / RATE) for begin, end in self._stretches)
        return Piece(self._path.name, size, digest, stretches, tuple(self.spans))

    def abandon(self) -> None:
        import av.error

        with suppress(OSError, av.error.FFmpegError):  # a full disk, which somebody else is being told of
            self._container.close()
        with suppress(OSError):
            self._bytes.close()
        self._beside.unlink(missing_ok=True)
