"""Sends one request, reads the complete response within limits, and interprets its headers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from html.parser import HTMLParser

import httpcore2
import httpx2

from chyme.errors import NetworkFailed, RateLimited
from chyme.webpages.http_client.decompression import DecompressionError, decompress
from chyme.webpages.http_client.fetch_result import FetchResult
from chyme.webpages.http_client.transport import Connections

MB = 1024 * 1024
REDIRECTS = frozenset({301, 302, 303, 307, 308})
ERROR_BODY_BYTES = MB  # of a page with an error status; the rest is not read
MAX_PAUSE = 3600.0
MAX_REFRESH_DELAY = 1.0  # seconds; a page that refreshes later than this is meant to be read
_HEAD_BYTES = 16 * 1024
_REFRESH = re.compile(r"\s*(\d{1,4})(?:\.\d*)?\s*[;,]\s*(?:url\s*=\s*)?(?:'([^']*)|\"([^\"]*)|(.*))", re.IGNORECASE)


class TooLarge(Exception):
    """The response is larger than allowed."""


class ServerError(NetworkFailed):
    """The server reports a problem on its side. Some walls against robots look like this."""

    def __init__(self, message: str, fetched: FetchResult) -> None:
        super().__init__(message)
        self.fetched = fetched


class RetryLater(RateLimited):
    """The server asks for a pause. Some walls against robots look like this, too."""

    def __init__(self, message: str, fetched: FetchResult, retry_after: float) -> None:
        super().__init__(message, retry_after=retry_after)
        self.fetched = fetched


@dataclass(frozen=True, slots=True)
class Response:
    """One response, decompressed; redirects come without their body."""

    url: httpx2.URL
    status: int
    headers: tuple[tuple[str, str], ...]  # names in lower case
    body: bytes

    def header(self, name: str) -> str:
        return next((value for key, value in self.headers if key == name), "")

    def header_values(self, name: str) -> Iterator[str]:
        return (value for key, value in self.headers if key == name)

    @property
    def redirect(self) -> str | None:
        """The target of a redirect, as the response gives it."""
        return self.header("location").strip() or None if self.status in REDIRECTS else None

    @property
    def refresh(self) -> str | None:
        """The address to which the page refreshes at once."""
        if self.status != 200 or "html" not in self.header("content-type").lower():
            return None
        value = self.header("refresh") or _refresh_in(self.body)
        return _parse_refresh(value) if value else None

    @property
    def retry_after(self) -> float | None:
        """The pause that the server asks for in seconds, within reason."""
        value = self.header("retry-after").strip()
        if value.isdecimal() and value.isascii():
            seconds = float(value[:9])
        else:
            try:
                moment = parsedate_to_datetime(value)
            except (ValueError, OverflowError):
                return None
            moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
            seconds = (moment - datetime.now(UTC)).total_seconds()
        return min(max(seconds, 1.0), MAX_PAUSE)

    def to_fetch_result(self, hops: tuple[str, ...]) -> FetchResult:
        headers: dict[str, str] = {}
        for name, value in self.headers:
            if name != "set-cookie":
                headers.setdefault(name, value)
        return FetchResult(str(self.url), self.status, headers, self.body, hops)


def send_request(connections: Connections, url: httpx2.URL, headers: list[tuple[str, str]], max_bytes: int) -> Response:
    """GET `url` with a body of at most `max_bytes`.

    Raises TooLarge, DecompressionError, DeadlineExceeded, what the guard raises, and the exceptions of httpcore2.
    """
    target = httpcore2.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)
    timeouts = dict.fromkeys(("connect", "read", "write", "pool"), connections.wait_seconds)
    raw_headers = [(name.encode(), value.encode("latin-1")) for name, value in headers]
    with connections.pool.stream("GET", target, headers=raw_headers, extensions={"timeout": timeouts}) as response:
        response_headers = tuple((name.decode("latin-1").lower(), _decode(value)) for name, value in response.headers)
        head = Response(url, response.status, response_headers, b"")
        if head.redirect:
            return head
        if response.status >= 400:
            body = _read_start(response, head, min(max_bytes, ERROR_BODY_BYTES))
        else:
            body = _read_whole(response, head, max_bytes)
    return Response(url, response.status, response_headers, body)


def _read_whole(response: httpcore2.Response, head: Response, max_bytes: int) -> bytes:
    length = head.header("content-length")
    if length.isdecimal() and int(length[:20]) > max_bytes:
        raise TooLarge
    body = bytearray()
    for piece in decompress(_read_raw(response, max_bytes), head.header("content-encoding")):
        if len(body) + len(piece) > max_bytes:
            raise TooLarge
        body += piece
    return bytes(body)


def _read_start(response: httpcore2.Response, head: Response, max_bytes: int) -> bytes:
    """Return as much of the body as can be read: it only explains the status."""
    body = bytearray()
    try:
        for piece in decompress(_read_raw(response, max_bytes), head.header("content-encoding")):
            body += piece
            if len(body) >= max_bytes:
                break
    except (TooLarge, DecompressionError, httpcore2.NetworkError, httpcore2.ProtocolError):
        pass
    return bytes(body[:max_bytes])


def _read_raw(response: httpcore2.Response, max_bytes: int) -> Iterator[bytes]:
    """Yield the bytes as sent; compressed ones are never more than decompressed ones."""
    total = 0
    for piece in response.iter_stream():
        total += len(piece)
        if total > max_bytes:
            raise TooLarge
        yield piece


def _decode(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


def _parse_refresh(value: str) -> str | None:
    found = _REFRESH.match(value[:2048])
    if found is None or float(found[1]) > MAX_REFRESH_DELAY:
        return None
    return (found[2] or found[3] or found[4] or "").strip() or None


def _refresh_in(body: bytes) -> str:
    head = body[:_HEAD_BYTES]
    if b"refresh" not in head.lower():
        return ""
    reader = _RefreshReader()
    reader.feed(_decode(head))
    return reader.content


class _RefreshReader(HTMLParser):
    """Finds <meta http-equiv="refresh">, except the one for browsers without scripts."""

    def __init__(self) -> None:
        super().__init__()
        self.content = ""
        self._hidden_depth = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("noscript", "template"):
            self._hidden_depth += 1
        elif tag == "meta" and not self._hidden_depth and not self.content:
            attributes = dict(attrs)
            if (attributes.get("http-equiv") or "").lower() == "refresh":
                self.content = attributes.get("content") or ""

    def handle_endtag(self, tag: str) -> None:
        if tag in ("noscript", "template"):
            self._hidden_depth = max(0, self._hidden_depth - 1)
