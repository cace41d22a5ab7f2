"""The picture of a recording: the frame that represents a video best, or the cover embedded in the file."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from chyme.imaging.thumbnails import LONGEST
from chyme.speech.media.container import MediaLimits, display_size

if TYPE_CHECKING:
    from av import VideoFrame, VideoStream
    from av.container import InputContainer
    from PIL import Image

_MOMENTS = (0.10, 0.25, 0.50, 0.75, 0.90, 0.03, 0.0)  # fractions of the length, in order of preference
_MIN_GAIN = 0.02  # by how much a later moment must score better
_GOOD_SCORE = 0.3  # a frame with a lower score is dark, blank or part of a fade
_NEAR_SECONDS = 2.0  # seconds that a key frame may be away from the moment it stands for
_MAX_FRAMES = 300  # frames decoded from a key frame on towards the moment
_MAX_PACKETS = 3_000  # packets read after one seek
_MAX_FAILURES = 200  # packets that may fail after one seek
_SCORING_WIDTH = 160  # width at which a frame is scored
_HD_HEIGHT = 720  # frame height from which unlabelled colours are those of HD television
_UNLABELLED_COLORSPACE = 2
_COVER_FORMATS = ("JPEG", "PNG", "GIF", "BMP", "WEBP")
_MAX_COVER_PACKETS = 100  # pictures come before all other packets
# Signs of the display matrix → the Pillow operation that turns the picture upright, and its clockwise angle.
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
    """The best frame, upright and with the right aspect ratio, and the time at which it is shown."""

    image: Image.Image
    second: float
    turn: int  # degrees clockwise
    score: float


def poster_of(container: InputContainer, stream: VideoStream, seconds: float, limits: MediaLimits) -> Poster | None:
    """Return the best of a few moments; None when no frame can be decoded. The caller has checked the frame size."""
    return _PosterSearch(container, stream, limits).best(seconds)


class _PosterSearch:
    def __init__(self, container: InputContainer, stream: VideoStream, limits: MediaLimits) -> None:
        self._container = container
        self._stream = stream
        self._max_pixels = limits.video_pixels
        self._remaining_work = limits.poster_work
        self._scored_seconds: set[float] = set()
        self._best: Poster | None = None
        base = stream.time_base
        self._start = float(stream.start_time * base) if stream.start_time and base else 0.0
        context = stream.codec_context
        context.thread_count = 1
        context.options = {"max_pixels": str(limits.video_pixels)}

    def best(self, seconds: float) -> Poster | None:
        for moment in _MOMENTS:
            self._score_moment(moment * seconds, near=max(_NEAR_SECONDS, 0.05 * seconds))
            if self._remaining_work <= 0 or (self._best and self._best.score >= _GOOD_SCORE and moment >= 0.5):
                break
        if self._best is None or self._best.score < _GOOD_SCORE:
            self._score_beginning()
        return self._best

    def _score_moment(self, second: float, near: float) -> None:
        """Score the key frame before this second, or the frame at it if the former is too far off or already scored."""
        last: tuple[VideoFrame, float] | None = None
        for frame, frame_second in self._frames_from(second):
            last = frame, frame_second
            if frame_second >= second or (second - frame_second <= near and frame_second not in self._scored_seconds):
                break
        if last and last[1] not in self._scored_seconds:
            self._consider(*last)

    def _score_beginning(self) -> None:
        """Score a few frames per second from the start until one is good enough, because no key frame was."""
        last = -1.0
        for frame, frame_second in self._frames_from(0.0, max_frames=_MAX_PACKETS):
            if frame_second - last >= 0.25 or frame_second < last:
                last = frame_second
                self._consider(frame, frame_second)
                if self._best and self._best.score >= _GOOD_SCORE:
                    return

    def _frames_from(self, second: float, max_frames: int = _MAX_FRAMES) -> Iterator[tuple[VideoFrame, float]]:
        """Yield the frames from the key frame before this second on, each with the second at which it is shown."""
        import av.error

        failures = packets = frames = 0
        try:
            self._container.seek(round((self._start + second) * 1_000_000))
        except av.error.FFmpegError:
            if second > 0:
                return
        try:
            for packet in self._container.demux(self._stream):
                packets += 1
                try:
                    decoded = packet.decode()
                except av.error.FFmpegError:
                    failures += 1
                    decoded = []
                for frame in decoded:
                    frames += 1
                    self._remaining_work -= frame.width * frame.height
                    if 0 < frame.width * frame.height <= self._max_pixels:
                        yield frame, max(0.0, (frame.time or 0.0) - self._start)
                if (
                    self._remaining_work <= 0
                    or frames >= max_frames
                    or packets >= _MAX_PACKETS
                    or failures >= _MAX_FAILURES
                ):
                    return
        except (av.error.FFmpegError, EOFError):
            return  # the rest is unreadable

    def _consider(self, frame: VideoFrame, second: float) -> None:
        import av.error

        self._scored_seconds.add(second)
        try:
            score = _score(frame)
            if self._best is None or score > self._best.score + _MIN_GAIN:
                method, turn = _rotation_of(frame)
                self._best = Poster(_upright_image(frame, self._stream, method), round(second, 3), turn, score)
        except (av.error.FFmpegError, ValueError):
            return  # a pixel format that cannot be converted


def _score(frame: VideoFrame) -> float:
    """0 for a frame of one colour, towards 1 for a bright and detailed frame."""
    import numpy

    height = max(2, round(frame.height * _SCORING_WIDTH / frame.width)) if frame.width else 2
    small = frame.reformat(width=_SCORING_WIDTH, height=min(height, 4 * _SCORING_WIDTH), format="rgb24", threads=1)
    grey = small.to_ndarray().astype(numpy.float32).mean(axis=2)
    contrast = min(1.0, float(grey.std()) / 30)
    detail = min(1.0, float(numpy.abs(numpy.diff(grey, axis=0)).mean() + numpy.abs(numpy.diff(grey)).mean()) / 16)
    shares = numpy.bincount((grey / 8).astype(numpy.int64).ravel(), minlength=32) / grey.size
    shares = shares[shares > 0]
    variety = float(-(shares * numpy.log2(shares)).sum()) / 5
    brightness = float(numpy.percentile(grey, 99))
    light = min(1.0, max(0.0, (brightness - 24) / 72))  # a night scene has lamps; a black frame has none
    return light * (0.2 * contrast + 0.5 * detail + 0.3 * variety) * (0.4 if frame.is_corrupt else 1.0)


def _rotation_of(frame: VideoFrame) -> tuple[str | None, int]:
    import numpy

    matrix: Any = frame.side_data.get("DISPLAYMATRIX")
    if matrix is None:
        return None, 0
    values = numpy.frombuffer(bytes(matrix), dtype=numpy.int32)[[0, 1, 3, 4]]
    signs = tuple(int(sign) for sign in numpy.rint(values / 65536).clip(-1, 1))
    return _TURNS.get(signs, (None, 0))


def _upright_image(frame: VideoFrame, stream: VideoStream, method: str | None) -> Image.Image:
    from PIL import Image

    width, height = display_size(frame.width, frame.height, stream.sample_aspect_ratio)
    scale = min(1.0, LONGEST / max(width, height))
    source_colorspace = "ITU709" if frame.colorspace == _UNLABELLED_COLORSPACE and frame.height >= _HD_HEIGHT else None
    small = frame.reformat(
        width=max(1, round(width * scale)),
        height=max(1, round(height * scale)),
        format="rgb24",
        src_colorspace=source_colorspace,
        interpolation="AREA" if scale < 1 else "BICUBIC",
        threads=1,
    )
    picture = Image.fromarray(small.to_ndarray())
    return picture if method is None else picture.transpose(Image.Transpose[method])


def cover_of(container: InputContainer, limits: MediaLimits) -> tuple[Image.Image | None, str | None]:
    """Return the front cover or else the first readable picture; and a note when all pictures are unreadable."""
    import av.error
    from av.stream import Disposition

    pictures = [stream for stream in container.streams.video if stream.disposition & Disposition.attached_pic]
    if not pictures:
        return None, None
    pictures.sort(key=lambda stream: "front" not in stream.metadata.get("comment", "").lower())
    data: dict[int, bytes] = {}
    try:
        for count, packet in enumerate(container.demux(*pictures)):
            if packet.size:
                data.setdefault(packet.stream_index, bytes(packet))
            if len(data) == len(pictures) or count >= _MAX_COVER_PACKETS:
                break
    except av.error.FFmpegError:
        pass
    note: str | None = "its cover cannot be read"
    for stream in pictures:
        image, problem = _decode_cover(data.get(stream.index, b""), limits.cover_pixels)
        if image is not None:
            return image, None
        note = problem or note
    return None, note


def _decode_cover(data: bytes, max_pixels: int) -> tuple[Image.Image | None, str | None]:
    from PIL import Image, ImageOps

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings about sizes, which are checked here, and about odd metadata
        try:
            image = Image.open(io.BytesIO(data), formats=_COVER_FORMATS)
            if image.width * image.height > max_pixels:
                return None, f"its cover is larger than cover_pixels ({max_pixels:,}) allows"
            image.draft("RGB", (LONGEST, LONGEST))
            image.load()
            return ImageOps.exif_transpose(image), None
        except Image.DecompressionBombError:
            return None, f"its cover is larger than cover_pixels ({max_pixels:,}) allows"
        except (OSError, ValueError, SyntaxError, EOFError, IndexError, KeyError, TypeError, OverflowError):
            return None, None  # these are what Pillow raises for broken pictures
