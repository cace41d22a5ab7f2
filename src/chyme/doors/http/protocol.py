"""uvicorn's HTTP/1.1 protocol with bounds: for the number of connections, and for the time a client may take."""

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

LEAST_RATE = 100  # bytes a second of a body, on average over stall_seconds: less than any link that works
NOT_HTTP = "Invalid HTTP request received."  # how uvicorn logs it, once for each request
_FULL = (
    b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 5\r\n"
    b"Content-Type: text/plain; charset=utf-8\r\nContent-Length: 40\r\n\r\ntoo many connections; try again shortly\n"
)
_LATE = (
    b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n"
    b"Content-Type: text/plain; charset=utf-8\r\nContent-Length: 42\r\n\r\nthe request was not completed within time\n"
)


def bounded_protocol(connections: Connections) -> type[BoundedProtocol]:
    """The protocol class for one server; uvicorn wants a class, and gives it nothing of ours."""

    class Bounded(BoundedProtocol):
        open_connections = connections

    return Bounded


class BoundedProtocol(H11Protocol):
    """One connection. It is counted while it is open, and closed when its client does not go on."""

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
        self._waits = True
        self._head_begun = False
        self._received = 0
        self._progress_at = 0.0  # when the client last sent or read what it had to
        self._window_at, self._window_received = 0.0, 0
        self._read = 0
        self._looked_at: RequestResponseCycle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self.address = address_key(get_remote_addr(transport))
        self._admitted = self.open_connections.admit(self)
        if not self._admitted:
            transport.write(_FULL)
            transport.close()
            return
        self._progress_at = self._window_at = self.since
        super().connection_made(CountingTransport(transport))

    def connection_lost(self, exc: Exception | None) -> None:
        if self._admitted:
            self.open_connections.leave(self)
            super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._received += len(data)
        self._progress_at = self.open_connections.clock()
        if self._waits and not self._head_begun:
            self._head_begun = True
            if self.cycle is not None:  # the time for a first head counts from the connect
                self.open_connections.mark_waiting(self)
        super().data_received(data)
        self._sort()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._sort()

    def send_400_response(self, msg: str) -> None:
        self.open_connections.record_close(Reason.NOT_HTTP, self.address)
        self._disconnect_application()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            super().send_400_response(msg)
        else:  # the response is under way or complete: there is no place for another
            self.transport.abort()

    def _should_upgrade(self) -> bool:
        return False  # and no line in the log for each client that asks for it

    def _sort(self) -> None:
        """Tell whether the connection waits for a request, or works on one."""
        if not self._admitted or self.transport.is_closing():
            return
        if self.cycle is not self._looked_at:
            self._looked_at = self.cycle
            self._close_after_ambiguous_length()
        waits = self.conn.their_state is h11.IDLE or (self.cycle is not None and self.cycle.response_complete)
        if waits and not self._waits:
            self._head_begun = bool(self.conn.trailing_data[0])
            self.open_connections.mark_waiting(self)
        elif self._waits and not waits:
            self._window_at, self._window_received = self._progress_at, self._received
            self.open_connections.mark_working(self)
        self._waits = waits

    def _close_after_ambiguous_length(self) -> None:
        """A proxy may have read another end of this body than we do: what follows may be no request of its client."""
        names = {name for name, _ in self.cycle.scope["headers"]} if self.cycle is not None else set()
        if self.cycle is not None and {b"content-length", b"transfer-encoding"} <= names:
            self.cycle.keep_alive = False

    def check_progress(self, now: float) -> Reason | None:
        """Measure what the client sent and read since the last check; tell why it must be closed now, if it must."""
        limits = self.open_connections.limits
        if self._client_must_send:
            if now - self._window_at >= limits.stall_seconds:
                if self._received - self._window_received < LEAST_RATE * limits.stall_seconds:
                    return Reason.BODY_TIMEOUT
                self._window_at, self._window_received = now, self._received
        elif self._awaits_head and now - self.since >= limits.head_seconds:
            return Reason.HEAD_TIMEOUT
        else:
            self._window_at, self._window_received = now, self._received
        if self._client_must_read:
            read = self.transport.written - self.transport.get_write_buffer_size() - _unacknowledged(self.transport)
            if read > self._read:
                self._read, self._progress_at = read, now
            if now - self._progress_at >= limits.stall_seconds:
                return Reason.READ_TIMEOUT
        elif not self._client_must_send:
            self._progress_at = now
        return None

    def stalled_for(self, now: float) -> float:
        """Seconds for which the client has neither sent nor read what it has to."""
        return now - self._progress_at if self._client_must_send or self._client_must_read else 0.0

    def drop(self, reason: Reason) -> None:
        """Close the connection at once; a client whose request took too long gets a 408 where one is possible."""
        answered = self.cycle is not None and self.cycle.response_started  # the rest of its body may still be awaited
        self._disconnect_application()
        late = (reason is Reason.HEAD_TIMEOUT and self._head_begun) or (reason is Reason.BODY_TIMEOUT and not answered)
        if late and self.transport.get_write_buffer_size() == 0:
            self.transport.write(_LATE)
            self.transport.close()
        else:
            self.transport.abort()

    def _disconnect_application(self) -> None:
        """Let the application send no more: to write after the end is an error, and each would be logged."""
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True
            self.cycle.message_event.set()

    @property
    def _awaits_head(self) -> bool:
        """Whether a head has begun, or should have. A kept connection may be silent: uvicorn closes it by itself."""
        return self._waits and self.conn.their_state is h11.IDLE and (self._head_begun or self.cycle is None)

    @property
    def _client_must_send(self) -> bool:
        """Whether the next part of a body is awaited: it is not while the application is the slower one."""
        if self.conn.their_state is not h11.SEND_BODY or self.transport.is_closing() or self.flow.read_paused:
            return False
        return not (self.cycle is not None and self.cycle.waiting_for_100_continue)

    @property
    def _client_must_read(self) -> bool:
        return self.transport.get_write_buffer_size() > 0


class CountingTransport(asyncio.Transport):
    """A transport that knows how much was written to it."""

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
    """Bytes the kernel still holds for the client: it frees them in large steps, which would look like a standstill."""
    try:
        answer = fcntl.ioctl(transport.get_extra_info("socket").fileno(), termios.TIOCOUTQ, bytes(4))
    except (OSError, AttributeError):
        return 0
    return int(struct.unpack("i", answer)[0])
