"""Everything a person wants to know of a recording before playing it."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO

from chyme.errors import DigestError, UnreadableFile
from chyme.imaging.thumbnails import make_preview_and_thumbnail
from chyme.model import Artifact
from chyme.speech.media.container import open_container
from chyme.speech.media.container_info import (
    audio_facts,
    chapters_in,
    container_name,
    declared_seconds,
    find_audio_stream,
    find_video_stream,
    is_undecodable,
    video_facts,
)
from chyme.speech.media.cover_art import cover_of
from chyme.speech.media.limits import MediaLimits
from chyme.speech.media.posters import Poster, poster_of
from chyme.speech.media.stream_scan import StreamScan, scan_streams
from chyme.speech.media.tags import place_in, tags_in

if TYPE_CHECKING:
    from av import AudioStream, VideoStream
    from av.container import InputContainer

COVER, POSTER = "cover.jpg", "poster.jpg"
SHORT = 0.95  # of the declared length: less, and the file has been cut
PADDING = 0.1  # seconds by which the last block of sound may reach beyond the recording
_LISTENING = 0.9  # of the progress; the rest is the picture


@dataclass(frozen=True, slots=True)
class Preview:
    """What was found, ready for JSON, and its pictures."""

    content: dict[str, Any]
    artifacts: tuple[Artifact, ...]


@dataclass(frozen=True, slots=True)
class Recording:
    """The file to look at: `open` gives its bytes from the beginning, each time anew."""

    name: str
    mime: str
    size: int
    open: Callable[[], BinaryIO]


def build_preview(recording: Recording, limits: MediaLimits, progress: Callable[[float], None]) -> Preview:
    """Listens to all of it once and looks at a few moments. Raises UnreadableFile or UnsupportedFile."""
    if not recording.size:
        raise UnreadableFile(f"{recording.name}: the file is empty; copy it again from where it came from")
    notes: list[str] = []
    with recording.open() as stream, open_container(recording.name, recording.mime, stream, limits) as container:
        film, sound = find_video_stream(container), find_audio_stream(container)
        size = recording.size
        found = scan_streams(container, film, sound, limits, lambda at: progress(_LISTENING * min(1.0, at / size)))
        declared = declared_seconds(container)
        seconds = _seconds(found, declared)
        content: dict[str, Any] = {"duration": round(seconds, 3)} if seconds > 0 else {}
        content["container"] = container_name(container, recording.mime)
        poster, pictures = _pictures(recording, film is not None, seconds, limits, notes)
        if film:
            turn = poster.turn if poster else 0
            content["video"] = video_facts(film, turn, _length(found.video.end, found.video.start), found.video.size)
        if sound:
            content["audio"] = audio_facts(sound, seconds, found.audio.size)
        content |= _words(container, film, sound, limits)
        content |= _sound(found)
        notes = [*_notes(found, film, sound, declared, limits), *notes]
    if pictures:
        content[pictures[0].filename.removesuffix(".jpg")] = pictures[0].filename
    if poster:
        content["poster_second"] = poster.second
    if notes:
        content["note"] = "; ".join(notes)
    return Preview(content, pictures)


def _seconds(found: StreamScan, declared: float | None) -> float:
    """What was measured; the header's word where nothing was, or where only a codec's padding lies between them."""
    if declared and (found.cut or not found.seconds or abs(found.seconds - declared) <= PADDING):
        return declared
    return found.seconds


def _words(
    container: InputContainer, film: VideoStream | None, sound: AudioStream | None, limits: MediaLimits
) -> dict[str, Any]:
    sources = [container.metadata, *(stream.metadata for stream in (film, sound) if stream)]
    words: dict[str, Any] = {
        "tags": tags_in(sources, limits.tag_chars),
        "place": place_in(sources),
        "chapters": chapters_in(container, limits.chapters, limits.tag_chars),
    }
    return {key: value for key, value in words.items() if value}


def _sound(found: StreamScan) -> dict[str, Any]:
    if found.sound is None:
        return {}
    told: dict[str, Any] = {"peaks": found.sound.peaks(), "silent": found.sound.silent}
    if not found.sound.silent:
        told["loudest"] = round(20 * math.log10(found.sound.loudest), 1)
    return told


def _length(end: float, start: float | None) -> float:
    return end - start if start is not None else 0.0


def _pictures(
    recording: Recording, film: bool, seconds: float, limits: MediaLimits, notes: list[str]
) -> tuple[Poster | None, tuple[Artifact, ...]]:
    """The poster of a video, else the cover it carries, each from a fresh look at the file."""
    poster = _poster(recording, seconds, limits, notes) if film else None
    if poster:
        return poster, make_preview_and_thumbnail(POSTER, poster.image)
    with (
        suppress(DigestError),
        recording.open() as stream,
        open_container(recording.name, recording.mime, stream, limits) as container,
    ):
        image, note = cover_of(container, limits)
        if note:
            notes.append(note)
        if image:
            return None, make_preview_and_thumbnail(COVER, image)
    return None, ()


def _poster(recording: Recording, seconds: float, limits: MediaLimits, notes: list[str]) -> Poster | None:
    poster = None
    with recording.open() as stream, open_container(recording.name, recording.mime, stream, limits) as container:
        film = find_video_stream(container)
        if film is None or is_undecodable(film):
            notes.append("the picture is protected or of an unknown codec")
            return None
        if film.width * film.height > limits.video_pixels:
            size = f"{film.width:,} × {film.height:,}"
            notes.append(f"no poster: frames of {size} are larger than video_pixels ({limits.video_pixels:,}) allows")
            return None
        try:
            poster = poster_of(container, film, seconds, limits)
        except MemoryError:
            notes.append("no poster: its frames need more memory than is allowed")
            return None
    if poster is None:
        notes.append("no frame of the video can be read")
    return poster


def _notes(
    found: StreamScan,
    film: VideoStream | None,
    sound: AudioStream | None,
    declared: float | None,
    limits: MediaLimits,
) -> list[str]:
    notes = []
    if not film and not sound:
        notes.append("it holds neither sound nor moving pictures")
    if sound and found.sound is None:
        notes.append(
            f"the sound {'is protected or of an unknown codec' if is_undecodable(sound) else 'cannot be decoded'}"
        )
    if found.cut:
        notes.append(f"the waveform covers the first {limits.sound_hours} hours; raise sound_hours to hear more")
    elif declared and 0 < found.seconds < SHORT * declared - 0.5:
        notes.append(f"the file is cut short: {found.seconds:.1f} of {declared:.1f} seconds are there")
    elif (
        found.failures > 1 + found.audio.packets // 100
    ):  # the first packet of a cut recording often leans on one before
        notes.append("parts of the sound cannot be read")
    return notes
