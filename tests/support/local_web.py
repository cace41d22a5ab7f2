"""A web on loopback: pages as plain data, faults as functions, and a record of all connections and requests.

with LocalWeb() as web:
    web.page("/hello", "<h1>Hello</h1>")
    fetch(web.url("/hello"))
    assert web.paths == ["/hello"]
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

ALLOWED = "127.0.0.1"
FORBIDDEN = "127.0.0.2"
HTML = "text/html; charset=utf-8"


@dataclass(frozen=True)
class Page:
    """An answer. A header with several values is sent several times."""

    body: bytes = b""
    status: int = 200
    headers: tuple[tuple[str, str], ...] = (("Content-Type", HTML),)


@dataclass(frozen=True)
class Asked:
    """A request as it arrived. `path` includes the query; names of headers are in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    connection: int  # counted from 1, in the order they were opened


class Wire:
    """The raw connection, for handlers that answer byte by byte. It is closed after they return."""

    def __init__(self, sock: socket.socket, closing: threading.Event) -> None:
        self._sock = sock
        self._closing = closing

    def send(self, data: bytes) -> None:
        """Raises OSError when the client has hung up."""
        self._sock.sendall(data)

    def chunk(self, data: bytes) -> None:
        """Send a piece of an answer with `Transfer-Encoding: chunked`."""
        self.send(b"%x\r\n%s\r\n" % (len(data), data))

    def pause(self, seconds: float) -> bool:
        """Wait. True when the web is closing and the handler should return."""
        return self._closing.wait(seconds)


Handler = Callable[[Asked, Wire], "Page | None"]


class LocalWeb:
    """A server of HTTP/1.1 with a thread per connection, on a free port of `address`."""

    def __init__(self, address: str = ALLOWED, tls: ssl.SSLContext | None = None) -> None:
        self.asked: list[Asked] = []
        self.connections = 0
        self.hung_up = threading.Event()  # a client left before its answer was whole
        self.closing = threading.Event()
        self._handlers: dict[str, Handler] = {}
        self._tls = tls
        self._server = _Server((address, 0), self)
        self.address, self.port = address, self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})

    def __enter__(self) -> LocalWeb:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.hang_up()
        self._server.server_close()  # waits for the threads of all connections
        self._thread.join()

    @property
    def host(self) -> str:
        """Address and port as written in a link, and in the list of allowed hosts."""
        return f"{self.address}:{self.port}"

    @property
    def paths(self) -> list[str]:
        """The paths of all requests in order, queries included."""
        return [request.path for request in self.asked]

    def url(self, path: str = "/") -> str:
        return f"{'https' if self._tls else 'http'}://{self.host}{path}"

    def page(
        self,
        path: str,
        body: str | bytes = b"",
        headers: Mapping[str, str | tuple[str, ...]] | None = None,
        status: int = 200,
    ) -> str:
        """Answer `path` with these bytes, as HTML unless the headers say otherwise; returns the page's address."""
        all_headers = {"Content-Type": HTML, **(headers or {})}
        lines = [(name, single) for name, value in all_headers.items() for single in _values(value)]
        page = Page(body.encode() if isinstance(body, str) else body, status, tuple(lines))
        return self.handler(path, lambda _request, _wire: page)

    def handler(self, path: str, answer: Handler) -> str:
        """Answer `path`, with any query, by this function: it returns a page, or writes to the wire and returns None.

        A path that ends in `/*` matches everything below it.
        """
        self._handlers[path] = answer
        return self.url(path)

    def answer(self, request: Asked, wire: Wire) -> Page | None:
        path = request.path.partition("?")[0]
        for known in (request.path, path, path.rpartition("/")[0] + "/*"):
            if known in self._handlers:
                return self._handlers[known](request, wire)
        return Page(b"<title>Not here</title><p>There is no such page.", 404)

    def secured(self, sock: socket.socket) -> socket.socket:
        if self._tls is None:
            return sock
        # The handshake happens at the first read, in the thread of the connection.
        return self._tls.wrap_socket(sock, server_side=True, do_handshake_on_connect=False)


def _values(value: str | tuple[str, ...]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else value


class _Server(ThreadingHTTPServer):
    daemon_threads = False
    block_on_close = True
    request_queue_size = 64

    def __init__(self, address: tuple[str, int], web: LocalWeb) -> None:
        self.web = web
        self._open: dict[socket.socket, int] = {}
        self._lock = threading.Lock()
        super().__init__(address, _Conversation)

    def get_request(self) -> tuple[socket.socket, Any]:
        sock, client = super().get_request()
        return self.web.secured(sock), client

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            self.web.connections += 1
            self._open[request] = self.web.connections
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._open.pop(request, None)
        super().shutdown_request(request)

    def number(self, request: Any) -> int:
        with self._lock:
            return self._open[request]

    def hang_up(self) -> None:
        with self._lock:
            for sock in self._open:
                with contextlib.suppress(OSError):
                    sock.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: object, client_address: object) -> None:
        """Tests provoke clients that hang up in the middle."""
        self.web.hung_up.set()


class _Conversation(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def serve(self) -> None:
        web = self.server.web
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Asked(self.command, self.path, headers, body, self.server.number(self.request))
        web.asked.append(request)
        try:
            page = web.answer(request, Wire(self.connection, web.closing))
        except OSError:
            web.hung_up.set()
            page = None
        if page is None:
            self.close_connection = True
            return
        self.send_response(page.status)
        for name, value in page.headers:
            self.send_header(name, value)
        if "content-length" not in {name.lower() for name, _ in page.headers}:
            self.send_header("Content-Length", str(len(page.body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(page.body)

    do_GET = do_POST = do_HEAD = serve

    def log_message(self, format: str, *args: object) -> None:
        """Silent."""


class Listener:
    """Counts and closes the connections to an address that must not be reached."""

    def __init__(self, address: str = FORBIDDEN, port: int = 0) -> None:
        self.connections = 0
        self._sock = socket.create_server((address, port))
        self.address, self.port = self._sock.getsockname()[:2]
        self._thread = threading.Thread(target=self._count)

    @property
    def host(self) -> str:
        return f"{self.address}:{self.port}"

    def url(self, path: str = "/", scheme: str = "http") -> str:
        return f"{scheme}://{self.host}{path}"

    def __enter__(self) -> Listener:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._sock.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._sock.close()

    def _count(self) -> None:
        while True:
            try:
                visitor, _ = self._sock.accept()
            except OSError:
                return  # the listener is closing
            self.connections += 1
            visitor.close()
