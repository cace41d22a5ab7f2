"""The sound of any recording as a stream of samples, so that an hour takes no more memory than a minute."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any

from chyme.errors import UnreadableFile
from chyme.speech.media.container import open_container
from chyme.speech.media.container_info import find_audio_stream, is_undecodable
from chyme.speech.media.limits import MediaLimits
from chyme.speech.media.preview import Recording
from chyme.speech.media.stream_scan import GAP, HOPELESS, MOST_FAILURES

if TYPE_CHECKING:
    import numpy as np
    from av import AudioFrame, AudioStream
    from av.container import InputContainer
    from numpy.typing import NDArray

    Samples = NDArray[np.float32]

RATE = 16_000  # samples a second, of one channel
LATE = 0.02  # seconds by which the sound may begin after the recording before that counts
PIECE = 10  # seconds in a piece, at most
SLOWEST, FASTEST = 1_000, 1_000_000  # samples a second that are believed
_WRITTEN = {"u8": "u1", "s16": "i2", "s32": "i4", "flt": "f4", "dbl": "f8"}  # how samples are written
_FULL = {"u1": 128.0, "i2": 32768.0, "i4": 2.0**31}  # full scale of samples that are whole numbers
_CANCELLED = 0.01  # of the channels' energy left after mixing: they are opposites, so one of them must do
_BASS = "LFE"
_CENTRE = "FC"


def read_samples(recording: Recording, limits: MediaLimits) -> Generator[Samples, None, None]:
    """Mono at 16 kHz, piece by piece: sample n is n / RATE seconds into the file, pauses of the clock are silence.

    Nothing for a recording without sound; at most `sound_hours`. Raises UnreadableFile or UnsupportedFile.
    """
    if not recording.size:
        raise UnreadableFile(f"{recording.name}: the file is empty; copy it again from where it came from")
    with recording.open() as stream, open_container(recording.name, recording.mime, stream, limits) as container:
        audio = find_audio_stream(container)
        if audio is None:
            return
        if is_undecodable(audio):
            raise UnreadableFile(
                f"{recording.name}: the sound is protected or of an unknown codec; save a copy without protection"
            )
        yield from _Tape(recording.name, container, audio, limits).pieces()


class _Tape:
    """One stream of sound, laid out along the file's clock."""

    def __init__(self, name: str, container: InputContainer, stream: AudioStream, limits: MediaLimits) -> None:
        stream.codec_context.thread_count = 1
        self._name = name
        self._container = container
        self._stream = stream
        self._tick = float(stream.time_base or 0)
        self._start = (container.start_time or 0) / 1_000_000
        self._declared = (container.duration or 0) / 1_000_000
        self._most = limits.sound_hours * 3600 * RATE
        self._out = 0  # samples given out
        self._run = _Run(0, 0)

    def pieces(self) -> Iterator[Samples]:
        """All of it. Frames that are alike and follow each other are one run through one resampler."""
        frames = failures = 0
        for frame in self._frames():
            if frame is None:
                failures += 1
                if not frames and failures >= HOPELESS:
                    break
                continue
            if not _readable(frame):
                continue
            frames += 1
            if not self._run.continues_with(frame):
                yield from self._end_run(frame.sample_rate)
            if frame.pts is not None:
                yield from self._bridge(frame.pts * self._tick - self._start, frame.sample_rate)
            for piece in self._run.take(frame):
                yield from self._give(piece)
            if self._out >= self._most:
                return
        if failures and not frames:
            raise UnreadableFile(
                f"{self._name}: its sound cannot be decoded; "
                "play it elsewhere to see whether it is whole, and copy it again from where it came from"
            )
        yield from self._end_run(0)

    def _frames(self) -> Iterator[AudioFrame | None]:
        """What is decoded, and None for every packet or stretch that cannot be read."""
        import av.error

        stumbles = 0
        while stumbles <= MOST_FAILURES:
            try:
                for packet in self._container.demux(self._stream):
                    try:
                        decoded: list[Any] = packet.decode()
                    except av.error.FFmpegError:
                        decoded = [None]
                    yield from decoded
                break
            except av.error.FFmpegError:
                stumbles += 1
                yield None
        try:
            yield from self._stream.codec_context.decode(None)
        except (av.error.FFmpegError, EOFError):
            return  # it has been emptied already

    def _bridge(self, at: float, rate: int) -> Iterator[Samples]:
        """Where the recording paused there is silence; a clock beyond the declared end is not believed."""
        ahead = at - self._run.now
        if ahead > (GAP if self._run.now else LATE) and at <= self._declared:
            yield from self._end_run(rate)
            yield from self._silence(round(at * RATE) - self._out)
            self._run = _Run(self._out, rate)

    def _end_run(self, rate: int) -> Iterator[Samples]:
        for piece in self._run.finish():
            yield from self._give(piece)
        yield from self._silence(self._run.due - self._out)
        self._run = _Run(self._out, rate)

    def _silence(self, count: int) -> Iterator[Samples]:
        import numpy

        quiet = numpy.zeros(PIECE * RATE, dtype=numpy.float32)
        while count > 0 and self._out < self._most:
            yield from self._give(quiet[:count])
            count -= len(quiet)

    def _give(self, piece: Samples) -> Iterator[Samples]:
        piece = piece[: self._most - self._out]
        if len(piece):
            self._out += len(piece)
            yield piece


