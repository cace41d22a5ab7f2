"""Audio and video files: open one within limits, without letting it open any other, and describe what it holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, BinaryIO, NoReturn

from chyme.errors import UnreadableFile, UnsupportedFile
from chyme.speech.media.tags import clean

if TYPE_CHECKING:
    from av import AudioStream, VideoStream
    from av.container import InputContainer
    from av.stream import Stream

BUFFER = 256 << 10

# Formats that keep everything in one file: no playlists, image sequences, devices or subtitles.
_FORMATS = (
    *("mov", "matroska", "avi", "asf", "mpegts", "mpeg", "mpegvideo", "m4v", "flv", "ogg", "rm", "mxf", "gxf", "dv"),
    *("wtv", "nut", "ivf", "h264", "hevc", "vvc", "obu", "av1", "mjpeg", "vc1", "h263"),
    *("mp3", "aac", "loas", "flac", "wav", "w64", "aiff", "caf", "au", "ac3", "eac3", "dts", "dtshd", "truehd", "mlp"),
    *("amr", "amrnb", "amrwb", "ape", "wv", "tta", "mpc", "mpc8", "tak", "shn", "dsf", "iff", "voc", "oma", "xwma"),
    *("qcp", "aa", "aax", "gsm", "dss", "codec2", "lc3", "qoa"),
)
_NOTE_FORMATS = frozenset({"audio/midi"})  # notes to play, not recorded sound
_MAX_PIXEL_ASPECT = 20  # a pixel aspect ratio beyond this is a mistake in the header
_FORMATS_WITH_DURATION = frozenset(
    {"mov", "matroska", "avi", "asf", "wav", "w64", "flac", "aiff", "caf", "ape", "wv", "tta", "flv"}
)
_ENCRYPTED_TAGS = frozenset({"drms", "drmi", "enca", "encv"})
_BRANDS = {"qt": "mov", "m4a": "m4a", "m4b": "m4b", "3gp": "3gp", "3g2": "3gp"}
_ADVICE = "play it elsewhere to see whether it is whole, and copy it again from where it came from"


@dataclass(frozen=True, slots=True)
class MediaLimits:
    """Each field has the name of its setting."""

    video_pixels: int = 36_000_000  # width × height of the largest frame that is decoded: 8K video
    cover_pixels: int = 50_000_000  # width × height of the largest cover that is decoded
    poster_work: int = 2_000_000_000  # total pixels decoded while searching for a poster
    sound_hours: int = 48  # sound beyond this is not decoded; the length is then the one the header states
    peaks: int = 1_000  # values of a waveform
    chapters: int = 500
    tag_chars: int = 500  # in one tag or one chapter title


@dataclass(frozen=True, slots=True)
class Recording:
    """An audio or video file; each call of `open` returns its bytes from the beginning."""

    name: str
    mime: str
    size: int
    open: Callable[[], BinaryIO]


class _NamelessFile:
    """A file object without a name: FFmpeg can neither interpret the name nor look for files next to it."""

    def __init__(self, stream: BinaryIO) -> None:
        self.read = stream.read
        self.seek = stream.seek
        self.tell = stream.tell


def _refuse_to_open(url: str, flags: int, options: dict[str, str]) -> NoReturn:
    raise PermissionError("a media file may not open another file or address")


@contextmanager
def open_container(recording: Recording, limits: MediaLimits) -> Iterator[InputContainer]:
    """Open the file's container and read its streams. Raises UnreadableFile or UnsupportedFile."""
    import av
    import av.error

    av.logging.set_libav_level(av.logging.PANIC)
    options = {
        "format_whitelist": ",".join(_FORMATS),
        "protocol_whitelist": "none",
        "max_pixels": str(max(limits.video_pixels, limits.cover_pixels)),  # streams are probed while opening
    }
    if not recording.size:
        raise UnreadableFile(f"{recording.name}: the file is empty; copy it again from where it came from")
    with recording.open() as stream:
        try:
            container = av.open(
                _NamelessFile(stream),
                "r",
                options=options,
                metadata_errors="surrogateescape",
                buffer_size=BUFFER,
                io_open=_refuse_to_open,
            )
        except (av.error.ArgumentError, av.error.DemuxerNotFoundError) as error:
            raise UnsupportedFile(f"{recording.name}: its audio or video format cannot be read here") from error
        except (av.error.FFmpegError, PermissionError) as error:
            if recording.mime in _NOTE_FORMATS:
                raise UnsupportedFile(f"{recording.name}: it holds notes, not sound; save a recording of it") from error
            raise UnreadableFile(f"{recording.name}: the file is broken or incomplete; {_ADVICE}") from error
        with container:
            yield container


