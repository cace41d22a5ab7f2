"""uvicorn's HTTP/1.1 protocol with limits on the number of connections and on the time a client may take."""

from __future__ import annotations

import asyncio
import fcntl
import struct
import termios
from typing import Any

import h11
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle
from uvicorn.protocols.utils import get_remote_addr
from uvicorn.server import ServerState

from chyme.doors.http.connections import Connections, Reason, address_key

LEAST_RATE = 100  # bytes per second of a body, averaged over stall_seconds: any working link is faster
NOT_HTTP = "Invalid HTTP request received."  # the message that uvicorn logs for each such request
_TOO_MANY_RESPONSE = (
    b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 5\r\n"
    b"Content-Type: text/plain; charset=utf-8\r\nContent-Length: 40\r\n\r\ntoo many connections; try again shortly\n"
)
_TIMEOUT_RESPONSE = (
    b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n"
    b"Content-Type: text/plain; charset=utf-8\r\nContent-Length: 42\r\n\r\nthe request was not completed within time\n"
)


def bounded_protocol(connections: Connections) -> type[BoundedProtocol]:
    """Return the protocol class for one server; uvicorn wants a class, and passes it nothing of ours."""

    class Bounded(BoundedProtocol):
        open_connections = connections

    return Bounded


class BoundedProtocol(H11Protocol):
    """One connection. It is counted while it is open, and closed when its client makes no progress."""

    open_connections: Connections
    transport: CountingTransport

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        app_state.setdefault("connections", self.open_connections)  # for /metrics
        super().__init__(config, server_state, app_state, _loop)
        self.address = ""
        self.since = 0.0
        self._admitted = False
        self._is_waiting = True
        self._head_begun = False
        self._bytes_received = 0
        self._progress_at = 0.0  # when the client last sent or read what it should
        self._window_at, self._window_received = 0.0, 0
        self._bytes_read = 0
        self._checked_cycle: RequestResponseCycle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self.address = address_key(get_remote_addr(transport))
        self._admitted = self.open_connections.admit(self)
        if not self._admitted:
            transport.write(_TOO_MANY_RESPONSE)
            transport.close()
            return
        self._progress_at = self._window_at = self.since
        super().connection_made(CountingTransport(transport))

    def connection_lost(self, exc: Exception | None) -> None:
        if self._admitted:
            self.open_connections.leave(self)
            super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._bytes_received += len(data)
        self._progress_at = self.open_connections.clock()
        if self._is_waiting and not self._head_begun:
            self._head_begun = True
            if self.cycle is not None:  # the time limit of a first head starts at the connect
                self.open_connections.mark_waiting(self)
        super().data_received(data)
        self._update_state()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._update_state()

    def send_400_response(self, msg: str) -> None:
        self.open_connections.record_close(Reason.NOT_HTTP, self.address)
        self._disconnect_application()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            super().send_400_response(msg)
        else:  # the response is under way or complete: there is no place for another
            self.transport.abort()

    def _should_upgrade(self) -> bool:
        return False  # and no log line for each client that asks for it

    def _update_state(self) -> None:
        """Record whether the connection waits for a request, or works on one."""
        if not self._admitted or self.transport.is_closing():
            return
        if self.cycle is not self._checked_cycle:
            self._checked_cycle = self.cycle
            self._close_after_ambiguous_length()
        waits = self.conn.their_state is h11.IDLE or (self.cycle is not None and self.cycle.response_complete)
        if waits and not self._is_waiting:
            self._head_begun = bool(self.conn.trailing_data[0])
            self.open_connections.mark_waiting(self)
        elif self._is_waiting and not waits:
            self._window_at, self._window_received = self._progress_at, self._bytes_received
            self.open_connections.mark_working(self)
        self._is_waiting = waits

    def _close_after_ambiguous_length(self) -> None:
        """Close the connection after this request, if a proxy may see another end of its body than we do.

        What follows might not be a request of the proxy's client.
        """
        names = {name for name, _ in self.cycle.scope["headers"]} if self.cycle is not None else set()
        if self.cycle is not None and {b"content-length", b"transfer-encoding"} <= names:
            self.cycle.keep_alive = False

    def check_progress(self, now: float) -> Reason | None:
        """Measure what the client sent and read since the last check; return why it must be closed now, or None."""
        limits = self.open_connections.limits
        if self._client_must_send:
            if now - self._window_at >= limits.stall_seconds:
                if self._bytes_received - self._window_received < LEAST_RATE * limits.stall_seconds:
                    return Reason.BODY_TIMEOUT
                self._window_at, self._window_received = now, self._bytes_received
        elif self._awaits_head and now - self.since >= limits.head_seconds:
            return Reason.HEAD_TIMEOUT
        else:
            self._window_at, self._window_received = now, self._bytes_received
        if self._client_must_read:
            read = self.transport.written - self.transport.get_write_buffer_size() - _unacknowledged(self.transport)
            if read > self._bytes_read:
                self._bytes_read, self._progress_at = read, now
            if now - self._progress_at >= limits.stall_seconds:
                return Reason.READ_TIMEOUT
        elif not self._client_must_send:
            self._progress_at = now
        return None

    def stalled_for(self, now: float) -> float:
        """Return for how many seconds the client has neither sent nor read what it should."""
        return now - self._progress_at if self._client_must_send or self._client_must_read else 0.0

    def drop(self, reason: Reason) -> None:
        """Close the connection at once; a client whose request took too long gets a 408 where one is possible."""
        # a response may start before the rest of the request's body has come
        response_started = self.cycle is not None and self.cycle.response_started
        self._disconnect_application()
        is_late = (reason is Reason.HEAD_TIMEOUT and self._head_begun) or (
            reason is Reason.BODY_TIMEOUT and not response_started
        )
        if is_late and self.transport.get_write_buffer_size() == 0:
            self.transport.write(_TIMEOUT_RESPONSE)
            self.transport.close()
        else:
            self.transport.abort()

    def _disconnect_application(self) -> None:
        """Keep the application from sending more: writing after the end is an error, and each would be logged."""
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True
            self.cycle.message_event.set()

    @property
    def _awaits_head(self) -> bool:
        """Whether a head has begun, or should have. An idle kept-alive connection may be silent: uvicorn closes it."""
        return self._is_waiting and self.conn.their_state is h11.IDLE and (self._head_begun or self.cycle is None)

    @property
    def _client_must_send(self) -> bool:
        """Whether the client has to send the next part of a body; not while the application is the slower side."""
        if self.conn.their_state is not h11.SEND_BODY or self.transport.is_closing() or self.flow.read_paused:
            return False
        return not (self.cycle is not None and self.cycle.waiting_for_100_continue)

    @property
    def _client_must_read(self) -> bool:
        return self.transport.get_write_buffer_size() > 0


class CountingTransport(asyncio.Transport):
    """A transport that counts the bytes written to it."""

    def __init__(self, inner: asyncio.Transport) -> None:
        super().__init__()
        self._inner = inner
        self.written = 0

    def write(self, data: bytes | bytearray | memoryview[Any]) -> None:
        self.written += len(data)
        self._inner.write(data)

    def close(self) -> None:
        self._inner.close()

    def abort(self) -> None:
        self._inner.abort()

    def is_closing(self) -> bool:
        return self._inner.is_closing()

    def pause_reading(self) -> None:
        self._inner.pause_reading()

    def resume_reading(self) -> None:
        self._inner.resume_reading()

    def get_write_buffer_size(self) -> int:
        return self._inner.get_write_buffer_size()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._inner.get_extra_info(name, default)


def _unacknowledged(transport: asyncio.Transport) -> int:
    """Return the bytes the kernel still holds for the client.

    It frees them in large steps; without this, the client would look stalled.
    """
    try:
        answer = fcntl.ioctl(transport.get_extra_info("socket").fileno(), termios.TIOCOUTQ, bytes(4))
    except (OSError, AttributeError):
        return 0
    return int(struct.unpack("i", answer)[0])
