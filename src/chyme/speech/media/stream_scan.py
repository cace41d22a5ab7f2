"""Go through a file once: decode its sound, and see how long it really is."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from chyme.speech.media.container_info import is_undecodable
from chyme.speech.media.limits import MediaLimits
from chyme.speech.media.waveform import Waveform

if TYPE_CHECKING:
    from av import AudioFrame, AudioStream, Packet, VideoStream
    from av.container import InputContainer
    from av.stream import Stream

BATCH = 20  # frames mixed at once: fewer calls, yet pieces small enough for memory that is at hand
GAP = 0.5  # seconds the clock must run ahead of the sound before it counts as a gap
HOPELESS = 60  # packets that may fail at the beginning before nobody listens any more
MOST_FAILURES = 50  # unreadable stretches that are stepped over
LOUDEST = 10.0  # times full scale: beyond, it is noise of a decoder
PROGRESS_EVERY = 500  # packets
# How samples are written, and what is full scale.
_SAMPLES = {"u8": ("u1", 128.0), "s16": ("i2", 32768.0), "s32": ("i4", 2.0**31), "s64": ("i8", 2.0**63)}
_SAMPLES |= {"flt": ("f4", 1.0), "dbl": ("f8", 1.0)}


@dataclass
class PacketSpan:
    """When the packets of one stream begin and end, in seconds, and their bytes."""

    size: int = 0
    packets: int = 0
    start: float | None = None
    end: float = 0.0

    def add_packet(self, packet: Packet[Any], tick: float) -> None:
        """`tick` is the seconds in one unit of the stream's clock."""
        self.size += packet.size
        self.packets += 1
        at = packet.pts if packet.pts is not None else packet.dts
        if at is None:
            return
        begin = at * tick
        self.start = begin if self.start is None else min(self.start, begin)
        self.end = max(self.end, begin + (packet.duration or 0) * tick)


@dataclass
class StreamScan:
    """What one pass through the file found."""

    seconds: float = 0.0  # 0 when there was nothing to measure
    video: PacketSpan = field(default_factory=PacketSpan)
    audio: PacketSpan = field(default_factory=PacketSpan)
    sound: Waveform | None = None  # None when no sound could be decoded
    failures: int = 0  # packets and stretches that could not be read
    cut: bool = False  # the sound went on beyond the limit


def scan_streams(
    container: InputContainer,
    video: VideoStream | None,
    audio: AudioStream | None,
    limits: MediaLimits,
    progress: Callable[[int], None],
) -> StreamScan:
    """Decodes the sound and only counts the pictures. `progress` hears the position in the file."""
    import av.error

    found = StreamScan()
    ears = _Ears(container, audio, limits) if audio and not is_undecodable(audio) else None
    streams: list[Stream] = [stream for stream in (video, audio) if stream]
    while streams:
        try:
            _pass(container, streams, audio, ears, found, progress)
            break
        except av.error.FFmpegError:
            found.failures += 1
            if found.failures > MOST_FAILURES:
                break
    if ears:
        ears.finish()
        found.failures += ears.failures
        found.cut = ears.full
        found.sound = ears.sound if ears.sound.length else None
    found.seconds = _seconds(found, ears)
    return found


def _pass(
    container: InputContainer,
    streams: list[Stream],
    audio: AudioStream | None,
    ears: _Ears | None,
    found: StreamScan,
    progress: Callable[[int], None],
) -> None:
    ticks = {stream.index: float(stream.time_base or 0) for stream in streams}
    listened = audio.index if audio else -1
    for count, packet in enumerate(container.demux(*streams), 1):
        heard = packet.stream_index == listened
        if packet.size:
            (found.audio if heard else found.video).add_packet(packet, ticks[packet.stream_index])
        if heard and ears:
            ears.hear(packet)
        if count % PROGRESS_EVERY == 0 and packet.pos:
            progress(packet.pos)


def _seconds(found: StreamScan, ears: _Ears | None) -> float:
    begins = [span.start for span in (found.video, found.audio) if span.start is not None]
    begin = min(begins, default=0.0)
    lengths = [found.video.end - begin] if found.video.start is not None else []
    if found.sound and ears and not ears.full:
        lengths.append(found.sound.length / ears.rate)
    elif found.audio.start is not None:
        lengths.append(found.audio.end - begin)
    return max(lengths, default=0.0)


