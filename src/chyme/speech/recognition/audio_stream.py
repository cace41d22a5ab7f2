"""Read the sound of any recording as a stream of samples, so that an hour takes no more memory than a minute."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any

from chyme.errors import UnreadableFile
from chyme.speech.media.container import MediaLimits, Recording, find_audio_stream, is_undecodable, open_container
from chyme.speech.media.stream_scan import GAP, MAX_FAILURES, MAX_INITIAL_FAILURES, channel_rows

if TYPE_CHECKING:
    import numpy as np
    from av import AudioFrame, AudioStream
    from av.container import InputContainer
    from numpy.typing import NDArray

    Samples = NDArray[np.float32]

RATE = 16_000  # samples per second, one channel
MAX_LATE_START = 0.02  # seconds by which the sound may start late without being filled with silence
PIECE = 10  # maximum seconds per piece
MIN_RATE, MAX_RATE = 1_000, 1_000_000  # plausible sample rates
_DTYPES = {"u8": "u1", "s16": "i2", "s32": "i4", "flt": "f4", "dbl": "f8"}  # sample format → numpy type
_FULL_SCALES = {"u1": 128.0, "i2": 32768.0, "i4": 2.0**31}  # full scale of integer samples
_CANCELLED_ENERGY = 0.01  # share of energy left after mixing below which channels cancel out, so only one is used
_BASS = "LFE"
_CENTRE = "FC"


def read_samples(recording: Recording, limits: MediaLimits) -> Generator[Samples, None, None]:
    """Yield mono sound at 16 kHz in pieces: sample n is n / RATE seconds into the file, gaps in time are silence.

    Yields nothing for a recording without sound; at most `sound_hours`. Raises UnreadableFile or UnsupportedFile.
    """
    with open_container(recording, limits) as container:
        audio = find_audio_stream(container)
        if audio is None:
            return
        if is_undecodable(audio):
            raise UnreadableFile(
                f"{recording.name}: the sound is protected or of an unknown codec; save a copy without protection"
            )
        yield from _AudioTimeline(recording.name, container, audio, limits).pieces()


class _AudioTimeline:
    """One audio stream, laid out along the file's timestamps."""

    def __init__(self, name: str, container: InputContainer, stream: AudioStream, limits: MediaLimits) -> None:
        stream.codec_context.thread_count = 1
        self._name = name
        self._container = container
        self._stream = stream
        self._tick = float(stream.time_base or 0)
        self._start = (container.start_time or 0) / 1_000_000
        self._declared = (container.duration or 0) / 1_000_000
        self._max_samples = limits.sound_hours * 3600 * RATE
        self._emitted = 0  # samples yielded so far
        self._current_run = _Run(0, 0)

    def pieces(self) -> Iterator[Samples]:
        """Yield everything. Consecutive frames of one rate without a gap form one run through one resampler."""
        frames = failures = 0
        for frame in self._frames():
            if frame is None:
                failures += 1
                if not frames and failures >= MAX_INITIAL_FAILURES:
                    break
                continue
            if not _is_readable(frame):
                continue
            frames += 1
            if not self._current_run.same_rate_as(frame):
                yield from self._end_run(frame.sample_rate)
            if frame.pts is not None:
                yield from self._fill_gap(frame.pts * self._tick - self._start, frame.sample_rate)
            for piece in self._current_run.add_frame(frame):
                yield from self._emit(piece)
            if self._emitted >= self._max_samples:
                return
        if failures and not frames:
            raise UnreadableFile(
                f"{self._name}: its sound cannot be decoded; "
                "play it elsewhere to see whether it is whole, and copy it again from where it came from"
            )
        yield from self._end_run(0)

    def _frames(self) -> Iterator[AudioFrame | None]:
        """Yield decoded frames, and None for every packet or stretch that is unreadable."""
        import av.error

        failures = 0
        while failures <= MAX_FAILURES:
            try:
                for packet in self._container.demux(self._stream):
                    try:
                        decoded: list[Any] = packet.decode()
                    except av.error.FFmpegError:
                        decoded = [None]
                    yield from decoded
                break
            except av.error.FFmpegError:
                failures += 1
                yield None
        try:
            yield from self._stream.codec_context.decode(None)
        except (av.error.FFmpegError, EOFError):
            return  # the decoder has been flushed already

    def _fill_gap(self, second: float, rate: int) -> Iterator[Samples]:
        """Yield silence where the recording paused; timestamps beyond the declared end are ignored as wrong."""
        gap = second - self._current_run.end_second
        if gap > (GAP if self._current_run.end_second else MAX_LATE_START) and second <= self._declared:
            yield from self._end_run(rate)
            yield from self._silence(round(second * RATE) - self._emitted)
            self._current_run = _Run(self._emitted, rate)

    def _end_run(self, rate: int) -> Iterator[Samples]:
        for piece in self._current_run.finish():
            yield from self._emit(piece)
        yield from self._silence(self._current_run.due_samples - self._emitted)
        self._current_run = _Run(self._emitted, rate)

    def _silence(self, count: int) -> Iterator[Samples]:
        import numpy

        silence = numpy.zeros(PIECE * RATE, dtype=numpy.float32)
        while count > 0 and self._emitted < self._max_samples:
            yield from self._emit(silence[:count])
            count -= len(silence)

    def _emit(self, piece: Samples) -> Iterator[Samples]:
        piece = piece[: self._max_samples - self._emitted]
        if len(piece):
            self._emitted += len(piece)
            yield piece


