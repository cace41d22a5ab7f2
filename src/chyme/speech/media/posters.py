"""Find the frame that shows a video best."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from chyme.imaging.thumbnails import LONGEST
from chyme.speech.media.container_info import display_size
from chyme.speech.media.limits import MediaLimits

if TYPE_CHECKING:
    from av import VideoFrame, VideoStream
    from av.container import InputContainer
    from PIL import Image

_MOMENTS = (0.10, 0.25, 0.50, 0.75, 0.90, 0.03, 0.0)  # of the length; those before count a little more
_PATIENCE = 0.02  # what a later moment must be better
_GOOD = 0.3  # below this a frame is dark, blank or a fade
_NEAR = 2.0  # seconds between a key frame and the moment it stands for
_AHEAD = 300  # frames decoded on from a key frame towards the moment
_PACKETS = 3_000  # looked at after one jump
_FAILURES = 200  # packets that may fail after one jump
_SMALL = 160  # the width at which a frame is judged
_HD = 720  # rows from which colours without a label are those of HD television
_UNLABELLED = 2
# The display matrix's signs: how Pillow turns such a picture upright, and how far that is clockwise.
_TURNS: dict[tuple[int, ...], tuple[str | None, int]] = {
    (0, 1, -1, 0): ("ROTATE_270", 90),
    (-1, 0, 0, -1): ("ROTATE_180", 180),
    (0, -1, 1, 0): ("ROTATE_90", 270),
    (-1, 0, 0, 1): ("FLIP_LEFT_RIGHT", 0),
    (1, 0, 0, -1): ("FLIP_TOP_BOTTOM", 180),
    (0, 1, 1, 0): ("TRANSPOSE", 90),
    (0, -1, -1, 0): ("TRANSVERSE", 270),
}


@dataclass(frozen=True)
class Poster:
    """The best frame, upright and in its true shape, and when it is seen."""

    image: Image.Image
    second: float
    turn: int  # degrees clockwise
    score: float


def poster_of(container: InputContainer, stream: VideoStream, seconds: float, limits: MediaLimits) -> Poster | None:
    """The best of a few moments; None when no frame can be decoded. The stream's size has been checked."""
    return _Search(container, stream, limits).best(seconds)


class _Search:
    def __init__(self, container: InputContainer, stream: VideoStream, limits: MediaLimits) -> None:
        self._container = container
        self._stream = stream
        self._pixels = limits.video_pixels
        self._work = limits.poster_work
        self._seen: set[float] = set()
        self._found: Poster | None = None
        base = stream.time_base
        self._start = float(stream.start_time * base) if stream.start_time and base else 0.0
        context = stream.codec_context
        context.thread_count = 1
        context.options = {"max_pixels": str(limits.video_pixels)}

    def best(self, seconds: float) -> Poster | None:
        for moment in _MOMENTS:
            self._look_at(moment * seconds, near=max(_NEAR, 0.05 * seconds))
            if self._work <= 0 or (self._found and self._found.score >= _GOOD and moment >= 0.5):
                break
        if self._found is None or self._found.score < _GOOD:
            self._walk()
        return self._found

    def _look_at(self, second: float, near: float) -> None:
        """The key frame before this second, or, when that is far off or known already, the second itself."""
        last: tuple[VideoFrame, float] | None = None
        for frame, at in self._from(second):
            last = frame, at
            if at >= second or (second - at <= near and at not in self._seen):
                break
        if last and last[1] not in self._seen:
            self._judge(*last)

    def _walk(self) -> None:
        """No key frame will do: go through the beginning, a few frames a second, until one does."""
        last = -1.0
        for frame, at in self._from(0.0, ahead=_PACKETS):
            if at - last >= 0.25 or at < last:
                last = at
                self._judge(frame, at)
                if self._found and self._found.score >= _GOOD:
                    return

    def _from(self, second: float, ahead: int = _AHEAD) -> Iterator[tuple[VideoFrame, float]]:
        """Frames from the key frame before this second on, with the second each is shown at."""
        import av.error

        failures = count = frames = 0
        try:
            self._container.seek(round((self._start + second) * 1_000_000))
        except av.error.FFmpegError:
            if second > 0:
                return
        try:
            for packet in self._container.demux(self._stream):
                count += 1
                try:
                    decoded = packet.decode()
                except av.error.FFmpegError:
                    failures += 1
                    decoded = []
                for frame in decoded:
                    frames += 1
                    self._work -= frame.width * frame.height
                    if 0 < frame.width * frame.height <= self._pixels:
                        yield frame, max(0.0, (frame.time or 0.0) - self._start)
                if self._work <= 0 or frames >= ahead or count >= _PACKETS or failures >= _FAILURES:
                    return
        except (av.error.FFmpegError, EOFError):
            return  # the rest cannot be read

    def _judge(self, frame: VideoFrame, at: float) -> None:
        import av.error

        self._seen.add(at)
        try:
            score = _score(frame)
            if self._found is None or score > self._found.score + _PATIENCE:
                method, turn = _turn(frame)
                self._found = Poster(_upright(frame, self._stream, method), round(at, 3), turn, score)
        except (av.error.FFmpegError, ValueError):
            return  # a pixel format nobody converts


def _score(frame: VideoFrame) -> float:
    """0 for a frame of one colour, towards 1 for one full of light and detail."""
    import numpy

    height = max(2, round(frame.height * _SMALL / frame.width)) if frame.width else 2
    small = frame.reformat(width=_SMALL, height=min(height, 4 * _SMALL), format="rgb24", threads=1)
    grey = small.to_ndarray().astype(numpy.float32).mean(axis=2)
    contrast = min(1.0, float(grey.std()) / 30)
    detail = min(1.0, float(numpy.abs(numpy.diff(grey, axis=0)).mean() + numpy.abs(numpy.diff(grey)).mean()) / 16)
    shares = numpy.bincount((grey / 8).astype(numpy.int64).ravel(), minlength=32) / grey.size
    shares = shares[shares > 0]
    variety = float(-(shares * numpy.log2(shares)).sum()) / 5
    brightness = float(numpy.percentile(grey, 99))
    light = min(1.0, max(0.0, (brightness - 24) / 72))  # a night scene has its lamps; a black frame has none
    return light * (0.2 * contrast + 0.5 * detail + 0.3 * variety) * (0.4 if frame.is_corrupt else 1.0)


def _turn(frame: VideoFrame) -> tuple[str | None, int]:
    import numpy

    matrix: Any = frame.side_data.get("DISPLAYMATRIX")
    if matrix is None:
        return None, 0
    values = numpy.frombuffer(bytes(matrix), dtype=numpy.int32)[[0, 1, 3, 4]]
    signs = tuple(int(sign) for sign in numpy.rint(values / 65536).clip(-1, 1))
    return _TURNS.get(signs, (None, 0))


def _upright(frame: VideoFrame, stream: VideoStream, method: str | None) -> Image.Image:
    from PIL import Image

    width, height = display_size(frame.width, frame.height, stream.sample_aspect_ratio)
    scale = min(1.0, LONGEST / max(width, height))
    source = "ITU709" if frame.colorspace == _UNLABELLED and frame.height >= _HD else None
    small = frame.reformat(
        width=max(1, round(width * scale)),
        height=max(1, round(height * scale)),
        format="rgb24",
        src_colorspace=source,
        interpolation="AREA" if scale < 1 else "BICUBIC",
        threads=1,
    )
    picture = Image.fromarray(small.to_ndarray())
    return picture if method is None else picture.transpose(Image.Transpose[method])
