"""The limits of a crawl."""

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
