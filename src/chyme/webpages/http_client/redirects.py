"""Follows an address through its redirects to the final response."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import httpcore2
import httpx2

from chyme.errors import DigestError, LimitReached, UnreadableFile
from chyme.webpages.http_client.connections import Connections
from chyme.webpages.http_client.cookies import Cookies
from chyme.webpages.http_client.decompression import ACCEPTED
from chyme.webpages.http_client.error_mapping import translate_errors
from chyme.webpages.http_client.responses import Response, send_request
from chyme.webpages.http_client.urls import Origin, authorization, origin, parse, without_credentials

_ACCEPT = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
_ACCEPT_PART = "image/webp,image/*,text/css,font/woff2,*/*;q=0.8"
_LANGUAGES = "en;q=0.8,*;q=0.5"


@dataclass(frozen=True, slots=True)
class RequestIdentity:
    """Who sends the requests: the User-Agent, and the passwords of the origins whose addresses contained one."""

    agent: str
    passwords: dict[Origin, str] = field(default_factory=dict)

    def extract_password(self, url: httpx2.URL) -> httpx2.URL:
        """Return the address without its password, which is stored and sent to its origin only."""
        password = authorization(url)
        if password:
            self.passwords[origin(url)] = password
        return without_credentials(url)

    def headers(self, url: httpx2.URL, cookies: str, accept: str = _ACCEPT) -> list[tuple[str, str]]:
        password = self.passwords.get(origin(url))
        return [
            ("Host", url.netloc.decode("ascii")),
            ("User-Agent", self.agent),
            ("Accept", accept),
            ("Accept-Language", _LANGUAGES),
            ("Accept-Encoding", ACCEPTED),
            ("Connection", "keep-alive"),
            *([("Authorization", password)] if password else []),
            *([("Cookie", cookies)] if cookies else []),
        ]


def follow_page(
    start: httpx2.URL,
    connections: Connections,
    identity: RequestIdentity,
    max_bytes: int,
    hops: int,
    check: Callable[[httpx2.URL], None],
) -> tuple[Response, tuple[str, ...]]:
    """Return the response and the addresses before it. Stores cookies, and follows pages that refresh at once.

    `check` raises for addresses that must not be requested.
    """
    url, cookies = start, Cookies()
    visited: list[str] = []
    seen: set[tuple[str, str]] = set()
    while True:
        check(url)
        cookie_header = cookies.header(url)
        seen.add((str(url), cookie_header))
        with translate_errors(url.host, max_bytes, connections.seconds):
            response = send_request(
                connections.pool, url, identity.headers(url, cookie_header), max_bytes, connections.wait_seconds
            )
        cookies.keep(url, response.header_values("set-cookie"))
        target = _next_url(response, identity)
        if target is None:
            return response, tuple(visited)
        if (str(target), cookies.header(target)) in seen:  # the same address with another cookie is no circle yet
            if response.redirect is None:
                return response, tuple(visited)  # the page only reloads itself
            raise UnreadableFile(f"the redirects of {url.host} go round in a circle")
        if len(visited) >= hops:
            raise LimitReached(f"{start.host} redirects more than {hops} times; raise web_hops to follow further")
        visited.append(str(url))
        url = target


def _next_url(response: Response, identity: RequestIdentity) -> httpx2.URL | None:
    if response.redirect is not None:
        return identity.extract_password(parse(response.redirect, response.url))
    try:
        return identity.extract_password(parse(response.refresh, response.url)) if response.refresh else None
    except DigestError:
        return None  # a page that would refresh into some app is still a page


def follow_part(
    start: httpx2.URL, connections: Connections, identity: RequestIdentity, max_bytes: int, hops: int
) -> tuple[Response, tuple[str, ...]]:
    """Do the same for a part of a page: without cookies, and only with passwords already known."""
    url = without_credentials(start)
    visited: list[str] = []
    while True:
        with translate_errors(url.host, max_bytes, connections.seconds):
            response = _send_with_retry(connections, url, identity.headers(url, "", _ACCEPT_PART), max_bytes)
        if response.redirect is None:
            return response, tuple(visited)
        if len(visited) >= hops:
            raise LimitReached(f"{start.host} redirects more than {hops} times")
        visited.append(str(url))
        url = without_credentials(parse(response.redirect, url))


def _send_with_retry(
    connections: Connections, url: httpx2.URL, headers: list[tuple[str, str]], max_bytes: int
) -> Response:
    """Send a request, and once more on failure: the server may just have closed the kept connection."""
    try:
        return send_request(connections.pool, url, headers, max_bytes, connections.wait_seconds)
    except (httpcore2.RemoteProtocolError, httpcore2.ReadError, httpcore2.WriteError):
        return send_request(connections.pool, url, headers, max_bytes, connections.wait_seconds)
