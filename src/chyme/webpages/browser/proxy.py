"""The only way out of Chromium: a proxy on loopback, which gets each connection from the guard or refuses.

It lives for one page. Plain requests travel each on a connection of their own; for anything else Chromium asks for a
tunnel. What it loads is counted, and beyond the limits nothing more comes through. Hosts that the page has not asked
for, because Chromium thinks of them by itself, are refused without asking the guard.
"""

from __future__ import annotations

import asyncio
import secrets
import socket
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from urllib.parse import urlsplit

from chyme.core.children.isolation import OWN_PORT
from chyme.digester import Outside
from chyme.errors import AddressRefused, DigestError, NetworkFailed, RateLimited
from chyme.webpages.browser.proxy_relay import BufferedConnection, cancel_all, relay, strip_hop_headers
from chyme.webpages.browser.settings import BrowserSettings

HEAD_SECONDS = 30.0
EXPECT_SECONDS = 1.0
LOOK_SECONDS = 0.01
CLOSE_SECONDS = 3.0
REFUSED_KEPT = 100  # hosts named in the result
BACKLOG = 128
AT_ONCE = 16  # questions to the guard
BLANK = b"<!DOCTYPE html>\n"  # what a frame shows that was refused
REFUSED_HEADER = "X-Chyme-Refused"


@dataclass(slots=True)
class Traffic:
    """What went through, and what did not."""

    requests: int = 0
    loaded: int = 0  # bytes from servers
    refused: dict[str, AddressRefused] = field(default_factory=dict)  # by host and port, in order
    failed: dict[str, DigestError] = field(default_factory=dict)
    full: str | None = None  # which limit was reached


class _Refused(Exception):
    """The answer that Chromium gets instead."""

    def __init__(self, status: str) -> None:
        super().__init__(status)
        self.status = status


def _listener() -> socket.socket:
    """At any port; where children go out by way of a door alone, at the one port that is left to them."""
    try:
        return socket.create_server(("127.0.0.1", 0), backlog=BACKLOG)
    except PermissionError:
        return socket.create_server(("127.0.0.1", OWN_PORT), backlog=BACKLOG)