def _readable(frame: AudioFrame) -> bool:
    known = frame.format.name.removesuffix("p") in _WRITTEN
    return known and frame.samples > 0 and SLOWEST <= frame.sample_rate <= FASTEST


class _Run:
    """Frames of one format without a gap between them."""

    def __init__(self, begun: int, rate: int) -> None:
        self._begun = begun  # samples before it, at our rate
        self._rate = rate
        self._fed = 0  # samples of the run so far, at its own rate
        self._made = 0  # samples given out, at ours
        self._waiting: list[AudioFrame] = []
        self._held = 0  # samples that wait
        self._resampler: Any = None

    @property
    def now(self) -> float:
        """Seconds into the file up to which there is sound."""
        return self._begun / RATE + (self._fed / self._rate if self._rate else 0.0)

    @property
    def due(self) -> int:
        """How many samples there must be in all when the run is over."""
        return round(self.now * RATE)

    def continues_with(self, frame: AudioFrame) -> bool:
        return frame.sample_rate == self._rate

    def take(self, frame: AudioFrame) -> Iterator[Samples]:
        if self._waiting and not _alike(self._waiting[0], frame):
            yield from self._resampled(self._mixed())
        self._waiting.append(frame)
        self._held += frame.samples
        self._fed += frame.samples
        if self._held >= self._rate:
            yield from self._resampled(self._mixed())

    def finish(self) -> Iterator[Samples]:
        """What still waits, and what the resampler holds back; never more than is due."""
        if self._waiting:
            yield from self._resampled(self._mixed())
        if self._resampler is not None:
            for piece in self._out_of(None):
                left = self.due - self._begun - self._made
                self._made += min(left, len(piece))
                yield piece[:left]

    def _mixed(self) -> Samples:
        frames, self._waiting, self._held = self._waiting, [], 0
        return mix_to_mono(frames)

    def _resampled(self, mono: Samples) -> Iterator[Samples]:
        import av

        if self._rate == RATE:
            self._made += len(mono)
            yield mono
            return
        if self._resampler is None:
            self._resampler = av.AudioResampler(format="flt", layout="mono", rate=RATE)
        step = self._rate * PIECE  # a slow rate makes many samples of few
        for at in range(0, len(mono), step):
            frame = av.AudioFrame.from_ndarray(mono[None, at : at + step], format="flt", layout="mono")
            frame.sample_rate = self._rate
            for piece in self._out_of(frame):
                self._made += len(piece)
                yield piece

    def _out_of(self, frame: AudioFrame | None) -> Iterator[Samples]:
        for resampled in self._resampler.resample(frame):
            yield resampled.to_ndarray()[0]


def _alike(one: AudioFrame, other: AudioFrame) -> bool:
    return one.format.name == other.format.name and one.layout == other.layout


def mix_to_mono(frames: list[AudioFrame]) -> Samples:
    """One channel out of many, of frames that are alike."""
    import numpy

    first = frames[0]
    count = first.layout.nb_channels
    rows = numpy.concatenate([_rows(frame) for frame in frames], axis=1)
    full = _FULL.get(rows.dtype.str[1:], 1.0)
    channels = rows.astype(numpy.float32)
    if rows.dtype == numpy.uint8:
        channels -= full
    channels /= full
    if not numpy.isfinite(channels).all():  # decoders of broken sound hand out such numbers
        numpy.nan_to_num(channels, copy=False, nan=0.0, posinf=1.0, neginf=-1.0)
    channels.clip(-1.0, 1.0, out=channels)
    mono: Samples = _weights(first) @ channels
    energy = numpy.square(channels).mean(axis=1)
    if count > 1 and numpy.square(mono).mean() < _CANCELLED * energy.mean():
        return numpy.ascontiguousarray(channels[int(energy.argmax())])
    return mono


def _rows(frame: AudioFrame) -> Any:
    """A row for each channel. `to_ndarray` would crash: it takes whatever follows eight channels for a ninth."""
    import numpy

    count, written = frame.layout.nb_channels, _WRITTEN[frame.format.name.removesuffix("p")]
    planes = frame.planes
    if frame.format.is_planar:
        rows = [numpy.frombuffer(memoryview(planes[row]), written, frame.samples) for row in range(count)]
        return numpy.stack(rows)
    packed = numpy.frombuffer(memoryview(planes[0]), written, frame.samples * count)
    return packed.reshape(-1, count).T


def _weights(frame: AudioFrame) -> Samples:
    """Films speak from the centre: it counts as much as all the others together, and the bass not at all."""
    import numpy

    names = [channel.name for channel in frame.layout.channels]
    count = frame.layout.nb_channels
    weights = numpy.ones(count, dtype=numpy.float32)
    if count > 2 and len(names) == count and _CENTRE in names:
        weights[[name == _BASS for name in names]] = 0.0
        weights[names.index(_CENTRE)] = max(1.0, weights.sum() - 1.0)
    shares: Samples = weights / weights.sum()
    return shares
