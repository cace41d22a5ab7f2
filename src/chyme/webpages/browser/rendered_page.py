"""A page as a browser rendered it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RenderedPage:
    """A page after its scripts have run."""

    url: str  # after all redirects
    status: int  # of its HTTP response
    title: str
    html: str  # the finished page, with shadow trees inserted
    screenshot: bytes | None  # JPEG of the first screens
    width: int  # of the screenshot, in pixels; 0 without one
    height: int
    engine: str  # as in `Chromium 150.0.7871.100`
    refused: tuple[str, ...] = ()  # hosts that the page asked for and the guard refused
    notes: tuple[str, ...] = ()  # what is missing or wrong, each as part of a sentence
    retry_after: str | None = None  # the header of that name, if the server asks for a pause
