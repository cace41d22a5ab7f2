"""Settings and limits of fetching pages, and of the browser that renders them."""

from __future__ import annotations

from dataclasses import dataclass

from chyme.errors import EngineUnavailable

MB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class CrawlLimits:
    """Limits of one crawl. The setting of each field is its name with `web_` in front."""

    agent: str = "chyme"  # the User-Agent sent to servers
    seconds: float = 60.0  # for the page itself, all redirects together
    hops: int = 10  # redirects followed
    page_bytes: int = 20 * MB  # size of the page, decompressed; also of a PDF or picture behind a link
    snapshot_bytes: int = 20 * MB  # size of the snapshot with its pictures and styles
    picture_bytes: int = 5 * MB  # size of one picture or font in the snapshot
    parts: int = 200  # pictures, styles and fonts fetched for one snapshot
    parts_seconds: float = 30.0  # for all parts together
    robots: bool = False  # whether robots.txt is obeyed


def require_crawling(crawl: bool, name: str) -> None:
    """Raise EngineUnavailable, naming this file, if the settings say that pages are not fetched."""
    if not crawl:
        raise EngineUnavailable(f"{name}: pages behind links are not fetched; set crawl to true to have them")


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
