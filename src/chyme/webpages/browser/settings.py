"""Which Chromium renders web pages, and what it may use for one page."""

from __future__ import annotations

from dataclasses import dataclass

MB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class BrowserSettings:
    """`seconds`, `memory_mb` and `pages` are settings with `browser_` in front, `program` is the setting `browser`."""

    program: str = "auto"  # "auto": search for Chromium, Chrome and similar, "off": use none, else a path
    agent: str = "chyme"  # appended to Chromium's own User-Agent
    seconds: float = 45.0  # for one page, including its screenshot
    settle: float = 8.0  # how long to wait after loading for a page that keeps changing
    memory_mb: int = 1536  # private memory of all its processes together; a page that takes more fails
    pages: int = 100  # how many pages one Chromium process serves before a new one replaces it
    width: int = 1280  # of the window, in pixels
    height: int = 1600  # of the window: what a page sees as one screen
    longest: int = 4000  # largest height of a screenshot, in pixels
    quality: int = 80  # of the screenshot, as JPEG
    page_bytes: int = 20 * MB  # of the finished page's HTML; the rest is cut off
    load_bytes: int = 100 * MB  # of everything a page loads; the rest is refused
    requests: int = 1000  # parts of one page that are loaded; more are refused
    connections: int = 64  # open at once
