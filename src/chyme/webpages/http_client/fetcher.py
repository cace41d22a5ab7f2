"""Fetches pages and their parts over HTTP, through the guard, within limits."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager

import httpx2

from chyme.digester import Outside
from chyme.errors import AddressRefused, DigestError
from chyme.webpages.http_client.fetch_result import FetchResult
from chyme.webpages.http_client.redirects import (
    Origin,
    RequestIdentity,
    follow_page,
    follow_part,
    origin,
    parse,
    without_credentials,
)
from chyme.webpages.http_client.responses import Response, RetryLater, ServerError
from chyme.webpages.http_client.robots_txt import ROBOTS_BYTES, ROBOTS_SECONDS, Robots
from chyme.webpages.http_client.transport import Connections, open_connections
from chyme.webpages.settings import CrawlLimits

PART_WAIT_SECONDS = 10.0  # for one wait, so that the other parts have their turn
PARTS_AT_ONCE = 6  # connections
DEFAULT_PAUSE = 30.0  # seconds, for a host that asks for a pause and does not say how long


class Fetcher:
    """Fetches a page and its parts. `name`: of the file, for messages. Several threads may call `fetch_part`."""

    def __init__(self, outside: Outside, limits: CrawlLimits, name: str, trusted: ssl.SSLContext | None = None) -> None:
        self._outside = outside
        self._limits = limits
        self._name = name
        self._trusted = trusted  # None: the certificate authorities that this machine trusts
        agent = "".join(char for char in limits.agent if char.isascii() and char.isprintable())
        self._identity = RequestIdentity(agent.strip())
        self._robots: dict[Origin, Robots] = {}
        self._lock = threading.Lock()
        self._part_connections: Connections | None = None
        self._parts_left = limits.parts

    def __enter__(self) -> Fetcher:
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            connections, self._part_connections, self._parts_left = self._part_connections, None, 0
        if connections is not None:
            connections.close()

    def fetch_page(self, url: str) -> FetchResult:
        """Return the page at an address with any status except 5xx and "come back later".

        Raises AddressRefused, UnreadableFile, LimitReached, TimedOut, RateLimited, NetworkFailed and, with the response
        that may explain it, RetryLater and ServerError.
        """
        limits = self._limits
        with _prefix_errors(self._name):
            start = self._identity.extract_password(parse(url))
            opened = open_connections(self._outside, limits.seconds, trusted=self._trusted, polite=True)
            with closing(opened) as connections:
                response, hops = follow_page(
                    start, connections, self._identity, limits.page_bytes, limits.hops, self._check_robots
                )
            return self._checked_result(response, hops)

    def fetch_part(self, url: str, max_bytes: int) -> FetchResult | None:
        """Return a picture, style or font; None if it is larger or cannot be fetched. Never raises."""
        try:
            start = parse(url)
            connections = self._take_part_connections()
            if connections is None:
                return None
            response, hops = follow_part(start, connections, self._identity, max_bytes)
        except DigestError:
            return None
        return response.to_fetch_result(hops) if response.status == 200 else None

    def is_allowed_by_robots(self, url: str) -> bool:
        """Whether the host's robots.txt allows this page. A host without one, or out of reach, allows it."""
        address = without_credentials(parse(url))
        site = origin(address)
        if site not in self._robots:
            self._robots[site] = Robots(self._fetch_robots_txt(address))
        return self._robots[site].allow(self._identity.agent, str(address))

    def _fetch_robots_txt(self, address: httpx2.URL) -> bytes:
        url = address.copy_with(raw_path=b"/robots.txt")
        try:
            with closing(open_connections(self._outside, ROBOTS_SECONDS, trusted=self._trusted)) as connections:
                response, _ = follow_part(url, connections, self._identity, ROBOTS_BYTES)
        except DigestError:
            return b""
        return response.body if response.status == 200 else b""

    def _check_robots(self, url: httpx2.URL) -> None:
        if self._limits.robots and not self.is_allowed_by_robots(str(url)):
            raise AddressRefused(f"robots.txt of {url.host} asks robots to stay away; web_robots=false ignores it")

    def _checked_result(self, response: Response, hops: tuple[str, ...]) -> FetchResult:
        host, pause, fetched = response.url.host, response.retry_after, response.to_fetch_result(hops)
        if response.status == 429 or (response.status == 503 and pause is not None):
            pause = pause or DEFAULT_PAUSE
            self._outside.hold(host, pause)
            raise RetryLater(f"{host} asks to come back in {pause:.0f} s ({response.status})", fetched, pause)
        if response.status >= 500:
            raise ServerError(f"{host} is in trouble and answers {response.status}", fetched)
        return fetched

    def _take_part_connections(self) -> Connections | None:
        """Return the connections for one more part; None if enough were fetched. Their time starts with the first."""
        with self._lock:
            if self._parts_left <= 0:
                return None
            self._parts_left -= 1
            if self._part_connections is None:
                seconds = self._limits.parts_seconds
                self._part_connections = open_connections(
                    self._outside, seconds, trusted=self._trusted, keep=PARTS_AT_ONCE, wait_seconds=PART_WAIT_SECONDS
                )
            return self._part_connections


@contextmanager
def _prefix_errors(name: str) -> Iterator[None]:
    """Put the file name in front of the errors raised inside."""
    try:
        yield
    except DigestError as error:
        error.args = (f"{name}: {error}",)
        raise
