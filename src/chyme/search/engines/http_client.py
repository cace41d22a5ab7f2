"""The way to a search server that the settings name: that host and port, no redirects, no proxies, bounded in time."""

from __future__ import annotations

import functools
import ipaddress
import json
import ssl
import time
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

import httpx2

from chyme.errors import ChymeError, UsageError

T = TypeVar("T")

ANSWER_BYTES = 64 << 20
_CONNECT_SECONDS = 2.0
_TOLD = 300  # characters of a server's own words in an error
_MISREAD = (LookupError, TypeError, ValueError, AttributeError, RecursionError)  # of reading what is not as expected


class ServerFailed(ChymeError):
    """A search server is away, or did not do what it was asked. Nothing is lost: the database holds everything."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status  # None: it did not answer at all


class SearchServer:
    """Sends JSON to one server and reads its JSON. May be used by several threads."""

    def __init__(self, name: str, url: str, header: str, key: str, shown_as: str = "") -> None:
        """The key is shown in this header, after `shown_as`, and told to nobody else."""
        if not (key.isascii() and key.isprintable()):
            raise UsageError(f"{name.lower()}_key holds characters that cannot stand in a key; only ASCII can")
        self.name = name
        self._base = parse_url(name, url)
        self._shown = str(self._base).rstrip("/")
        self._key = key
        self._client = httpx2.Client(
            transport=httpx2.HTTPTransport(verify=_trusted(), trust_env=False, retries=0),
            headers={
                "accept": "application/json",
                "accept-encoding": "identity",
                **({header: shown_as + key} if key else {}),
            },
            follow_redirects=False,
            trust_env=False,
        )

    def ask(self, method: str, path: str, told: object = None, *, seconds: float, read: Callable[[Any], T]) -> T:
        """Its answer, as `read` understands it. Raises ServerFailed, also where the answer is of another shape."""
        try:
            status, body = self._answer(method, path, told, seconds)
        except httpx2.TimeoutException as error:
            self._fail(f"did not answer within {seconds:g} seconds", error)
        except httpx2.HTTPError as error:
            self._fail(f"cannot be reached: {error}", error)
        if status in (401, 403):
            self._fail(f"refuses the key; check {self.name.lower()}_key", status=status)
        if status // 100 != 2:
            own_words = self.without_key(body.decode(errors="replace"))[:_TOLD]
            self._fail(f"answered {status}: {own_words}", status=status)
        try:
            answer = json.loads(body)
        except (ValueError, RecursionError) as error:
            self._fail("answered something that is not JSON", error)
        try:
            return read(answer)
        except _MISREAD as error:
            self._fail(f"answered {method} {path.partition('?')[0]} with something else than was asked for", error)

    def without_key(self, text: str) -> str:
        """A server, or what stands before it, may repeat what it was sent."""
        return text.replace(self._key, "…") if self._key else text

    def close(self) -> None:
        self._client.close()

    def _answer(self, method: str, path: str, told: object, seconds: float) -> tuple[int, bytes]:
        until = time.monotonic() + seconds
        content = None if told is None else json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode()
        with self._client.stream(
            method,
            f"{self._shown}{path}",
            content=content,
            headers={} if told is None else {"content-type": "application/json"},
            timeout=httpx2.Timeout(seconds, connect=min(seconds / 3, _CONNECT_SECONDS)),
        ) as answer:
            if answer.headers.get("content-encoding", "identity").lower() != "identity":
                raise httpx2.ReadError("it answers in an encoding nobody asked for")
            body = bytearray()
            for part in answer.iter_raw():
                body += part
                if len(body) > ANSWER_BYTES:
                    raise httpx2.ReadError(f"its answer is longer than {ANSWER_BYTES:,} bytes")
                if time.monotonic() > until:
                    raise httpx2.ReadTimeout("its answer does not end")
            return answer.status_code, bytes(body)

    def _fail(self, what: str, error: Exception | None = None, status: int | None = None) -> NoReturn:
        raise ServerFailed(self.without_key(f"{self.name} at {self._shown} {what}"), status) from error


def number(value: object) -> int:
    """An id or a count out of an answer. Raises where it is none."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 63:
        raise ValueError("no number")
    return value


def parse_url(name: str, url: str) -> httpx2.URL:
    """The address, if it is one of a server."""
    try:
        address = httpx2.URL(url)
    except httpx2.InvalidURL as error:
        raise UsageError(f"{name.lower()}_url is no address: {error}") from error
    if address.scheme not in ("http", "https") or not address.host or address.userinfo or address.query:
        raise UsageError(
            f"{name.lower()}_url must be like http://127.0.0.1:7700 (or https), without user, password or question mark"
        )
    return address


def is_local(url: str) -> bool:
    """Whether what is sent there stays on this machine."""
    try:
        host = httpx2.URL(url).host
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except (httpx2.InvalidURL, ValueError):
        return False


@functools.cache
def _trusted() -> ssl.SSLContext:
    """Whom to believe, read once: it takes longer than the rest of a request."""
    return httpx2.create_ssl_context(trust_env=False)
