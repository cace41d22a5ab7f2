"""Fetch pages and their parts over HTTP, through the guard, within limits."""

from __future__ import annotations

import ssl
import threading
from types import TracebackType

import httpx2

from chyme.digester import Outside
from chyme.errors import AddressRefused, DigestError
from chyme.webpages.crawl_limits import CrawlLimits
from chyme.webpages.http_client.connections import Connections, open_connections
from chyme.webpages.http_client.error_mapping import prefix_errors
from chyme.webpages.http_client.fetch_result import FetchResult
from chyme.webpages.http_client.redirects import RequestIdentity, follow_page, follow_part
from chyme.webpages.http_client.responses import Response, RetryLater, ServerError
from chyme.webpages.http_client.robots_txt import ROBOTS_BYTES, ROBOTS_SECONDS, Robots
from chyme.webpages.http_client.urls import Origin, origin, parse, without_credentials

PART_HOPS = 5
PART_PATIENCE = 10.0  # seconds for one wait; the others should have their turn
PARTS_AT_ONCE = 6  # connections
DEFAULT_PAUSE = 30.0  # seconds; for a host that wants to be left alone and does not say for how long


class Fetcher:
    """Fetches a page and what belongs to it. `name` is the file's, for messages; `part` may be called by threads."""

    def __init__(self, outside: Outside, limits: CrawlLimits, name: str, trusted: ssl.SSLContext | None = None) -> None:
        self._outside = outside
        self._limits = limits
        self._name = name
        self._trusted = trusted  # None: the authorities that this machine trusts
        agent = "".join(char for char in limits.agent if char.isascii() and char.isprintable())
        self._visitor = RequestIdentity(agent.strip())
        self._robots: dict[Origin, Robots] = {}
        self._lock = threading.Lock()
        self._parts: Connections | None = None
        self._parts_left = limits.parts

    def __enter__(self) -> Fetcher:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            parts, self._parts, self._parts_left = self._parts, None, 0
        if parts is not None:
            parts.close()

    def fetch_page(self, url: str) -> FetchResult:
        """The page behind an address, whatever its status, but for 5xx and "come later".

        Raises AddressRefused, UnreadableFile, LimitReached, TimedOut, RateLimited, NetworkFailed and, with the answer
        that may explain it, RetryLater and ServerError.
        """
        limits = self._limits
        with prefix_errors(self._name):
            start = self._visitor.extract_password(parse(url))
            with open_connections(self._outside, limits.seconds, trusted=self._trusted, polite=True) as ways:
                answer, hops = follow_page(start, ways, self._visitor, limits.page_bytes, limits.hops, self._check)
            return self._judged(answer, hops)

    def fetch_part(self, url: str, most: int) -> FetchResult | None:
        """A picture, style or font, of at most so many bytes; None when it cannot be had. Never raises."""
        try:
            start = parse(url)
            ways = self._ways_to_parts()
            if ways is None:
                return None
            answer, hops = follow_part(start, ways, self._visitor, most, PART_HOPS)
        except DigestError:
            return None
        return answer.to_fetch_result(hops) if answer.status == 200 else None

    def is_allowed_by_robots(self, url: str) -> bool:
        """Whether the host's robots.txt lets us have this page. A host without one, or out of reach, does."""
        address = without_credentials(parse(url))
        place = origin(address)
        if place not in self._robots:
            self._robots[place] = Robots(self._robots_of(address))
        return self._robots[place].allow(self._visitor.agent, str(address))

    def _robots_of(self, address: httpx2.URL) -> bytes:
        rules = address.copy_with(raw_path=b"/robots.txt")
        try:
            with open_connections(self._outside, ROBOTS_SECONDS, trusted=self._trusted) as ways:
                answer, _ = follow_part(rules, ways, self._visitor, ROBOTS_BYTES, PART_HOPS)
        except DigestError:
            return b""
        return answer.body if answer.status == 200 else b""

    def _check(self, url: httpx2.URL) -> None:
        if self._limits.robots and not self.is_allowed_by_robots(str(url)):
            raise AddressRefused(f"robots.txt of {url.host} asks robots to stay away; web_robots=false ignores it")

    def _judged(self, answer: Response, hops: tuple[str, ...]) -> FetchResult:
        host, pause, fetched = answer.url.host, answer.retry_after, answer.to_fetch_result(hops)
        if answer.status == 429 or (answer.status == 503 and pause is not None):
            pause = pause or DEFAULT_PAUSE
            self._outside.hold(host, pause)
            raise RetryLater(f"{host} asks to come back in {pause:.0f} s ({answer.status})", fetched, pause)
        if answer.status >= 500:
            raise ServerError(f"{host} is in trouble and answers {answer.status}", fetched)
        return fetched

    def _ways_to_parts(self) -> Connections | None:
        """None when enough parts were fetched. Their time begins with the first of them."""
        with self._lock:
            if self._parts_left <= 0:
                return None
            self._parts_left -= 1
            if self._parts is None:
                seconds = self._limits.parts_seconds
                self._parts = open_connections(
                    self._outside, seconds, trusted=self._trusted, at_once=PARTS_AT_ONCE, patience=PART_PATIENCE
                )
            return self._parts
