"""The HTTP client for a configured search server: only that host and port, no redirects or proxies, limited in time."""

from __future__ import annotations

import functools
import ipaddress
import json
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from chyme.errors import ChymeError, UsageError

if TYPE_CHECKING:
    import ssl

    import httpx2  # loaded where a server is configured: most vaults have none

T = TypeVar("T")

ANSWER_BYTES = 64 << 20
_CONNECT_SECONDS = 2.0
_MESSAGE_CHARACTERS = 300  # characters of a server's message in an error
_PARSE_ERRORS = (LookupError, TypeError, ValueError, AttributeError, RecursionError)  # a response of another shape


class ServerFailed(ChymeError):
    """A search server is unreachable or did not do what was asked. Nothing is lost: the database holds everything."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status  # None: it did not answer


class SearchServer:
    """Sends JSON to one server and reads its JSON. Thread-safe."""

    def __init__(self, name: str, url: str, header: str, key: str, shown_as: str = "") -> None:
        """The key is sent in this header, after the prefix `shown_as`, and nowhere else."""
        if not (key.isascii() and key.isprintable()):
            raise UsageError(f"{name.lower()}_key holds characters that cannot be in a key; only ASCII can")
        import httpx2

        self.name = name
        self._base = parse_url(name, url)
        self._shown = str(self._base).rstrip("/")
        self._key = key
        self._client = httpx2.Client(
            transport=httpx2.HTTPTransport(verify=_ssl_context(), trust_env=False, retries=0),
            headers={
                "accept": "application/json",
                "accept-encoding": "identity",
                **({header: shown_as + key} if key else {}),
            },
            follow_redirects=False,
            trust_env=False,
        )

    def ask(self, method: str, path: str, payload: object = None, *, seconds: float, read: Callable[[Any], T]) -> T:
        """The response, as parsed by `read`. Raises ServerFailed, also if the response is of another shape."""
        import httpx2

        try:
            status, body = self._request(method, path, payload, seconds)
        except httpx2.TimeoutException as error:
            self._fail(f"did not answer within {seconds:g} seconds", error)
        except httpx2.HTTPError as error:
            self._fail(f"cannot be reached: {error}", error)
        if status in (401, 403):
            self._fail(f"refuses the key; check {self.name.lower()}_key", status=status)
        if status // 100 != 2:
            message = self.without_key(body.decode(errors="replace"))[:_MESSAGE_CHARACTERS]
            self._fail(f"answered {status}: {message}", status=status)
        try:
            response = json.loads(body)
        except (ValueError, RecursionError) as error:
            self._fail("answered something that is not JSON", error)
        try:
            return read(response)
        except _PARSE_ERRORS as error:
            self._fail(f"answered {method} {path.partition('?')[0]} with something other than was asked for", error)

    def ask_if_there(self, method: str, path: str, *, seconds: float, read: Callable[[Any], T]) -> T | None:
        """The same, or None if there is no such thing on the server."""
        try:
            return self.ask(method, path, seconds=seconds, read=read)
        except ServerFailed as error:
            if error.status == 404:
                return None
            raise

    def without_key(self, text: str) -> str:
        """The text without the key: a server, or a proxy before it, may repeat what it was sent."""
        return text.replace(self._key, "…") if self._key else text

    def close(self) -> None:
        self._client.close()

    def _request(self, method: str, path: str, payload: object, seconds: float) -> tuple[int, bytes]:
        deadline = time.monotonic() + seconds
        import httpx2

        content = None if payload is None else json.dumps(payload, ensure_ascii=False, separators=(",", ":")).encode()
        with self._client.stream(
            method,
            f"{self._shown}{path}",
            content=content,
            headers={} if payload is None else {"content-type": "application/json"},
            timeout=httpx2.Timeout(seconds, connect=min(seconds / 3, _CONNECT_SECONDS)),
        ) as response:
            if response.headers.get("content-encoding", "identity").lower() != "identity":
                raise httpx2.ReadError("it answers in an encoding that was not asked for")
            body = bytearray()
            for part in response.iter_raw():
                body += part
                if len(body) > ANSWER_BYTES:
                    raise httpx2.ReadError(f"its answer is longer than {ANSWER_BYTES:,} bytes")
                if time.monotonic() > deadline:
                    raise httpx2.ReadTimeout("its answer does not end")
            return response.status_code, bytes(body)

    def _fail(self, what: str, error: Exception | None = None, status: int | None = None) -> NoReturn:
        raise ServerFailed(self.without_key(f"{self.name} at {self._shown} {what}"), status) from error


def number(value: object) -> int:
    """An id or a count from a response; raises ValueError if it is not one."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 63:
        raise ValueError("no number")
    return value


def parse_url(name: str, url: str) -> httpx2.URL:
    """The address, if it is a valid one of a server."""
    import httpx2

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
    """Whether requests to this address stay on this machine."""
    import httpx2

    try:
        host = httpx2.URL(url).host
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except (httpx2.InvalidURL, ValueError):
        return False


@functools.cache
def _ssl_context() -> ssl.SSLContext:
    """The trusted certificates, read once: that takes longer than the rest of a request."""
    import httpx2

    return httpx2.create_ssl_context(trust_env=False)
