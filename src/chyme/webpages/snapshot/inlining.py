"""The parts of a page, fetched a few at a time and kept as data: addresses while there is room."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor

from chyme.webpages.crawl_limits import CrawlLimits
from chyme.webpages.http_client.fetch_result import FetchResult, PartFetcher
from chyme.webpages.snapshot.data_urls import FONTS, PICTURES, SVG, make_data_url, media_type, read_data_url
from chyme.webpages.snapshot.svg_sanitiser import sanitise_svg

THREADS = 6
AHEAD = 12  # parts asked for before the first of them is used: their bytes wait in memory
FONTS_SHARE = 5  # one in so many bytes of the copy may be fonts


class Parts:
    """What was kept of a page's parts, and how many were not."""

    def __init__(self, fetches: PartFetcher, limits: CrawlLimits) -> None:
        self._fetches = fetches
        self._limits = limits
        self._asked = 0
        self._kept: dict[str, str | None] = {}
        self._sheets: dict[str, FetchResult | None] = {}
        self.room = limits.snapshot_bytes
        self.fetched = 0
        self.missing = 0  # could not be had, or are not what they should be
        self.too_many = 0  # beyond a limit of ours

    def data_url_of(self, url: str | None) -> str | None:
        """The data: address of a part that was kept."""
        return self._kept.get(url) if url else None

    def reserve(self, size: int) -> bool:
        """Whether so many bytes still have a place, which is then taken."""
        if size > self.room:
            return False
        self.room -= size
        return True

    def fetch_sheets(self, urls: Iterable[str]) -> Mapping[str, FetchResult | None]:
        """The style sheets, those fetched before included."""
        new = [url for url in dict.fromkeys(urls) if url not in self._sheets]
        for url, part in self._each(new):
            told = part is not None and (part.mime in ("", "text/css", "text/plain") or ".css" in url)
            good = part if part is not None and told and part.status == 200 and not _is_markup(part.body) else None
            self._sheets[url] = good
            self.fetched += good is not None
            self.missing += good is None
        for url in new:
            if url not in self._sheets:
                self._sheets[url] = None
                self.too_many += 1
        return self._sheets

    def fetch_drawings(self, urls: Iterable[str]) -> Mapping[str, bytes]:
        """Drawings to take parts of, made harmless."""
        new, found = list(dict.fromkeys(urls)), {}
        for url, part in self._each(new):
            drawn = sanitise_svg(part.body) if part and media_type(part.body) == SVG else None
            if drawn:
                found[url] = drawn
        self.fetched += len(found)
        self.missing += len(new) - len(found)
        return found

    def inline_pictures(self, uses: Mapping[str, int]) -> None:
        """Keep the pictures that fit, in this order. `uses`: how often each of them is written."""
        self._keep(uses, PICTURES, self.room)

    def inline_fonts(self, uses: Mapping[str, int]) -> None:
        self._keep(uses, FONTS, self._limits.snapshot_bytes // FONTS_SHARE)

    def _keep(self, uses: Mapping[str, int], types: frozenset[str], room: int) -> None:
        new = [url for url in uses if url not in self._kept]
        written = [url for url in new if url[:5].lower() == "data:"]
        for url in written:
            data = read_data_url(url) if len(url) <= 2 * self._limits.picture_bytes else None
            room = self._place(url, data, types, room, uses[url])
        for url, part in self._each([url for url in new if url[:5].lower() != "data:"]):
            before = room
            room = self._place(url, part.body if part and part.status == 200 else None, types, room, uses[url])
            self.fetched += room < before
        self.too_many += sum(url not in self._kept for url in new)
        for url in new:
            self._kept.setdefault(url, None)

    def _place(self, url: str, data: bytes | None, types: frozenset[str], room: int, uses: int) -> int:
        """The room that is left after it."""
        self._kept[url] = None
        mime = media_type(data) if data else None
        if data and mime == SVG and SVG in types:
            data = sanitise_svg(data)
        if not data or mime not in types:
            self.missing += 1
            return room
        size = (len(data) * 4 // 3 + 40) * uses
        if size > room or not self.reserve(size):
            self.too_many += 1
            return room
        self._kept[url] = make_data_url(str(mime), data)
        return room - size

    def _each(self, urls: list[str]) -> Iterator[tuple[str, FetchResult | None]]:
        """Fetched in order, several at once, until the number of parts or the room is used up."""
        waiting: deque[tuple[str, Future[FetchResult | None]]] = deque()
        if not urls:
            return
        with ThreadPoolExecutor(min(THREADS, len(urls)), thread_name_prefix="parts") as pool:
            for url in urls:
                if self._asked >= self._limits.parts or self.room <= 0:
                    break
                self._asked += 1
                waiting.append((url, pool.submit(self._fetches.fetch_part, url, self._limits.picture_bytes)))
                if len(waiting) >= AHEAD:
                    first, future = waiting.popleft()
                    yield first, future.result()
            while waiting:
                first, future = waiting.popleft()
                yield first, future.result()


def _is_markup(body: bytes) -> bool:
    """A page that says sorry in place of a style sheet."""
    return body.lstrip()[:1] == b"<" and not body.lstrip().startswith(b"<!--")
