"""Limits on the work spent on one audio or video file."""

from __future__ import annotations

from dataclasses import dataclass


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
