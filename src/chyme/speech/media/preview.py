"""Build the preview of a recording: length, streams, tags, waveform and pictures."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from chyme.errors import DigestError
from chyme.imaging.thumbnails import make_preview_and_thumbnail
from chyme.model import Artifact
from chyme.speech.media.container import (
    MediaLimits,
    Recording,
    audio_facts,
    chapters_in,
    container_name,
    declared_seconds,
    find_audio_stream,
    find_video_stream,
    is_undecodable,
    open_container,
    video_facts,
)
from chyme.speech.media.posters_and_covers import Poster, cover_of, poster_of
from chyme.speech.media.stream_scan import StreamScan, scan_streams
from chyme.speech.media.tags import place_in, tags_in

if TYPE_CHECKING:
    from av import AudioStream, VideoStream
    from av.container import InputContainer

COVER, POSTER = "cover.jpg", "poster.jpg"
SHORT = 0.95  # of the declared length; a shorter file was cut off
PADDING = 0.1  # seconds by which the last audio block may extend beyond the recording
_SCAN_SHARE = 0.9  # share of the progress; the rest is for the picture


@dataclass(frozen=True, slots=True)
class Preview:
    """The result, ready for JSON, and its pictures."""

    content: dict[str, Any]
    artifacts: tuple[Artifact, ...]


def build_preview(recording: Recording, limits: MediaLimits, progress: Callable[[float], None]) -> Preview:
    """Decode all of the sound once and look at a few frames. Raises UnreadableFile or UnsupportedFile."""
    notes: list[str] = []
    with open_container(recording, limits) as container:
        video, audio = find_video_stream(container), find_audio_stream(container)
        size = recording.size
        scan = scan_streams(
            container, video, audio, limits, lambda position: progress(_SCAN_SHARE * min(1.0, position / size))
        )
        declared = declared_seconds(container)
        seconds = _choose_duration(scan, declared)
        content: dict[str, Any] = {"duration": round(seconds, 3)} if seconds > 0 else {}
        content["container"] = container_name(container, recording.mime)
        poster, pictures = _make_pictures(recording, video is not None, seconds, limits, notes)
        if video:
            turn = poster.turn if poster else 0
            content["video"] = video_facts(video, turn, scan.video.seconds, scan.video.size)
        if audio:
            content["audio"] = audio_facts(audio, seconds, scan.audio.size)
        content |= _describe_content(container, video, audio, limits)
        content |= _describe_sound(scan)
        notes = [*_list_notes(scan, video, audio, declared, limits), *notes]
    if pictures:
        content[pictures[0].filename.removesuffix(".jpg")] = pictures[0].filename
    if poster:
        content["poster_second"] = poster.second
    if notes:
        content["note"] = "; ".join(notes)
    return Preview(content, pictures)


def _choose_duration(scan: StreamScan, declared: float | None) -> float:
    """Return the measured length, or the header's if nothing was measured or the two differ by codec padding only."""
    if declared and (scan.cut or not scan.seconds or abs(scan.seconds - declared) <= PADDING):
        return declared
    return scan.seconds


def _describe_content(
    container: InputContainer, video: VideoStream | None, audio: AudioStream | None, limits: MediaLimits
) -> dict[str, Any]:
    sources = [container.metadata, *(stream.metadata for stream in (video, audio) if stream)]
    fields: dict[str, Any] = {
        "tags": tags_in(sources, limits.tag_chars),
        "place": place_in(sources),
        "chapters": chapters_in(container, limits.chapters, limits.tag_chars),
    }
    return {key: value for key, value in fields.items() if value}


def _describe_sound(scan: StreamScan) -> dict[str, Any]:
    if scan.waveform is None:
        return {}
    fields: dict[str, Any] = {"peaks": scan.waveform.peaks(), "silent": scan.waveform.silent}
    if not scan.waveform.silent:
        fields["loudest"] = round(20 * math.log10(scan.waveform.loudest), 1)
    return fields


def _make_pictures(
    recording: Recording, has_video: bool, seconds: float, limits: MediaLimits, notes: list[str]
) -> tuple[Poster | None, tuple[Artifact, ...]]:
    """Return a video's poster, or else the embedded cover. Each opens the file anew."""
    poster = _find_poster(recording, seconds, limits, notes) if has_video else None
    if poster:
        return poster, make_preview_and_thumbnail(POSTER, poster.image)
    with suppress(DigestError), open_container(recording, limits) as container:
        image, note = cover_of(container, limits)
        if note:
            notes.append(note)
        if image:
            return None, make_preview_and_thumbnail(COVER, image)
    return None, ()


def _find_poster(recording: Recording, seconds: float, limits: MediaLimits, notes: list[str]) -> Poster | None:
    poster = None
    with open_container(recording, limits) as container:
        video = find_video_stream(container)
        if video is None or is_undecodable(video):
            notes.append("the picture is protected or of an unknown codec")
            return None
        if video.width * video.height > limits.video_pixels:
            size = f"{video.width:,} × {video.height:,}"
            notes.append(f"no poster: frames of {size} are larger than video_pixels ({limits.video_pixels:,}) allows")
            return None
        try:
            poster = poster_of(container, video, seconds, limits)
        except MemoryError:
            notes.append("no poster: its frames need more memory than is allowed")
            return None
    if poster is None:
        notes.append("no frame of the video can be read")
    return poster


def _list_notes(
    scan: StreamScan,
    video: VideoStream | None,
    audio: AudioStream | None,
    declared: float | None,
    limits: MediaLimits,
) -> list[str]:
    notes = []
    if not video and not audio:
        notes.append("it holds neither sound nor moving pictures")
    if audio and scan.waveform is None:
        problem = "is protected or of an unknown codec" if is_undecodable(audio) else "cannot be decoded"
        notes.append(f"the sound {problem}")
    if scan.cut:
        notes.append(f"the waveform covers the first {limits.sound_hours} hours; raise sound_hours to hear more")
    elif declared and 0 < scan.seconds < SHORT * declared - 0.5:
        notes.append(f"the file is cut short: {scan.seconds:.1f} of {declared:.1f} seconds are there")
    elif scan.failures > 1 + scan.audio.packets // 100:  # the first packet of a cut recording may need an earlier one
        notes.append("parts of the sound cannot be read")
    return notes
