"""Read a file once from start to end: decode its sound and measure its real length."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from chyme.speech.media.container import MediaLimits, is_undecodable
from chyme.speech.media.waveform import Waveform

if TYPE_CHECKING:
    from av import AudioFrame, AudioStream, Packet, VideoStream
    from av.container import InputContainer
    from av.stream import Stream

BATCH = 20  # frames mixed at once: few calls, yet small enough to fit into memory
GAP = 0.5  # seconds by which timestamps must run ahead of the sound to count as a gap
MAX_INITIAL_FAILURES = 60  # packets that may fail at the start before decoding is given up
MAX_FAILURES = 50  # unreadable stretches that are skipped
MAX_LOUDNESS = 10.0  # times full scale; anything louder is decoder noise
PROGRESS_EVERY = 500  # packets
# Sample format → numpy type and the value of full scale.
_SAMPLES = {"u8": ("u1", 128.0), "s16": ("i2", 32768.0), "s32": ("i4", 2.0**31), "s64": ("i8", 2.0**63)}
_SAMPLES |= {"flt": ("f4", 1.0), "dbl": ("f8", 1.0)}


@dataclass
class PacketSpan:
    """Start and end of one stream's packets in seconds, and their size in bytes."""

    size: int = 0
    packets: int = 0
    start: float | None = None
    end: float = 0.0

    @property
    def seconds(self) -> float:
        return self.end - self.start if self.start is not None else 0.0

    def add_packet(self, packet: Packet[Any], tick: float) -> None:
        """`tick` is the length in seconds of one unit of the stream's clock."""
        self.size += packet.size
        self.packets += 1
        timestamp = packet.pts if packet.pts is not None else packet.dts
        if timestamp is None:
            return
        begin = timestamp * tick
        self.start = begin if self.start is None else min(self.start, begin)
        self.end = max(self.end, begin + (packet.duration or 0) * tick)


@dataclass
class StreamScan:
    """The result of one pass through the file."""

    seconds: float = 0.0  # 0 when nothing could be measured
    video: PacketSpan = field(default_factory=PacketSpan)
    audio: PacketSpan = field(default_factory=PacketSpan)
    waveform: Waveform | None = None  # None when no sound could be decoded
    failures: int = 0  # packets and stretches that could not be read
    cut: bool = False  # the sound is longer than the limit


def scan_streams(
    container: InputContainer,
    video: VideoStream | None,
    audio: AudioStream | None,
    limits: MediaLimits,
    progress: Callable[[int], None],
) -> StreamScan:
    """Decode the sound and only count the video packets. `progress` receives the position in the file."""
    import av.error

    scan = StreamScan()
    decoder = _AudioDecoder(container, audio, limits) if audio and not is_undecodable(audio) else None
    streams: list[Stream] = [stream for stream in (video, audio) if stream]
    while streams:
        try:
            _read_packets(container, streams, audio, decoder, scan, progress)
            break
        except av.error.FFmpegError:
            scan.failures += 1
            if scan.failures > MAX_FAILURES:
                break
    if decoder:
        decoder.finish()
        scan.failures += decoder.failures
        scan.cut = decoder.limit_reached
        scan.waveform = decoder.waveform if decoder.waveform.length else None
    scan.seconds = _measure_seconds(scan, decoder)
    return scan


def _read_packets(
    container: InputContainer,
    streams: list[Stream],
    audio: AudioStream | None,
    decoder: _AudioDecoder | None,
    scan: StreamScan,
    progress: Callable[[int], None],
) -> None:
    ticks = {stream.index: float(stream.time_base or 0) for stream in streams}
    audio_index = audio.index if audio else -1
    for count, packet in enumerate(container.demux(*streams), 1):
        is_audio = packet.stream_index == audio_index
        if packet.size:
            (scan.audio if is_audio else scan.video).add_packet(packet, ticks[packet.stream_index])
        if is_audio and decoder:
            decoder.decode_packet(packet)
        if count % PROGRESS_EVERY == 0 and packet.pos:
            progress(packet.pos)


def _measure_seconds(scan: StreamScan, decoder: _AudioDecoder | None) -> float:
    begins = [span.start for span in (scan.video, scan.audio) if span.start is not None]
    begin = min(begins, default=0.0)
    lengths = [scan.video.end - begin] if scan.video.start is not None else []
    if scan.waveform and decoder and not decoder.limit_reached:
        lengths.append(scan.waveform.length / decoder.rate)
    elif scan.audio.start is not None:
        lengths.append(scan.audio.end - begin)
    return max(lengths, default=0.0)


