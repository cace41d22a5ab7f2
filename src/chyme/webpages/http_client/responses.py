"""Ask a server once, take its answer whole and within bounds, and see what it says besides its body."""

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

MB = 1024 * 1024
REDIRECTS = frozenset({301, 302, 303, 307, 308})
ERROR_BODY_BYTES = MB  # of a page that comes with an error; the rest is left
LONGEST_PAUSE = 3600.0
AT_ONCE = 1.0  # seconds; a page that moves on after more than these is meant to be read
_HEAD_BYTES = 16 * 1024
_REFRESH = re.compile(r"\s*(\d{1,4})(?:\.\d*)?\s*[;,]\s*(?:url\s*=\s*)?(?:'([^']*)|\"([^\"]*)|(.*))", re.IGNORECASE)


class TooLarge(Exception):
    """The answer is larger than asked for."""


class ServerError(NetworkFailed):
    """The server answered that something is wrong on its side. Some walls against robots look like this."""

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
    """One answer, unpacked; `redirect` answers come without their body."""

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
        """Where the answer sends us, as it says it."""
        return self.header("location").strip() or None if self.status in REDIRECTS else None

    @property
    def refresh(self) -> str | None:
        """Where the page moves on to by itself, at once."""
        if self.status != 200 or "html" not in self.header("content-type").lower():
            return None
        told = self.header("refresh") or _told_refresh(self.body)
        return _target(told) if told else None

    @property
    def retry_after(self) -> float | None:
        """For how many seconds the server asks to be left alone, within reason."""
        told = self.header("retry-after").strip()
        if told.isdecimal() and told.isascii():
            seconds = float(told[:9])
        else:
            try:
                moment = parsedate_to_datetime(told)
            except (ValueError, OverflowError):
                return None
            moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
            seconds = (moment - datetime.now(UTC)).total_seconds()
        return min(max(seconds, 1.0), LONGEST_PAUSE)

    def to_fetch_result(self, hops: tuple[str, ...]) -> FetchResult:
        headers: dict[str, str] = {}
        for name, value in self.headers:
            if name != "set-cookie":
                headers.setdefault(name, value)
        return FetchResult(str(self.url), self.status, headers, self.body, hops)


def send_request(
    pool: httpcore2.ConnectionPool, url: httpx2.URL, headers: list[tuple[str, str]], most: int, patience: float | None
) -> Response:
    """GET `url`, of which at most `most` bytes are wanted; `patience`: seconds for one wait.

    Raises TooLarge, Unpackable, Overtime, what the guard raises, and the exceptions of httpcore2.
    """
    target = httpcore2.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)
    waits = {"connect": patience, "read": patience, "write": patience, "pool": patience}
    sent = [(name.encode(), value.encode("latin-1")) for name, value in headers]
    with pool.stream("GET", target, headers=sent, extensions={"timeout": waits}) as response:
        told = tuple((name.decode("latin-1").lower(), _text(value)) for name, value in response.headers)
        answer = Response(url, response.status, told, b"")
        if answer.redirect:
            return answer
        if response.status >= 400:
            body = _begin(response, answer, min(most, ERROR_BODY_BYTES))
        else:
            body = _whole(response, answer, most)
    return Response(url, response.status, told, body)


def _whole(response: httpcore2.Response, answer: Response, most: int) -> bytes:
    length = answer.header("content-length")
    if length.isdecimal() and int(length[:20]) > most:
        raise TooLarge
    body = bytearray()
    for piece in decompress(_wire(response, most), answer.header("content-encoding")):
        if len(body) + len(piece) > most:
            raise TooLarge
        body += piece
    return bytes(body)


def _begin(response: httpcore2.Response, answer: Response, most: int) -> bytes:
    """As much of the body as can be had: it only explains the status."""
    body = bytearray()
    try:
        for piece in decompress(_wire(response, most), answer.header("content-encoding")):
            body += piece
            if len(body) >= most:
                break
    except (TooLarge, DecompressionError, httpcore2.NetworkError, httpcore2.ProtocolError):
        pass
    return bytes(body[:most])


def _wire(response: httpcore2.Response, most: int) -> Iterator[bytes]:
    """The bytes as they come, which packed are never more than unpacked."""
    total = 0
    for piece in response.iter_stream():
        total += len(piece)
        if total > most:
            raise TooLarge
        yield piece


def _text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


def _target(told: str) -> str | None:
    found = _REFRESH.match(told[:2048])
    if found is None or float(found[1]) > AT_ONCE:
        return None
    return (found[2] or found[3] or found[4] or "").strip() or None


def _told_refresh(body: bytes) -> str:
    head = body[:_HEAD_BYTES]
    if b"refresh" not in head.lower():
        return ""
    reader = _RefreshReader()
    reader.feed(_text(head))
    return reader.told


class _RefreshReader(HTMLParser):
    """Finds <meta http-equiv="refresh">, but not the one for browsers without scripts."""

    def __init__(self) -> None:
        super().__init__()
        self.told = ""
        self._unseen = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("noscript", "template"):
            self._unseen += 1
        elif tag == "meta" and not self._unseen and not self.told:
            said = dict(attrs)
            if (said.get("http-equiv") or "").lower() == "refresh":
                self.told = said.get("content") or ""

    def handle_endtag(self, tag: str) -> None:
        if tag in ("noscript", "template"):
            self._unseen = max(0, self._unseen - 1)
