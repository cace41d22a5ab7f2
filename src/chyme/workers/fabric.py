"""A connection to NATS that other threads can use. It lives in an event loop of its own, and comes back by itself."""

from __future__ import annotations

import asyncio
import logging
import ssl
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from concurrent.futures import Future
from typing import Any, Protocol, TypeVar

import nats
import nats.errors
from nats.aio.client import Client
from nats.aio.msg import Msg

from chyme.core.children.frames import BadFrame
from chyme.errors import ChymeError
from chyme.workers.names import inbox_of, is_inbox_of
from chyme.workers.wire import Message, pack_message, read_message

T = TypeVar("T")

log = logging.getLogger(__name__)

CONNECT_SECONDS = 3
WAIT_SECONDS = 1  # between two tries to connect
PING_SECONDS = 3  # a server that does not answer two of them is left for another
REQUEST_SECONDS = 5.0
PENDING_BYTES = 4 << 20  # of messages that wait to be sent
WARNING_SECONDS = 1.0

SLOW = ("bytes", "answer", "kept")  # they wait for a disk, and must not keep others waiting

Handler = Callable[[str, Message], Awaitable[tuple[dict[str, object], bytes] | None]]


class FabricAway(ChymeError):
    """There is no connection, or no answer in time."""


class NoListener(FabricAway):
    """There is no listener where the request was sent."""


class Proof(Protocol):
    """What this side proves itself with."""

    @property
    def name(self) -> str: ...

    def ssl_context(self) -> ssl.SSLContext: ...

    def reload_into(self, context: ssl.SSLContext) -> object:
        """Read the certificate again: it may have been renewed."""


def _is_worth_telling(record: logging.LogRecord) -> bool:
    """asyncio warns each time a TLS connection ends, because of how the NATS client is written."""
    return "eof_received" not in str(record.msg)


def _is_inbox(subject: str) -> bool:
    return subject.startswith(inbox_of(""))


