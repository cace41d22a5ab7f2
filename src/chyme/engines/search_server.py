"""The way to a search server that the settings name: that host and port, no redirects, no proxies, bounded in time."""

from __future__ import annotations

import functools
import ipaddress
import json
import ssl
from collections.abc import Mapping
from typing import Any

import httpx2

from chyme.errors import ChymeError, UsageError

_CONNECT_SECONDS = 2.0
_TOLD = 300  # characters of a server's own words in an error


class ServerFailed(ChymeError):
    """A search server is away, or did not do what it was asked. Nothing is lost: the database holds everything."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status  # None: it did not answer at all


class SearchServer:
    """Sends JSON to one server and reads its JSON. May be used by several threads."""

    def __init__(self, name: str, url: str, headers: Mapping[str, str]) -> None:
        self.name = name
        self._base = checked(name, url)
        self._shown = str(self._base).rstrip("/")
        self._client = httpx2.Client(
            transport=httpx2.HTTPTransport(verify=_trusted(), trust_env=False, retries=0),
            headers={"accept": "application/json", "accept-encoding": "identity", **headers},
            follow_redirects=False,
            trust_env=False,
        )

    def ask(self, method: str, path: str, told: object = None, *, seconds: float) -> Any:
        """Its answer. Raises ServerFailed."""
        try:
            answer = self._client.request(
                method,
                f"{self._shown}{path}",
                content=None if told is None else json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode(),
                headers={} if told is None else {"content-type": "application/json"},
                timeout=httpx2.Timeout(seconds, connect=min(seconds / 3, _CONNECT_SECONDS)),
            )
        except httpx2.TimeoutException as error:
            raise ServerFailed(f"{self.name} at {self._shown} did not answer within {seconds:g} seconds") from error
        except httpx2.HTTPError as error:
            raise ServerFailed(f"{self.name} at {self._shown} cannot be reached: {error}") from error
        if answer.status_code in (401, 403):
            raise ServerFailed(
                f"{self.name} at {self._shown} refuses the key; check {self.name.lower()}_key", answer.status_code
            )
        if answer.status_code // 100 != 2:
            raise ServerFailed(
                f"{self.name} at {self._shown} answered {answer.status_code}: {answer.text[:_TOLD]}", answer.status_code
            )
        try:
            return answer.json()
        except ValueError as error:
            raise ServerFailed(f"{self.name} at {self._shown} answered something that is not JSON") from error

    def close(self) -> None:
        self._client.close()


def checked(name: str, url: str) -> httpx2.URL:
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


def is_here(url: str) -> bool:
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