def find_video_stream(container: InputContainer) -> VideoStream | None:
    """The stream with the moving pictures; covers and thumbnails do not count."""
    from av.stream import Disposition

    still_flags = Disposition.attached_pic | Disposition.timed_thumbnails | Disposition.still_image
    candidates = [stream for stream in container.streams.video if not stream.disposition & still_flags]
    best = container.streams.best("video")
    if best in candidates:
        return next(stream for stream in candidates if stream is best)
    return max(candidates, key=_area, default=None)


def _area(stream: VideoStream) -> int:
    return stream.codec_context.width * stream.codec_context.height if stream.codec_context else 0


def find_audio_stream(container: InputContainer) -> AudioStream | None:
    """The stream that a player would play."""
    best = container.streams.best("audio")
    return next((stream for stream in container.streams.audio if stream is best), None) or next(
        iter(container.streams.audio), None
    )


def container_name(container: InputContainer, mime: str) -> str:
    """One short word for the format."""
    names = container.format.name.split(",")
    if names[0] == "mov":
        brand = container.metadata.get("major_brand", "").strip().lower()
        return _BRANDS.get(brand[:3], _BRANDS.get(brand[:2], "mp4"))
    if names[0] == "matroska":
        return "webm" if mime.endswith("/webm") else "matroska"
    return names[0]


def declared_seconds(container: InputContainer) -> float | None:
    """The length stated in the file's header; None for formats where it would only be a guess from the file's size."""
    if container.format.name.split(",")[0] not in _FORMATS_WITH_DURATION:
        return None
    return container.duration / 1_000_000 if container.duration and container.duration > 0 else None


def codec_of(stream: Stream) -> str | None:
    """The codec's common name; None when the codec is unknown."""
    return stream.codec_context.codec.canonical_name if stream.codec_context else None


def is_undecodable(stream: Stream) -> bool:
    """Whether the stream cannot be decoded: encrypted by a shop, or of an unknown codec."""
    return not stream.codec_context or stream.codec_context.codec_tag in _ENCRYPTED_TAGS


def video_facts(stream: VideoStream, turn: int, seconds: float, size: int) -> dict[str, Any]:
    """Codec, displayed size and frame rate. `turn` is the clockwise rotation that makes the picture upright."""
    facts: dict[str, Any] = {"codec": codec_of(stream)}
    if stream.codec_context:
        width, height = display_size(stream.width, stream.height, stream.sample_aspect_ratio)
        facts |= dict(zip(("width", "height"), (height, width) if turn % 180 else (width, height), strict=True))
        facts["rotation"] = turn
    rate = stream.average_rate or stream.guessed_rate
    if rate and 0 < rate <= 1000:
        facts["fps"] = round(float(rate), 3)
    return _add_bit_rate(facts, seconds, size)


def audio_facts(stream: AudioStream, seconds: float, size: int) -> dict[str, Any]:
    """Codec, sample rate, channels and the actual bit rate."""
    facts: dict[str, Any] = {"codec": codec_of(stream)}
    if stream.codec_context:
        facts |= {"sample_rate": stream.codec_context.sample_rate, "channels": stream.codec_context.channels}
    if stream.language and stream.language != "und":
        facts["language"] = stream.language
    return _add_bit_rate(facts, seconds, size)


def _add_bit_rate(facts: dict[str, Any], seconds: float, size: int) -> dict[str, Any]:
    if seconds > 0 and size:
        facts["bit_rate"] = round(size * 8 / seconds)
    return {key: value for key, value in facts.items() if value or key == "rotation"}


def display_size(width: int, height: int, aspect: Fraction | None) -> tuple[int, int]:
    """The size on a screen with square pixels."""
    if not aspect or aspect == 1 or not Fraction(1, _MAX_PIXEL_ASPECT) <= aspect <= _MAX_PIXEL_ASPECT:
        return width, height
    return (round(width * aspect), height) if aspect > 1 else (width, round(height / aspect))


def chapters_in(container: InputContainer, limit: int, max_title_chars: int) -> list[dict[str, Any]]:
    """Start, end and title of each chapter, in seconds."""
    chapters = []
    for chapter in container.chapters()[:limit]:
        base = chapter["time_base"]
        if not base:
            continue
        fields: dict[str, Any] = {
            "start": round(float(chapter["start"] * base), 3),
            "end": round(float(chapter["end"] * base), 3),
        }
        title = clean(chapter["metadata"].get("title", ""), max_title_chars)
        if title:
            fields["title"] = title
        if 0 <= fields["start"] <= fields["end"]:
            chapters.append(fields)
    return chapters
