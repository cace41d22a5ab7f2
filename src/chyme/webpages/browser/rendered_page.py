"""What a browser saw of a page."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RenderedPage:
    """A page after its scripts have run."""

    url: str  # where it came from in the end
    status: int  # of its HTTP answer
    title: str
    html: str  # the finished page, shadow trees in their places
    screenshot: bytes | None  # JPEG of the first screens
    width: int  # of the picture, in pixels; 0 without one
    height: int
    engine: str  # as in `Chromium 150.0.7871.100`
    refused: tuple[str, ...] = ()  # hosts that the page wanted and the guard refused
    notes: tuple[str, ...] = ()  # what is not as it should be, each as part of a sentence
    retry_after: str | None = None  # the header of that name, for an answer that asks for a pause
