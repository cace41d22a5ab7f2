"""HTTP to one configured endpoint only: that host and port, no redirects, no proxies, answers of bounded size."""

from __future__ import annotations

import functools
import ssl
from collections.abc import AsyncIterator

import httpx2

from chyme.models.providers.endpoints import ANTHROPIC, GOOGLE, Endpoint

ANSWER_BYTES = 4 << 20
_ALLOWED_HEADERS = frozenset({"host", "content-type", "content-length", "accept", "user-agent"})
_PROVIDER_HEADERS = {ANTHROPIC: frozenset({"anthropic-version", "anthropic-beta"})}  # they say how to read the request


class OriginTransport(httpx2.AsyncBaseTransport):
    """Sends to one origin only, and only the headers a request needs: the environment adds none."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._origin = _origin(httpx2.URL(endpoint.address))
        self._allowed_headers = _ALLOWED_HEADERS | _PROVIDER_HEADERS.get(endpoint.provider, frozenset())
        self._added_headers = [("accept-encoding", "identity"), *_key_headers(endpoint)]
        self._inner = httpx2.AsyncHTTPTransport(verify=_ssl_context(), trust_env=False, retries=0)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if _origin(request.url) != self._origin:
            raise httpx2.ConnectError("another address than the configured one", request=request)
        headers = [
            (name, value) for name, value in request.headers.multi_items() if name.lower() in self._allowed_headers
        ]
        request.headers = httpx2.Headers([*headers, *self._added_headers])
        response = await self._inner.handle_async_request(request)
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            await response.aclose()
            raise httpx2.ReadError("an encoding nobody asked for", request=request)
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _BoundedStream(response.stream, request)
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()


class BlockedTransport(httpx2.BaseTransport):
    """Refuses every request, for clients that insist on a second transport."""

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("there is no way out here", request=request)


class _BoundedStream(httpx2.AsyncByteStream):
    """An answer that ends in an error when it grows too long."""

    def __init__(self, inner: httpx2.AsyncByteStream, request: httpx2.Request) -> None:
        self._inner = inner
        self._request = request

    async def __aiter__(self) -> AsyncIterator[bytes]:
        total = 0
        async for chunk in self._inner:
            total += len(chunk)
            if total > ANSWER_BYTES:
                raise httpx2.ReadError(f"more than {ANSWER_BYTES:,} bytes", request=self._request)
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()


def _key_headers(endpoint: Endpoint) -> list[tuple[str, str]]:
    """The header with the configured key in the form this provider wants, whatever the environment contains."""
    if not endpoint.key:
        return []
    if endpoint.provider == ANTHROPIC:
        return [("x-api-key", endpoint.key)]
    if endpoint.provider == GOOGLE:
        return [("x-goog-api-key", endpoint.key)]
    return [("authorization", f"Bearer {endpoint.key}")]


@functools.cache
def _ssl_context() -> ssl.SSLContext:
    """The trusted certificates, loaded once, because this takes longer than the rest of a request."""
    return httpx2.create_ssl_context(trust_env=False)


def _origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port or {"http": 80, "https": 443}.get(url.scheme)
