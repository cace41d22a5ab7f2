"""Fetches the parts of a page, a few at a time, and stores them as data: addresses while there is room."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor

from chyme.webpages.http_client.fetch_result import FetchResult, PartFetcher
from chyme.webpages.settings import CrawlLimits
from chyme.webpages.snapshot.data_urls import FONTS, PICTURES, SVG, make_data_url, media_type, read_data_url
from chyme.webpages.snapshot.svg_files import sanitise_svg

THREADS = 6
AHEAD = 12  # parts requested before the first of them is used: their bytes wait in memory
FONTS_SHARE = 5  # fonts may take up one in this many bytes of the copy


class Parts:
    """The parts of a page that were stored, and how many were not."""

    def __init__(self, fetcher: PartFetcher, limits: CrawlLimits) -> None:
        self._fetcher = fetcher
        self._limits = limits
        self._requested = 0
        self._data_urls: dict[str, str | None] = {}
        self._sheets: dict[str, FetchResult | None] = {}
        self.room = limits.snapshot_bytes
        self.fetched = 0
        self.missing = 0  # could not be fetched, or have the wrong type
        self.too_many = 0  # beyond one of our limits

    def data_url_of(self, url: str | None) -> str | None:
        """Return the data: address of a part that was stored."""
        return self._data_urls.get(url) if url else None

    def reserve(self, size: int) -> bool:
        """Take up this many bytes of the copy if they still fit; return whether they do."""
        if size > self.room:
            return False
        self.room -= size
        return True

    def fetch_sheets(self, urls: Iterable[str]) -> Mapping[str, FetchResult | None]:
        """Return the style sheets, including those fetched before."""
        new = [url for url in dict.fromkeys(urls) if url not in self._sheets]
        for url, part in self._fetch_each(new):
            declared = part is not None and (part.mime in ("", "text/css", "text/plain") or ".css" in url)
            sheet = part if part is not None and declared and part.status == 200 and not _is_markup(part.body) else None
            self._sheets[url] = sheet
            self.fetched += sheet is not None
            self.missing += sheet is None
        for url in new:
            if url not in self._sheets:
                self._sheets[url] = None
                self.too_many += 1
        return self._sheets

    def fetch_svgs(self, urls: Iterable[str]) -> Mapping[str, bytes]:
        """Return sanitised SVG files, to take icons from."""
        new, found = list(dict.fromkeys(urls)), {}
        for url, part in self._fetch_each(new):
            svg = sanitise_svg(part.body) if part and media_type(part.body) == SVG else None
            if svg:
                found[url] = svg
        self.fetched += len(found)
        self.missing += len(new) - len(found)
        return found

    def inline_pictures(self, uses: Mapping[str, int]) -> None:
        """Store the pictures that fit, in this order. `uses`: how often each of them is used."""
        self._inline(uses, PICTURES, self.room)

    def inline_fonts(self, uses: Mapping[str, int]) -> None:
        self._inline(uses, FONTS, self._limits.snapshot_bytes // FONTS_SHARE)

    def _inline(self, uses: Mapping[str, int], types: frozenset[str], room: int) -> None:
        new = [url for url in uses if url not in self._data_urls]
        embedded = [url for url in new if url[:5].lower() == "data:"]
        for url in embedded:
            data = read_data_url(url) if len(url) <= 2 * self._limits.picture_bytes else None
            room = self._store(url, data, types, room, uses[url])
        for url, part in self._fetch_each([url for url in new if url[:5].lower() != "data:"]):
            before = room
            room = self._store(url, part.body if part and part.status == 200 else None, types, room, uses[url])
            self.fetched += room < before
        self.too_many += sum(url not in self._data_urls for url in new)
        for url in new:
            self._data_urls.setdefault(url, None)

    def _store(self, url: str, data: bytes | None, types: frozenset[str], room: int, uses: int) -> int:
        """Store the part if it fits; return the room left after it."""
        self._data_urls[url] = None
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
        self._data_urls[url] = make_data_url(str(mime), data)
        return room - size

    def _fetch_each(self, urls: list[str]) -> Iterator[tuple[str, FetchResult | None]]:
        """Fetch in order, several at once, until the number of parts or the room is used up."""
        if len(urls) == 1:  # no thread is started for a single one
            if self._requested < self._limits.parts and self.room > 0:
                self._requested += 1
                yield urls[0], self._fetcher.fetch_part(urls[0], self._limits.picture_bytes)
            return
        pending: deque[tuple[str, Future[FetchResult | None]]] = deque()
        if not urls:
            return
        with ThreadPoolExecutor(min(THREADS, len(urls)), thread_name_prefix="parts") as pool:
            for url in urls:
                if self._requested >= self._limits.parts or self.room <= 0:
                    break
                self._requested += 1
                pending.append((url, pool.submit(self._fetcher.fetch_part, url, self._limits.picture_bytes)))
                if len(pending) >= AHEAD:
                    first, future = pending.popleft()
                    yield first, future.result()
            while pending:
                first, future = pending.popleft()
                yield first, future.result()


def _is_markup(body: bytes) -> bool:
    """Whether the body is an error page instead of a style sheet."""
    return body.lstrip()[:1] == b"<" and not body.lstrip().startswith(b"<!--")
