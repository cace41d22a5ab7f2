"""Which Chromium draws web pages, and what it may use for one."""

from __future__ import annotations

from dataclasses import dataclass

MB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class BrowserSettings:
    """`seconds`, `memory_mb` and `pages` are settings with `browser_` in front, `program` is the setting `browser`."""

    program: str = "auto"  # "auto" looks for Chromium, Chrome and their like, "off" does without, else a path
    agent: str = "chyme"  # stands behind Chromium's own name in what servers are told
    seconds: float = 45.0  # one page's time, its picture included
    settle: float = 8.0  # how long after it has loaded a page that does not come to rest is waited for
    memory_mb: int = 1536  # private memory of all its processes together; a page that takes more is given up
    pages: int = 100  # how many pages one Chromium process serves before a fresh one takes over
    width: int = 1280  # of the window, in pixels
    height: int = 1600  # of the window: what a page sees as one screen
    longest: int = 4000  # how far down the picture of a page goes, in pixels
    quality: int = 80  # of the picture, as JPEG
    page_bytes: int = 20 * MB  # of the finished page's HTML; the rest is cut off
    load_bytes: int = 100 * MB  # of all a page loads; what comes after is refused
    requests: int = 1000  # parts of one page that are loaded; more are refused
    connections: int = 64  # open at once
