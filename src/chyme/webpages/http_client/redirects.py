"""Reads an address, follows it through its redirects to the final response, and names what went wrong."""

from __future__ import annotations

import base64
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import httpcore2
import httpx2

from chyme.errors import AddressRefused, DigestError, LimitReached, NetworkFailed, TimedOut, UnreadableFile
from chyme.webpages.http_client.cookies import Cookies
from chyme.webpages.http_client.decompression import ACCEPTED, DecompressionError
from chyme.webpages.http_client.responses import MB, Response, TooLarge, send_request
from chyme.webpages.http_client.transport import Connections, DeadlineExceeded

_ACCEPT = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
_ACCEPT_PART = "image/webp,image/*,text/css,font/woff2,*/*;q=0.8"
_LANGUAGES = "en;q=0.8,*;q=0.5"
PORTS = {"http": 80, "https": 443}
PART_HOPS = 5

Origin = tuple[str, str, int]


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
            response = send_request(connections, url, identity.headers(url, cookie_header), max_bytes)
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
    start: httpx2.URL, connections: Connections, identity: RequestIdentity, max_bytes: int
) -> tuple[Response, tuple[str, ...]]:
    """Do the same for a part of a page: without cookies, and only with passwords already known."""
    url = without_credentials(start)
    visited: list[str] = []
    while True:
        with translate_errors(url.host, max_bytes, connections.seconds):
            response = _send_with_retry(connections, url, identity.headers(url, "", _ACCEPT_PART), max_bytes)
        if response.redirect is None:
            return response, tuple(visited)
        if len(visited) >= PART_HOPS:
            raise LimitReached(f"{start.host} redirects more than {PART_HOPS} times")
        visited.append(str(url))
        url = without_credentials(parse(response.redirect, url))


def _send_with_retry(
    connections: Connections, url: httpx2.URL, headers: list[tuple[str, str]], max_bytes: int
) -> Response:
    """Send a request, and once more on failure: the server may just have closed the kept connection."""
    try:
        return send_request(connections, url, headers, max_bytes)
    except (httpcore2.RemoteProtocolError, httpcore2.ReadError, httpcore2.WriteError):
        return send_request(connections, url, headers, max_bytes)


@contextmanager
def translate_errors(host: str, max_bytes: int, seconds: float) -> Iterator[None]:
    """Raise whatever goes wrong with this host inside as a DigestError that says so."""
    try:
        yield
    except TooLarge as error:
        message = f"what {host} sends is larger than {max_bytes / MB:g} MB; raise web_page_bytes to fetch it"
        raise LimitReached(message) from error
    except DeadlineExceeded as error:
        message = f"{host} was not done within {seconds:g} s; raise web_seconds to wait longer"
        raise TimedOut(message) from error
    except DecompressionError as error:
        raise UnreadableFile(f"what {host} sends is {error}") from error
    except ssl.SSLCertVerificationError as error:
        cause = error.verify_message.rstrip(".") or "it could not be verified"
        raise UnreadableFile(f"the certificate of {host} is not to be trusted: {cause}") from error
    except httpcore2.TimeoutException as error:
        raise NetworkFailed(f"{host} does not answer") from error
    except httpcore2.NetworkError as error:
        raise NetworkFailed(f"the connection to {host} failed: {str(error)[:200] or 'it broke'}") from error
    except httpcore2.ProtocolError as error:
        raise NetworkFailed(f"{host} does not answer in proper HTTP, or not to the end") from error


def parse(text: str, base: httpx2.URL | None = None) -> httpx2.URL:
    """Return an http(s) address as ASCII without fragment; raises AddressRefused or UnreadableFile, naming no file."""
    where = "the link" if base is None else f"a redirect of {base.host}"
    try:
        url = httpx2.URL(text.strip()) if base is None else base.join(text.strip())
        url = url.copy_with(fragment=None)
    except (httpx2.InvalidURL, ValueError) as error:
        raise UnreadableFile(f"{where} is not an address that can be read") from error
    if url.scheme not in PORTS:
        scheme = url.scheme[:20] or "no"
        raise AddressRefused(f"{where} leads to a {scheme}: address; only http and https are followed")
    if not url.host:
        raise UnreadableFile(f"{where} names no host")
    return url


def origin(url: httpx2.URL) -> Origin:
    return url.scheme, url.host, url.port or PORTS[url.scheme]


def without_credentials(url: httpx2.URL) -> httpx2.URL:
    """Return the address without user and password."""
    return url.copy_with(userinfo=b"") if url.userinfo else url


def authorization(url: httpx2.URL) -> str | None:
    """Return the Authorization header for the user and password in the address."""
    if not url.userinfo:
        return None
    return "Basic " + base64.b64encode(f"{url.username}:{url.password}".encode()).decode("ascii")
