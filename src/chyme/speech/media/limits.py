"""How far looking at sound and video may go."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MediaLimits:
    """Each field is the name of its setting."""

    video_pixels: int = 36_000_000  # width × height of a frame that is still decoded: 8K film
    cover_pixels: int = 50_000_000  # width × height of a cover that is still decoded
    poster_work: int = 2_000_000_000  # pixels decoded in search of a poster, all frames together
    sound_hours: int = 48  # sound beyond this is not decoded; the length is then the file's own word
    peaks: int = 1_000  # values of a waveform
    chapters: int = 500
    tag_chars: int = 500  # of one tag or one chapter's title
