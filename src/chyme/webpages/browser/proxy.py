"""Chromium's only way to the network: a proxy on loopback, which gets each connection from the guard or refuses it.

It lives for one page. Each plain request has a connection of its own; for anything else Chromium asks for a tunnel.
The proxy counts what is loaded, and lets nothing more through beyond the limits. It refuses hosts that Chromium
contacts by itself, which the page has not asked for, without asking the guard.
"""

from __future__ import annotations

import asyncio
import secrets
import socket
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from chyme.core.children.isolation import OWN_PORT
from chyme.digester import Outside
from chyme.errors import AddressRefused, DigestError, NetworkFailed, RateLimited
from chyme.webpages.browser.proxy_relay import BufferedConnection, cancel_all, relay, strip_hop_headers
from chyme.webpages.settings import BrowserSettings

HEAD_SECONDS = 30.0
EXPECT_SECONDS = 1.0
POLL_SECONDS = 0.01
CLOSE_SECONDS = 3.0
MAX_REFUSED = 100  # hosts named in the result
BACKLOG = 128
MAX_GUARD_REQUESTS = 16  # at once
BLANK = b"<!DOCTYPE html>\n"  # shown in a frame that was refused
REFUSED_HEADER = "X-Chyme-Refused"


@dataclass(slots=True)
class Traffic:
    """What the proxy let through, and what it did not."""

    requests: int = 0
    loaded: int = 0  # bytes from servers
    refused: dict[str, AddressRefused] = field(default_factory=dict)  # by host and port, in order
    failed: dict[str, DigestError] = field(default_factory=dict)
    full: str | None = None  # a note about the limit that was reached


class _Refused(Exception):
    """The request is refused; Chromium gets this status instead."""

    def __init__(self, status: str) -> None:
        super().__init__(status)
        self.status = status


def _open_listener() -> socket.socket:
    """Listen on any port; in a child without network access, on the one port that it may still use."""
    try:
        return socket.create_server(("127.0.0.1", 0), backlog=BACKLOG)
    except PermissionError:
        return socket.create_server(("127.0.0.1", OWN_PORT), backlog=BACKLOG)