class Proxy:
    """Open while in its `with` block; afterwards neither thread nor socket is left."""

    def __init__(self, outside: Outside, settings: BrowserSettings) -> None:
        self.traffic = Traffic()
        self.mark = secrets.token_hex(8)  # by which our own answers are told from those of servers
        self._outside = outside
        self._settings = settings
        self._loop = asyncio.new_event_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        self._asking: set[threading.Thread] = set()
        self._expected: set[str] = set()
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._admitted = asyncio.Event()  # the page's host has answered, or will not
        self._ending = threading.Lock()
        self._ended = False  # nothing handed to the loop from now on is carried out
        try:
            self._listener = _listener()
        except OSError:
            self._loop.close()
            raise
        self._listener.setblocking(False)
        self.port: int = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._run, name="browser-proxy", daemon=True)

    def __enter__(self) -> Proxy:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        for thread in list(self._asking):
            thread.join(CLOSE_SECONDS)  # the guard gives up by itself; who is later still closes what it gets

    def allow_host(self, url: str) -> None:
        """The page asks for something there: connections to this host are its own."""
        with suppress(ValueError):
            self._expected.add(urlsplit(url).hostname or "")

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
            with self._ending:
                self._ended = True
            self._loop.run_until_complete(asyncio.sleep(0))  # connections that were handed over late are closed
            asyncio.set_event_loop(None)
            self._loop.close()

    def _accept(self) -> None:
        try:
            client, _ = self._listener.accept()
        except OSError:
            return  # out of descriptors, or nobody there any more
        if len(self._tasks) >= self._settings.connections:
            client.close()
            return
        client.setblocking(False)
        task = self._loop.create_task(self._serve(client))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(lambda _: client.close())

    async def _serve(self, client: socket.socket) -> None:
        line = BufferedConnection(self._loop, client)
        try:
            head = await asyncio.wait_for(line.head(), HEAD_SECONDS)
            if head is None:
                return
            try:
                await self._carry(line, head)
            except _Refused as refusal:
                told = f"HTTP/1.1 {refusal.status}\r\nContent-Type: text/html\r\nContent-Length: {len(BLANK)}\r\n"
                await line.send(f"{told}{REFUSED_HEADER}: {self.mark}\r\nConnection: close\r\n\r\n".encode() + BLANK)
        except (OSError, TimeoutError, EOFError, ValueError):
            return  # one of both ends has hung up, or talks nonsense

    async def _carry(self, line: BufferedConnection, head: bytes) -> None:
        first, _, rest = head.partition(b"\r\n")
        method, target, _ = first.decode("ascii").split(" ", 2)
        tunnel = method == "CONNECT"
        parts = urlsplit(f"//{target}" if tunnel else target)
        if not parts.hostname or (not tunnel and parts.scheme != "http") or (tunnel and not parts.port):
            raise _Refused("403 Forbidden")
        host, port = parts.hostname, parts.port or 80
        await self._expectation(host)
        server = BufferedConnection(self._loop, await self._connection(host, port))
        try:
            if tunnel:
                await line.send(b"HTTP/1.1 200 Connection established\r\n\r\n")
                await relay(self._pump(line, server), self._pump(server, line, counted=True))
            else:
                asked = target.encode("ascii")[len(f"{parts.scheme}://{parts.netloc}") :] or b"/"
                asked = asked if asked.startswith(b"/") else b"/" + asked
                await server.send(b"%s %s HTTP/1.1\r\n%s" % (method.encode("ascii"), asked, strip_hop_headers(rest)))
                await relay(self._pump(line, server), self._answer(server, line))
        finally:
            server.sock.close()

    async def _expectation(self, host: str) -> None:
        """Return when the page is known to ask for this host; word of it may come a little later than the request."""
        deadline = self._loop.time() + EXPECT_SECONDS
        while host not in self._expected:
            if self._loop.time() > deadline:
                raise _Refused("403 Forbidden")
            await asyncio.sleep(LOOK_SECONDS)

    async def _connection(self, host: str, port: int) -> socket.socket:
        """From the guard, or the answer that there is none."""
        traffic, name = self.traffic, f"{host}:{port}"
        traffic.requests += 1
        if traffic.requests > self._settings.requests:
            traffic.full = f"only the first {self._settings.requests:,} parts were loaded"
        if traffic.full:
            raise _Refused("403 Forbidden")
        try:
            sock = await self._in_turn(host, port, first=traffic.requests == 1)
        except AddressRefused as error:
            if len(traffic.refused) < REFUSED_KEPT:
                traffic.refused.setdefault(name, error)
            raise _Refused("403 Forbidden") from None
        except DigestError as error:
            if len(traffic.failed) < REFUSED_KEPT:
                traffic.failed.setdefault(name, error)
            raise _Refused("502 Bad Gateway") from None
        sock.setblocking(False)
        return sock

    async def _in_turn(self, host: str, port: int, first: bool) -> socket.socket:
        """The first one is for the page itself and keeps to its host's pace; the page's parts come after it."""
        if first:
            try:
                return await self._asked(host, port, polite=True)
            finally:
                self._admitted.set()
        await self._admitted.wait()
        said = self.traffic.failed.get(f"{host}:{port}")
        if isinstance(said, RateLimited):
            raise said
        async with self._turns:
            return await self._asked(host, port)

    async def _asked(self, host: str, port: int, polite: bool = False) -> socket.socket:
        """The guard may take its time, so it is asked in a thread."""
        answer: asyncio.Future[socket.socket] = self._loop.create_future()
        asked = (host, port, polite, answer)
        thread = threading.Thread(target=self._ask, args=asked, name="browser-guard", daemon=True)
        self._asking.add(thread)
        try:
            thread.start()
        except RuntimeError:  # no room for another
            self._asking.discard(thread)
            raise NetworkFailed(f"{host}:{port}: the guard could not be asked") from None
        try:
            return await answer
        except asyncio.CancelledError:
            if answer.done() and not answer.cancelled() and not answer.exception():
                answer.result().close()
            raise

    def _ask(self, host: str, port: int, polite: bool, answer: asyncio.Future[socket.socket]) -> None:
        sock: socket.socket | None = None
        error: DigestError | None = None
        try:
            sock = self._outside.connect(host, port, polite)
        except DigestError as failure:
            error = failure
        except Exception as failure:  # whatever it is, the page goes on without this part
            error = NetworkFailed(f"{host}:{port}: no connection ({type(failure).__name__})")

        def hand_over() -> None:
            if sock is not None and not answer.done():
                answer.set_result(sock)
            elif sock is not None:
                sock.close()  # nobody waits for it any more
            elif error is not None and not answer.done():
                answer.set_exception(error)

        with self._ending:
            if not self._ended:
                self._loop.call_soon_threadsafe(hand_over)
            elif sock is not None:
                sock.close()
        self._asking.discard(threading.current_thread())

    async def _answer(self, server: BufferedConnection, line: BufferedConnection) -> None:
        """A server's answer, marked as the last on its connection."""
        while True:
            head = await server.head()
            if head is None:
                raise EOFError
            first, _, rest = head.partition(b"\r\n")
            interim = first.split(b" ", 2)[1:2][0].startswith(b"1")
            self._count(len(head))
            await line.send(head + b"\r\n" if interim else first + b"\r\n" + strip_hop_headers(rest))
            if not interim:
                break
        await self._pump(server, line, counted=True)

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
