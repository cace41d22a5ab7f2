"""How far a crawl may go."""

from __future__ import annotations

from dataclasses import dataclass

MB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class CrawlLimits:
    """Each field is the name of its setting, with `web_` in front."""

    agent: str = "chyme"  # how we name ourselves to servers
    seconds: float = 60.0  # for the page itself, all redirects together
    hops: int = 10  # redirects followed
    page_bytes: int = 20 * MB  # of the page, unpacked; also of a PDF or picture behind a link
    snapshot_bytes: int = 20 * MB  # of the kept copy with its pictures and styles
    picture_bytes: int = 5 * MB  # of one picture or font in it
    parts: int = 200  # pictures, styles and fonts fetched for one kept copy
    parts_seconds: float = 30.0  # for all of them
    robots: bool = False  # whether robots.txt is obeyed
