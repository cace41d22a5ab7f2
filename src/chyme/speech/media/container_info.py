"""What a container holds, told before anything is decoded."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from chyme.speech.media.tags import clean

if TYPE_CHECKING:
    from av import AudioStream, VideoStream
    from av.container import InputContainer
    from av.stream import Stream

_WIDEST = 20  # a pixel more oblong than this is a mistake in the header
_DECLARING = frozenset(
    {"mov", "matroska", "avi", "asf", "wav", "w64", "flac", "aiff", "caf", "ape", "wv", "tta", "flv"}
)
_ENCRYPTED = frozenset({"drms", "drmi", "enca", "encv"})
_BRANDS = {"qt": "mov", "m4a": "m4a", "m4b": "m4b", "3gp": "3gp", "3g2": "3gp"}


def find_video_stream(container: InputContainer) -> VideoStream | None:
    """The stream of moving pictures. Covers and thumbnails are none."""
    from av.stream import Disposition

    still = Disposition.attached_pic | Disposition.timed_thumbnails | Disposition.still_image
    films = [stream for stream in container.streams.video if not stream.disposition & still]
    best = container.streams.best("video")
    if best in films:
        return next(film for film in films if film is best)
    return max(films, key=_area, default=None)


def _area(stream: VideoStream) -> int:
    return stream.codec_context.width * stream.codec_context.height if stream.codec_context else 0


def find_audio_stream(container: InputContainer) -> AudioStream | None:
    """The stream a player would play."""
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
    """The length that the file's header states. None where it would only be a guess from the file's size."""
    if container.format.name.split(",")[0] not in _DECLARING:
        return None
    return container.duration / 1_000_000 if container.duration and container.duration > 0 else None


def codec_of(stream: Stream) -> str | None:
    """The codec's common name; None when nobody here knows it."""
    return stream.codec_context.codec.canonical_name if stream.codec_context else None


def is_undecodable(stream: Stream) -> bool:
    """Whether nobody here can decode it: encrypted by a shop, or of a codec that is not known."""
    return not stream.codec_context or stream.codec_context.codec_tag in _ENCRYPTED


def video_facts(stream: VideoStream, turn: int, seconds: float, size: int) -> dict[str, Any]:
    """Codec, size as displayed, and speed. `turn` is how far it is turned clockwise to stand upright."""
    facts: dict[str, Any] = {"codec": codec_of(stream)}
    if stream.codec_context:
        width, height = display_size(stream.width, stream.height, stream.sample_aspect_ratio)
        facts |= dict(zip(("width", "height"), (height, width) if turn % 180 else (width, height), strict=True))
        facts["rotation"] = turn
    rate = stream.average_rate or stream.guessed_rate
    if rate and 0 < rate <= 1000:
        facts["fps"] = round(float(rate), 3)
    return _known(facts, seconds, size)


def audio_facts(stream: AudioStream, seconds: float, size: int) -> dict[str, Any]:
    """Codec, rate, channels and how many bits a second take in truth."""
    facts: dict[str, Any] = {"codec": codec_of(stream)}
    if stream.codec_context:
        facts |= {"sample_rate": stream.codec_context.sample_rate, "channels": stream.codec_context.channels}
    if stream.language and stream.language != "und":
        facts["language"] = stream.language
    return _known(facts, seconds, size)


def _known(facts: dict[str, Any], seconds: float, size: int) -> dict[str, Any]:
    if seconds > 0 and size:
        facts["bit_rate"] = round(size * 8 / seconds)
    return {key: value for key, value in facts.items() if value or key == "rotation"}


def display_size(width: int, height: int, aspect: Fraction | None) -> tuple[int, int]:
    """The size on a screen, whose pixels are square."""
    if not aspect or aspect == 1 or not Fraction(1, _WIDEST) <= aspect <= _WIDEST:
        return width, height
    return (round(width * aspect), height) if aspect > 1 else (width, round(height / aspect))


def chapters_in(container: InputContainer, most: int, chars: int) -> list[dict[str, Any]]:
    """Start, end and title of each chapter, in seconds."""
    found = []
    for chapter in container.chapters()[:most]:
        base = chapter["time_base"]
        if not base:
            continue
        told: dict[str, Any] = {
            "start": round(float(chapter["start"] * base), 3),
            "end": round(float(chapter["end"] * base), 3),
        }
        title = clean(chapter["metadata"].get("title", ""), chars)
        if title:
            told["title"] = title
        if 0 <= told["start"] <= told["end"]:
            found.append(told)
    return found