class _AudioDecoder:
    """Decode one audio stream into a waveform."""

    def __init__(self, container: InputContainer, stream: AudioStream, limits: MediaLimits) -> None:
        stream.codec_context.thread_count = 1
        self.waveform = Waveform(limits.peaks)
        self.rate = 0
        self.failures = 0
        self.limit_reached = False
        self._max_hours = limits.sound_hours
        self._start = (container.start_time or 0) / 1_000_000
        self._declared = (container.duration or 0) / 1_000_000
        self._stream = stream
        self._tick = float(stream.time_base or 0)
        self._pending: list[AudioFrame] = []
        self._pending_samples = 0  # samples in the pending frames
        self._gave_up = False

    def decode_packet(self, packet: Packet[Any]) -> None:
        import av.error

        if self._gave_up or self.limit_reached:
            return
        try:
            frames: list[Any] = packet.decode()
        except av.error.FFmpegError:
            self.failures += 1
            self._gave_up = not self.rate and self.failures >= MAX_INITIAL_FAILURES
            return
        for frame in frames:
            self._add_frame(frame)

    def finish(self) -> None:
        import av.error

        if not self._gave_up and not self.limit_reached:
            try:
                for frame in self._stream.codec_context.decode(None):
                    self._add_frame(frame)
            except (av.error.FFmpegError, EOFError):
                pass  # the decoder has been flushed already
        self._mix_pending()

    def _add_frame(self, frame: AudioFrame) -> None:
        if not frame.samples or not frame.sample_rate or frame.format.name.removesuffix("p") not in _SAMPLES:
            return
        self.rate = self.rate or frame.sample_rate
        if self._pending and not _same_format(self._pending[0], frame):
            self._mix_pending()
        if frame.pts is not None:
            self._fill_gap(frame.pts * self._tick - self._start)
        self._pending.append(frame)
        self._pending_samples += frame.samples
        if len(self._pending) >= BATCH:
            self._mix_pending()
            self.limit_reached = self.waveform.length > self._max_hours * 3600 * self.rate

    def _fill_gap(self, second: float) -> None:
        """Insert silence where the recording paused; timestamps beyond the declared end are ignored as wrong."""
        gap = second - (self.waveform.length + self._pending_samples) / self.rate
        if gap > GAP and second <= self._declared:
            self._mix_pending()
            self.waveform.skip(round(gap * self.rate))

    def _mix_pending(self) -> None:
        import numpy

        if not self._pending:
            return
        frames, self._pending, self._pending_samples = self._pending, [], 0
        dtype, full_scale = _SAMPLES[frames[0].format.name.removesuffix("p")]
        samples = channel_rows(frames, dtype)
        channels = len(samples)
        zero_level = full_scale if dtype == "u1" else 0.0
        mono = samples[0].astype(numpy.float32)
        for channel in samples[1:]:
            mono += channel
        mono /= channels
        if zero_level:
            mono -= zero_level
        numpy.abs(mono, out=mono)
        peak = max(max(float(row.max()) - zero_level, zero_level - float(row.min())) for row in samples)
        if not math.isfinite(float(mono.max())):  # decoders return such numbers for broken sound
            numpy.nan_to_num(mono, copy=False, nan=0.0, posinf=full_scale, neginf=full_scale)
            peak = float(mono.max())
        self.waveform.add_channel_peak(min(peak / full_scale, MAX_LOUDNESS))
        self.waveform.add(_resample(mono, frames[0].sample_rate, self.rate), full_scale)


def channel_rows(frames: list[AudioFrame], dtype: str) -> list[Any]:
    """Return one row per channel, of frames of one format.

    Reads the planes directly: `to_ndarray` takes half as long as decoding, and crashes with more than eight channels.
    """
    import numpy

    count = frames[0].layout.nb_channels
    planar = frames[0].format.is_planar
    planes = [frame.planes for frame in frames]
    rows = [
        numpy.concatenate(
            [
                numpy.frombuffer(memoryview(plane[row]), dtype=dtype, count=frame.samples * (1 if planar else count))
                for plane, frame in zip(planes, frames, strict=True)
            ]
        )
        for row in range(count if planar else 1)
    ]
    return rows if planar else list(rows[0].reshape(-1, count).T)


def _same_format(first: AudioFrame, second: AudioFrame) -> bool:
    return (
        first.sample_rate == second.sample_rate
        and first.format.name == second.format.name
        and first.layout.nb_channels == second.layout.nb_channels
    )


def _resample(samples: Any, rate: int, target_rate: int) -> Any:
    """Resample to the rate that the file started with, keeping the duration."""
    import numpy

    if rate == target_rate:
        return samples
    count = max(1, round(len(samples) * target_rate / rate))
    return samples[numpy.minimum(numpy.arange(count) * rate // target_rate, len(samples) - 1)]
