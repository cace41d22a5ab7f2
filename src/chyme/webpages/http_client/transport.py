"""The network side of the HTTP client: every connection comes from the guard, and everything ends on time."""

from __future__ import annotations

import functools
import select
import ssl
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from socket import socket
from typing import Any

import httpcore2
import httpx2

from chyme.digester import Outside


class DeadlineExceeded(Exception):
    """The time for everything to be fetched has run out."""


class Deadline:
    """The moment at which all requests end, however slowly their bytes arrive."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        """Return the seconds left, more than 0; raises DeadlineExceeded."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise DeadlineExceeded
        return left

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Stop the clock meanwhile: waiting for our turn at a host does not count."""
        started = time.monotonic()
        try:
            yield
        finally:
            self._end += time.monotonic() - started


class GuardedNetwork(httpcore2.NetworkBackend):
    """Gets each connection from the guard. `polite`: the first connection to a host waits for its turn there."""

    def __init__(self, outside: Outside, deadline: Deadline, polite: bool) -> None:
        self._outside = outside
        self._deadline = deadline
        self._polite = polite
        self._visited: set[str] = set()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.NetworkStream:
        self._deadline.left()
        if not self._polite or host in self._visited:
            return _Connection(self._outside.connect(host, port), self._deadline)
        with self._deadline.pause():  # the guard limits the wait
            connection = _Connection(self._outside.connect(host, port, polite=True), self._deadline)
        self._visited.add(host)
        return connection


class _Connection(httpcore2.NetworkStream):
    def __init__(self, sock: socket, deadline: Deadline) -> None:
        self._sock = sock
        self._deadline = deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        self._set_timeout(timeout)
        try:
            return self._sock.recv(max_bytes)
        except TimeoutError as error:
            self._deadline.left()
            raise httpcore2.ReadTimeout from error
        except OSError as error:
            raise httpcore2.ReadError(error.strerror or str(error)) from error

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._set_timeout(timeout)
        try:
            self._sock.sendall(buffer)  # the time-out is for all of the data
        except TimeoutError as error:
            self._deadline.left()
            raise httpcore2.WriteTimeout from error
        except OSError as error:
            raise httpcore2.WriteError(error.strerror or str(error)) from error

    def close(self) -> None:
        self._sock.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        """Raises ssl.SSLCertVerificationError if the server is not the one it should be."""
        try:
            self._set_timeout(timeout)
            name = (server_hostname or "").removesuffix(".")
            return _Connection(ssl_context.wrap_socket(self._sock, server_hostname=name), self._deadline)
        except ssl.SSLCertVerificationError:
            raise
        except TimeoutError as error:
            self._deadline.left()
            raise httpcore2.ConnectTimeout from error
        except (OSError, ValueError) as error:
            raise httpcore2.ConnectError(f"no secure connection: {_describe_error(error)}") from error
        finally:
            self._sock.close()  # once TLS has begun, its own socket has taken over

    def get_extra_info(self, info: str) -> Any:
        if info == "is_readable":  # without a request under way this means: the server has hung up
            poll = select.poll()
            poll.register(self._sock, select.POLLIN)
            return bool(poll.poll(0))
        return None

    def _set_timeout(self, timeout: float | None) -> None:
        left = self._deadline.left()
        self._sock.settimeout(left if timeout is None else min(left, timeout))


def _describe_error(error: Exception) -> str:
    if isinstance(error, ssl.SSLError) and error.reason:
        return error.reason.lower().replace("_", " ")
    return (error.strerror if isinstance(error, OSError) else None) or "it could not be agreed on"


@dataclass(frozen=True, slots=True)
class Connections:
    """Connections through the guard with one common deadline."""

    pool: httpcore2.ConnectionPool
    seconds: float
    wait_seconds: float | None  # for one wait

    def close(self) -> None:
        self.pool.close()


def open_connections(
    outside: Outside,
    seconds: float,
    *,
    trusted: ssl.SSLContext | None,
    polite: bool = False,
    keep: int = 0,
    wait_seconds: float | None = None,
) -> Connections:
    """Start the clock now. `keep`: number of connections to keep and reuse; with 0 every request has its own."""
    pool = httpcore2.ConnectionPool(
        ssl_context=trusted or load_certificates(),
        max_connections=keep or 1,
        max_keepalive_connections=keep,
        http1=True,
        http2=False,
        retries=0,
        network_backend=GuardedNetwork(outside, Deadline(seconds), polite),
    )
    return Connections(pool, seconds, wait_seconds)


@functools.cache
def load_certificates() -> ssl.SSLContext:
    """Return the trusted certificate authorities, read once: it takes longer than the rest of a request."""
    return httpx2.create_ssl_context(trust_env=False)