class Fabric:
    """One connection. `on_change` is called in its loop when it comes or goes."""

    def __init__(
        self,
        servers: Sequence[str],
        name: str,
        proof: Proof | None = None,
        on_change: Callable[[bool], None] = lambda _connected: None,
    ) -> None:
        self.name = name
        self.problem: str | None = "not connected yet"  # None while it is connected
        self.connections = 0  # how often it came about
        self._servers = list(servers)
        self._proof = proof
        self._context = proof.ssl_context() if proof else None
        self._on_change = on_change
        self._client = Client()
        self._handlers: dict[str, Handler] = {}
        self._strict: set[str] = set()  # subjects whose last part names the one who gets the answer
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="chyme-fabric", daemon=True)
        self._closing = False
        self._next_warning = 0.0

    @property
    def connected(self) -> bool:
        return self._client.is_connected

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        return self._loop

    def start(self) -> None:
        """Connect in the background, as often as it takes."""
        logging.getLogger("asyncio").addFilter(_is_worth_telling)
        self._thread.start()
        self.spawn(self._connect())

    def close(self) -> None:
        """Disconnect, and end the loop."""
        if self._closing or not self._thread.is_alive():
            return
        self._closing = True
        try:
            self.call(self._disconnect()).result(CONNECT_SECONDS)
        except (TimeoutError, ChymeError):
            log.debug("the connection to NATS did not end in time")
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            for task in asyncio.all_tasks(self._loop):
                task.cancel()
            self._loop.run_until_complete(asyncio.sleep(0))
            self._loop.run_until_complete(self._loop.shutdown_default_executor())
            self._loop.close()

    def call(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Run this in the loop, from any thread. FabricAway once the loop has ended."""
        if self._loop.is_closed():
            work.close()
            raise FabricAway("the connection to NATS is closed")
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Run this in the loop, and wait for nothing. From any thread."""

        def begin() -> None:
            task = self._loop.create_task(work)
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

        try:
            self._loop.call_soon_threadsafe(begin)
        except RuntimeError:  # the loop has ended
            work.close()

    def listen(self, subject: str, handler: Handler, answers_go_to_last: bool = False) -> None:
        """Give every message on this subject to the handler, and send back what it returns.

        `answers_go_to_last`: only into the inbox of the one named at the end of the subject. Otherwise a worker could
        have a coordinator send its answer to another worker, as if it were a request.
        """
        self._handlers[subject] = handler
        if answers_go_to_last:
            self._strict.add(subject)
        if self.connected:
            self.spawn(self._subscribe(subject, handler))

    async def publish(self, subject: str, header: dict[str, object], bulk: bytes = b"") -> None:
        """Send a message that needs no answer; it is lost while there is no connection."""
        if not self.connected:
            return
        try:
            await self._client.publish(subject, pack_message(header, bulk))
        except nats.errors.Error as error:
            log.debug("a message was not sent: %s", error)

    async def request(
        self, subject: str, header: dict[str, object], bulk: bytes = b"", seconds: float = REQUEST_SECONDS
    ) -> Message:
        """Send a message and return its answer; FabricAway or BadFrame."""
        if not self.connected:
            raise FabricAway("there is no connection to NATS")
        try:
            answer = await self._client.request(subject, pack_message(header, bulk), timeout=seconds)
        except nats.errors.NoRespondersError as error:
            raise NoListener("there is no listener") from error
        except (nats.errors.Error, TimeoutError, OSError) as error:
            raise FabricAway(f"no answer through NATS ({type(error).__name__})") from error
        return read_message(answer.data)

    async def _connect(self) -> None:
        # Without the handshake first, a machine in between could turn TLS off.
        tls: dict[str, Any] = {"tls": self._context, "tls_handshake_first": True} if self._context else {}
        while not self._closing:
            try:
                await self._client.connect(
                    self._servers,
                    name=self.name,
                    inbox_prefix=inbox_of(self.name).encode(),
                    error_cb=self._on_error,
                    disconnected_cb=self._on_disconnected,
                    reconnected_cb=self._on_reconnected,
                    connect_timeout=CONNECT_SECONDS,
                    reconnect_time_wait=WAIT_SECONDS,
                    max_reconnect_attempts=-1,
                    ping_interval=PING_SECONDS,
                    max_outstanding_pings=2,
                    pending_size=PENDING_BYTES,
                    **tls,
                )
                break
            except (nats.errors.Error, OSError, TimeoutError, ssl.SSLError) as error:
                self._note_problem(error)
                await asyncio.sleep(WAIT_SECONDS)
        for subject, handler in self._handlers.items():
            await self._subscribe(subject, handler)
        self._change(True)

    async def _disconnect(self) -> None:
        if not self._client.is_closed:
            await self._client.close()

    async def _subscribe(self, subject: str, handler: Handler) -> None:
        strict = subject in self._strict

        async def receive(received: Msg) -> None:
            try:
                message = read_message(received.data)
                if message.header.get("kind") not in SLOW:
                    await self._answer(received, message, handler, strict)
                    return
            except BadFrame as error:
                self._warn(f"a message on {received.subject} makes no sense: {error}")
                return
            task = self._loop.create_task(self._answer(received, message, handler, strict))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

        await self._client.subscribe(subject, cb=receive)

    async def _answer(self, received: Msg, message: Message, handler: Handler, strict: bool) -> None:
        asker = received.subject.rpartition(".")[2] if strict else ""
        if received.reply and not (is_inbox_of(asker, received.reply) if strict else _is_inbox(received.reply)):
            self._warn(f"a request on {received.subject} wants its answer elsewhere than in an inbox of its own")
            return
        try:
            try:
                answer = await handler(received.subject, message)
            except BadFrame as error:
                self._warn(f"a message on {received.subject} makes no sense: {error}")
                answer = {"kind": "refused", "cause": str(error)}, b""
            if answer is not None and received.reply:
                await self._client.publish(received.reply, pack_message(*answer))
        except nats.errors.Error as error:
            log.debug("an answer was not sent: %s", error)
        except Exception:
            log.exception("a message on %s could not be handled", received.subject)

    def _warn(self, text: str) -> None:
        """Log what others did wrong, but not more than once a second: they must not be able to fill the log."""
        if time.monotonic() >= self._next_warning:
            self._next_warning = time.monotonic() + WARNING_SECONDS
            log.warning("%s", text)

    def _change(self, connected: bool) -> None:
        if connected:
            self.problem = None
            self.connections += 1
            log.info("connected to NATS")
        self._on_change(connected)

    def _note_problem(self, error: object) -> None:
        self.problem = str(error)[:300] or type(error).__name__

    async def _on_error(self, error: Exception) -> None:
        if not self.connected:
            self._note_problem(error)
        log.debug("NATS: %s", error)

    async def _on_disconnected(self) -> None:
        if self._closing:
            return
        self.problem = self.problem or "the connection was lost"
        log.warning("the connection to NATS was lost; trying again")
        if self._proof and self._context:
            try:
                self._proof.reload_into(self._context)
            except ChymeError as error:
                log.warning("%s", error)
        self._change(False)

    async def _on_reconnected(self) -> None:
        self._change(True)