def _is_readable(frame: AudioFrame) -> bool:
    known_format = frame.format.name.removesuffix("p") in _DTYPES
    return known_format and frame.samples > 0 and MIN_RATE <= frame.sample_rate <= MAX_RATE


class _Run:
    """Frames of one sample rate without a gap between them."""

    def __init__(self, start_sample: int, rate: int) -> None:
        self._start_sample = start_sample  # samples before the run, at RATE
        self._rate = rate
        self._input_samples = 0  # samples of the run so far, at its own rate
        self._output_samples = 0  # samples yielded, at RATE
        self._pending: list[AudioFrame] = []
        self._pending_samples = 0  # samples in the pending frames
        self._resampler: Any = None

    @property
    def end_second(self) -> float:
        """Seconds into the file up to which there is sound."""
        return self._start_sample / RATE + (self._input_samples / self._rate if self._rate else 0.0)

    @property
    def due_samples(self) -> int:
        """Total number of samples, at RATE, that there must be when the run ends."""
        return round(self.end_second * RATE)

    def same_rate_as(self, frame: AudioFrame) -> bool:
        return frame.sample_rate == self._rate

    def add_frame(self, frame: AudioFrame) -> Iterator[Samples]:
        if self._pending and not _same_format(self._pending[0], frame):
            yield from self._resample(self._mix_pending())
        self._pending.append(frame)
        self._pending_samples += frame.samples
        self._input_samples += frame.samples
        if self._pending_samples >= self._rate:
            yield from self._resample(self._mix_pending())

    def finish(self) -> Iterator[Samples]:
        """Yield the pending frames and what the resampler still buffers; never more than is due."""
        if self._pending:
            yield from self._resample(self._mix_pending())
        if self._resampler is not None:
            for piece in self._run_resampler(None):
                remaining = self.due_samples - self._start_sample - self._output_samples
                self._output_samples += min(remaining, len(piece))
                yield piece[:remaining]

    def _mix_pending(self) -> Samples:
        frames, self._pending, self._pending_samples = self._pending, [], 0
        return mix_to_mono(frames)

    def _resample(self, mono: Samples) -> Iterator[Samples]:
        import av

        if self._rate == RATE:
            self._output_samples += len(mono)
            yield mono
            return
        if self._resampler is None:
            self._resampler = av.AudioResampler(format="flt", layout="mono", rate=RATE)
        step = self._rate * PIECE  # a low rate gives many samples for few
        for start in range(0, len(mono), step):
            frame = av.AudioFrame.from_ndarray(mono[None, start : start + step], format="flt", layout="mono")
            frame.sample_rate = self._rate
            for piece in self._run_resampler(frame):
                self._output_samples += len(piece)
                yield piece

    def _run_resampler(self, frame: AudioFrame | None) -> Iterator[Samples]:
        for resampled in self._resampler.resample(frame):
            yield resampled.to_ndarray()[0]


def _same_format(first: AudioFrame, second: AudioFrame) -> bool:
    return first.format.name == second.format.name and first.layout == second.layout


def mix_to_mono(frames: list[AudioFrame]) -> Samples:
    """Mix frames of the same format into one channel."""
    import numpy

    first = frames[0]
    count = first.layout.nb_channels
    rows = numpy.stack(channel_rows(frames, _DTYPES[first.format.name.removesuffix("p")]))
    full_scale = _FULL_SCALES.get(rows.dtype.str[1:], 1.0)
    channels = rows.astype(numpy.float32)
    if rows.dtype == numpy.uint8:
        channels -= full_scale
    channels /= full_scale
    if not numpy.isfinite(channels).all():  # decoders return such numbers for broken sound
        numpy.nan_to_num(channels, copy=False, nan=0.0, posinf=1.0, neginf=-1.0)
    channels.clip(-1.0, 1.0, out=channels)
    mono: Samples = _channel_weights(first) @ channels
    energy = numpy.square(channels).mean(axis=1)
    if count > 1 and numpy.square(mono).mean() < _CANCELLED_ENERGY * energy.mean():
        return numpy.ascontiguousarray(channels[int(energy.argmax())])
    return mono


def _channel_weights(frame: AudioFrame) -> Samples:
    """Weight the centre, where films put speech, as much as all others together, and ignore the bass."""
    import numpy

    names = [channel.name for channel in frame.layout.channels]
    count = frame.layout.nb_channels
    weights = numpy.ones(count, dtype=numpy.float32)
    if count > 2 and len(names) == count and _CENTRE in names:
        weights[[name == _BASS for name in names]] = 0.0
        weights[names.index(_CENTRE)] = max(1.0, weights.sum() - 1.0)
    shares: Samples = weights / weights.sum()
    return shares


class SampleBuffer:
    """The latest part of the sound; samples that are no longer needed are dropped. Counts samples from the start."""

    def __init__(self) -> None:
        import numpy

        self.start = 0  # samples before the buffer
        self._samples: Samples = numpy.zeros(0, dtype=numpy.float32)

    @property
    def end(self) -> int:
        return self.start + len(self._samples)

    def append(self, samples: Samples) -> None:
        import numpy

        self._samples = numpy.concatenate([self._samples, samples])

    def drop_before(self, before: int) -> None:
        before = min(before, self.end)
        if before > self.start:
            self._samples = self._samples[before - self.start :]
            self.start = before

    def cut(self, start: float, end: float) -> Samples:
        """The samples between these seconds."""
        return self.between(round(start * RATE), round(end * RATE))

    def between(self, begin: int, end: int) -> Samples:
        return self._samples[max(0, begin - self.start) : max(0, end - self.start)]
