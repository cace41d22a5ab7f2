"""Follow an address through its redirects to the answer at their end."""

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
    """Who asks: a name, and the passwords of those origins in whose address one stood."""

    agent: str
    passwords: dict[Origin, str] = field(default_factory=dict)

    def extract_password(self, url: httpx2.URL) -> httpx2.URL:
        """The address without its password, which is kept for its origin alone."""
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
    visitor: RequestIdentity,
    most: int,
    hops: int,
    check: Callable[[httpx2.URL], None],
) -> tuple[Response, tuple[str, ...]]:
    """The answer, and the addresses before it. Cookies are kept on the way, pages that move on at once are followed.

    `check` raises for addresses that may not be asked for.
    """
    url, cookies = start, Cookies()
    passed: list[str] = []
    seen: set[tuple[str, str]] = set()
    while True:
        check(url)
        said = cookies.header(url)
        seen.add((str(url), said))
        with translate_errors(url.host, most, connections.seconds):
            answer = send_request(connections.pool, url, visitor.headers(url, said), most, connections.patience)
        cookies.keep(url, answer.header_values("set-cookie"))
        onward = _onward(answer, visitor)
        if onward is None:
            return answer, tuple(passed)
        if (str(onward), cookies.header(onward)) in seen:  # the same with another cookie is no circle yet
            if answer.redirect is None:
                return answer, tuple(passed)  # it only reloads itself
            raise UnreadableFile(f"the redirects of {url.host} go round in a circle")
        if len(passed) >= hops:
            raise LimitReached(f"{start.host} redirects more than {hops} times; raise web_hops to follow further")
        passed.append(str(url))
        url = onward


def _onward(answer: Response, visitor: RequestIdentity) -> httpx2.URL | None:
    if answer.redirect is not None:
        return visitor.extract_password(parse(answer.redirect, answer.url))
    try:
        return visitor.extract_password(parse(answer.refresh, answer.url)) if answer.refresh else None
    except DigestError:
        return None  # a page that would move on into some app is still a page


def follow_part(
    start: httpx2.URL, connections: Connections, visitor: RequestIdentity, most: int, hops: int
) -> tuple[Response, tuple[str, ...]]:
    """The same for what is no page: no cookies, and no password but those already known."""
    url = without_credentials(start)
    passed: list[str] = []
    while True:
        with translate_errors(url.host, most, connections.seconds):
            answer = _asked_again(connections, url, visitor.headers(url, "", _ACCEPT_PART), most)
        if answer.redirect is None:
            return answer, tuple(passed)
        if len(passed) >= hops:
            raise LimitReached(f"{start.host} redirects more than {hops} times")
        passed.append(str(url))
        url = without_credentials(parse(answer.redirect, url))


def _asked_again(connections: Connections, url: httpx2.URL, headers: list[tuple[str, str]], most: int) -> Response:
    """A connection that was kept may have been hung up in the very moment; then a new one is asked, once."""
    try:
        return send_request(connections.pool, url, headers, most, connections.patience)
    except (httpcore2.RemoteProtocolError, httpcore2.ReadError, httpcore2.WriteError):
        return send_request(connections.pool, url, headers, most, connections.patience)