class _Ears:
    """Decodes one stream of sound into a waveform."""

    def __init__(self, container: InputContainer, stream: AudioStream, limits: MediaLimits) -> None:
        stream.codec_context.thread_count = 1
        self.sound = Waveform(limits.peaks)
        self.rate = 0
        self.failures = 0
        self.full = False
        self._hours = limits.sound_hours
        self._start = (container.start_time or 0) / 1_000_000
        self._declared = (container.duration or 0) / 1_000_000
        self._stream = stream
        self._tick = float(stream.time_base or 0)
        self._waiting: list[AudioFrame] = []
        self._ahead = 0  # samples in the frames that wait
        self._deaf = False

    def hear(self, packet: Packet[Any]) -> None:
        import av.error

        if self._deaf or self.full:
            return
        try:
            frames: list[Any] = packet.decode()
        except av.error.FFmpegError:
            self.failures += 1
            self._deaf = not self.rate and self.failures >= HOPELESS
            return
        for frame in frames:
            self._take(frame)

    def finish(self) -> None:
        import av.error

        if not self._deaf and not self.full:
            try:
                for frame in self._stream.codec_context.decode(None):
                    self._take(frame)
            except (av.error.FFmpegError, EOFError):
                pass  # it has been emptied already
        self._mix()

    def _take(self, frame: AudioFrame) -> None:
        if not frame.samples or not frame.sample_rate or frame.format.name.removesuffix("p") not in _SAMPLES:
            return
        self.rate = self.rate or frame.sample_rate
        if self._waiting and not _alike(self._waiting[0], frame):
            self._mix()
        if frame.pts is not None:
            self._bridge(frame.pts * self._tick - self._start)
        self._waiting.append(frame)
        self._ahead += frame.samples
        if len(self._waiting) >= BATCH:
            self._mix()
            self.full = self.sound.length > self._hours * 3600 * self.rate

    def _bridge(self, at: float) -> None:
        """Where the recording paused, the waveform is silent; a clock beyond the declared end is not believed."""
        ahead = at - (self.sound.length + self._ahead) / self.rate
        if ahead > GAP and at <= self._declared:
            self._mix()
            self.sound.skip(round(ahead * self.rate))

    def _mix(self) -> None:
        import numpy

        if not self._waiting:
            return
        frames, self._waiting, self._ahead = self._waiting, [], 0
        written, full = _SAMPLES[frames[0].format.name.removesuffix("p")]
        samples = _channels(frames, written)
        channels = len(samples)
        middle = full if written == "u1" else 0.0
        mono = samples[0].astype(numpy.float32)
        for channel in samples[1:]:
            mono += channel
        mono /= channels
        if middle:
            mono -= middle
        numpy.abs(mono, out=mono)
        reach = max(max(float(row.max()) - middle, middle - float(row.min())) for row in samples)
        if not math.isfinite(float(mono.max())):  # decoders of broken sound hand out such numbers
            numpy.nan_to_num(mono, copy=False, nan=0.0, posinf=full, neginf=full)
            reach = float(mono.max())
        self.sound.add_channel_peak(min(reach / full, LOUDEST))
        self.sound.add(_at_rate(mono, frames[0].sample_rate, self.rate), full)


def _channels(frames: list[AudioFrame], written: str) -> list[Any]:
    """One row for each channel. Straight from the planes: `to_ndarray` would take half as long as decoding."""
    import numpy

    count = frames[0].layout.nb_channels
    planar = frames[0].format.is_planar
    planes = [frame.planes for frame in frames]
    rows = [
        numpy.concatenate(
            [
                numpy.frombuffer(memoryview(plane[row]), dtype=written, count=frame.samples * (1 if planar else count))
                for plane, frame in zip(planes, frames, strict=True)
            ]
        )
        for row in range(count if planar else 1)
    ]
    return rows if planar else list(rows[0].reshape(-1, count).T)


def _alike(one: AudioFrame, other: AudioFrame) -> bool:
    return (
        one.sample_rate == other.sample_rate
        and one.format.name == other.format.name
        and one.layout.nb_channels == other.layout.nb_channels
    )


def _at_rate(samples: Any, rate: int, wanted: int) -> Any:
    """The same stretch of time in as many samples as the beginning of the file would have for it."""
    import numpy

    if rate == wanted:
        return samples
    count = max(1, round(len(samples) * wanted / rate))
    return samples[numpy.minimum(numpy.arange(count) * rate // wanted, len(samples) - 1)]