class Proxy:
    """Runs inside its `with` block; afterwards neither thread nor socket is left."""

    def __init__(self, outside: Outside, settings: BrowserSettings) -> None:
        self.traffic = Traffic()
        self.mark = secrets.token_hex(8)  # tells our own responses from those of servers
        self._outside = outside
        self._settings = settings
        self._loop = asyncio.new_event_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        self._guard_threads: set[threading.Thread] = set()
        self._allowed_hosts: set[str] = set()
        self._guard_slots = asyncio.Semaphore(MAX_GUARD_REQUESTS)
        self._page_connected = asyncio.Event()  # the connection for the page itself was made, or failed
        self._end_lock = threading.Lock()
        self._ended = False  # the loop runs no callbacks any more
        try:
            self._listener = _open_listener()
        except OSError:
            self._loop.close()
            raise
        self._listener.setblocking(False)
        self.port: int = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._run, name="browser-proxy", daemon=True)

    def __enter__(self) -> Proxy:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        for thread in list(self._guard_threads):
            thread.join(CLOSE_SECONDS)  # the guard gives up by itself; a later thread closes its own socket

    def allow_host(self, url: str) -> None:
        """Allow connections to this host: the page requests something there."""
        with suppress(ValueError):
            self._allowed_hosts.add(urlsplit(url).hostname or "")

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.add_reader(self._listener, self._accept)
        try:
            self._loop.run_forever()
        finally:
            self._loop.remove_reader(self._listener)
            self._loop.run_until_complete(cancel_all(list(self._tasks)))
            self._listener.close()
            with self._end_lock:
                self._ended = True
            self._loop.run_until_complete(asyncio.sleep(0))  # closes connections that were handed over late
            asyncio.set_event_loop(None)
            self._loop.close()

    def _accept(self) -> None:
        try:
            client, _ = self._listener.accept()
        except OSError:
            return  # out of descriptors, or the client is gone
        if len(self._tasks) >= self._settings.connections:
            client.close()
            return
        client.setblocking(False)
        task = self._loop.create_task(self._serve(client))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(lambda _: client.close())

    async def _serve(self, client: socket.socket) -> None:
        browser = BufferedConnection(self._loop, client)
        try:
            head = await asyncio.wait_for(browser.head(), HEAD_SECONDS)
            if head is None:
                return
            try:
                await self._forward(browser, head)
            except _Refused as refusal:
                reply = f"HTTP/1.1 {refusal.status}\r\nContent-Type: text/html\r\nContent-Length: {len(BLANK)}\r\n"
                await browser.send(
                    f"{reply}{REFUSED_HEADER}: {self.mark}\r\nConnection: close\r\n\r\n".encode() + BLANK
                )
        except (OSError, TimeoutError, EOFError, ValueError):
            return  # one end has hung up, or sends nonsense

    async def _forward(self, browser: BufferedConnection, head: bytes) -> None:
        first, _, rest = head.partition(b"\r\n")
        method, target, _ = first.decode("ascii").split(" ", 2)
        tunnel = method == "CONNECT"
        parts = urlsplit(f"//{target}" if tunnel else target)
        if not parts.hostname or (not tunnel and parts.scheme != "http") or (tunnel and not parts.port):
            raise _Refused("403 Forbidden")
        host, port = parts.hostname, parts.port or 80
        await self._wait_until_allowed(host)
        server = BufferedConnection(self._loop, await self._connect(host, port))
        try:
            if tunnel:
                await browser.send(b"HTTP/1.1 200 Connection established\r\n\r\n")
                await relay(self._pump(browser, server), self._pump(server, browser, counted=True))
            else:
                path = target.encode("ascii")[len(f"{parts.scheme}://{parts.netloc}") :] or b"/"
                path = path if path.startswith(b"/") else b"/" + path
                await server.send(b"%s %s HTTP/1.1\r\n%s" % (method.encode("ascii"), path, strip_hop_headers(rest)))
                await relay(self._pump(browser, server), self._forward_response(server, browser))
        finally:
            server.sock.close()

    async def _wait_until_allowed(self, host: str) -> None:
        """Return once the page is known to ask for this host; that news may come a little later than the request."""
        deadline = self._loop.time() + EXPECT_SECONDS
        while host not in self._allowed_hosts:
            if self._loop.time() > deadline:
                raise _Refused("403 Forbidden")
            await asyncio.sleep(POLL_SECONDS)

    async def _connect(self, host: str, port: int) -> socket.socket:
        """Return a connection from the guard; raises _Refused if there is none."""
        traffic, name = self.traffic, f"{host}:{port}"
        traffic.requests += 1
        if traffic.requests > self._settings.requests:
            traffic.full = f"only the first {self._settings.requests:,} parts were loaded"
        if traffic.full:
            raise _Refused("403 Forbidden")
        try:
            sock = await self._connect_in_turn(host, port, first=traffic.requests == 1)
        except AddressRefused as error:
            if len(traffic.refused) < MAX_REFUSED:
                traffic.refused.setdefault(name, error)
            raise _Refused("403 Forbidden") from None
        except DigestError as error:
            if len(traffic.failed) < MAX_REFUSED:
                traffic.failed.setdefault(name, error)
            raise _Refused("502 Bad Gateway") from None
        sock.setblocking(False)
        return sock

    async def _connect_in_turn(self, host: str, port: int, first: bool) -> socket.socket:
        """Connect for the page itself first, at the pace of its host; then for its parts."""
        if first:
            try:
                return await self._ask_guard(host, port, polite=True)
            finally:
                self._page_connected.set()
        await self._page_connected.wait()
        error = self.traffic.failed.get(f"{host}:{port}")
        if isinstance(error, RateLimited):
            raise error
        async with self._guard_slots:
            return await self._ask_guard(host, port)

    async def _ask_guard(self, host: str, port: int, polite: bool = False) -> socket.socket:
        """Ask the guard in a thread, because it may take a while."""
        answer: asyncio.Future[socket.socket] = self._loop.create_future()
        arguments = (host, port, polite, answer)
        thread = threading.Thread(target=self._ask_guard_in_thread, args=arguments, name="browser-guard", daemon=True)
        self._guard_threads.add(thread)
        try:
            thread.start()
        except RuntimeError:  # no more threads are possible
            self._guard_threads.discard(thread)
            raise NetworkFailed(f"{host}:{port}: the guard could not be asked") from None
        try:
            return await answer
        except asyncio.CancelledError:
            if answer.done() and not answer.cancelled() and not answer.exception():
                answer.result().close()
            raise

    def _ask_guard_in_thread(self, host: str, port: int, polite: bool, answer: asyncio.Future[socket.socket]) -> None:
        sock: socket.socket | None = None
        error: DigestError | None = None
        try:
            sock = self._outside.connect(host, port, polite)
        except DigestError as failure:
            error = failure
        except Exception as failure:  # on any failure the page goes on without this part
            error = NetworkFailed(f"{host}:{port}: no connection ({type(failure).__name__})")

        def hand_over() -> None:
            if sock is not None and not answer.done():
                answer.set_result(sock)
            elif sock is not None:
                sock.close()  # no task waits for it any more
            elif error is not None and not answer.done():
                answer.set_exception(error)

        with self._end_lock:
            if not self._ended:
                self._loop.call_soon_threadsafe(hand_over)
            elif sock is not None:
                sock.close()
        self._guard_threads.discard(threading.current_thread())

    async def _forward_response(self, server: BufferedConnection, browser: BufferedConnection) -> None:
        """Forward a server's response, marked as the last on its connection."""
        while True:
            head = await server.head()
            if head is None:
                raise EOFError
            first, _, rest = head.partition(b"\r\n")
            interim = first.split(b" ", 2)[1:2][0].startswith(b"1")
            self._count(len(head))
            await browser.send(head + b"\r\n" if interim else first + b"\r\n" + strip_hop_headers(rest))
            if not interim:
                break
        await self._pump(server, browser, counted=True)

    async def _pump(self, source: BufferedConnection, sink: BufferedConnection, counted: bool = False) -> None:
        while data := await source.receive():
            if counted:
                self._count(len(data))
            await sink.send(data)

    def _count(self, size: int) -> None:
        self.traffic.loaded += size
        if self.traffic.loaded > self._settings.load_bytes:
            self.traffic.full = f"only the first {self._settings.load_bytes >> 20:,} MB were loaded"
            raise EOFError
