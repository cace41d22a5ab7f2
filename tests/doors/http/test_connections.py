"""Connections of a real server in this process, on a clock that the test moves."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from ipaddress import ip_network

import pytest
import uvicorn
from starlette.types import Message, Receive, Scope, Send
from uvicorn.server import ServerState

from chyme.doors.http.connections import LOG_SECONDS, STALLED_SECONDS, ConnectionLimits, Connections, Reason
from chyme.doors.http.protocol import LEAST_RATE, bounded_protocol

GET = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n"
CHUNKED = b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
HALF = b"GET / HTTP/1.1\r\nHost: loc"
LIMITS = ConnectionLimits(total=8, per_address=4, head_seconds=10.0, stall_seconds=60.0)
DEADLINE = 60.0

Client = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    """Reads the body and answers; /large answers with more than any buffer holds, /events with a stream."""
    while scope["path"] != "/early":
        message: Message = await receive()
        if message["type"] == "http.disconnect":
            return
        if not message["more_body"]:
            break
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]})
    if scope["path"] == "/large":
        for _ in range(2000):
            await send({"type": "http.response.body", "body": bytes(64 * 1024), "more_body": True})
    if scope["path"] == "/events":
        await send({"type": "http.response.body", "body": b"data: 1\n\n", "more_body": True})
        while (await receive())["type"] != "http.disconnect":
            pass
    await send({"type": "http.response.body", "body": b"ok", "more_body": False})


class Served:
    """The server under test. `pass_time` moves its clock and lets it check its connections."""

    def __init__(self, limits: ConnectionLimits, proxies: str | None = None) -> None:
        self.now = 1000.0
        networks = (ip_network(proxies),) if proxies else ()
        self.connections = Connections(limits, networks, lambda: self.now)
        self.config = uvicorn.Config(application, log_config=None, ws="none", timeout_keep_alive=3600)
        self.config.load()
        self.port = 0
        self.clients: list[Client] = []

    async def connect(self, sent: bytes = b"", address: str = "127.0.0.1", buffer: int | None = None) -> Client:
        plain = socket.socket()
        if buffer is not None:
            plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        plain.bind((address, 0))
        plain.setblocking(False)
        await asyncio.get_running_loop().sock_connect(plain, ("127.0.0.1", self.port))
        client = await asyncio.open_connection(sock=plain, limit=1024)
        self.clients.append(client)
        client[1].write(sent)
        return client

    async def ask(self, address: str = "127.0.0.1") -> bytes:
        reader, _ = await self.connect(GET, address)
        return await status(reader)

    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        self.connections.check()


@contextlib.asynccontextmanager
async def serving(limits: ConnectionLimits = LIMITS, proxies: str | None = None) -> AsyncIterator[Served]:
    served = Served(limits, proxies)
    protocol, state = bounded_protocol(served.connections), ServerState()
    server = await asyncio.get_running_loop().create_server(lambda: protocol(served.config, state, {}), "127.0.0.1", 0)
    served.port = server.sockets[0].getsockname()[1]
    try:
        yield served
    finally:
        for _, writer in served.clients:
            writer.transport.abort()
        for connection in list(state.connections):
            connection.shutdown()
        server.close()
        for task in list(state.tasks):
            task.cancel()
        await until(lambda: not len(served.connections) and not state.tasks)


async def until(true: Callable[[], object]) -> None:
    async with asyncio.timeout(DEADLINE):
        while not true():
            await asyncio.sleep(0.005)


async def status(reader: asyncio.StreamReader) -> bytes:
    """The status of the response, or nothing when the connection was closed without one."""
    async with asyncio.timeout(DEADLINE):
        try:
            return (await reader.readline())[9:12]
        except ConnectionError:
            return b""


async def closed(client: Client) -> bool:
    """Wait until the server has closed the connection."""
    async with asyncio.timeout(DEADLINE):
        with contextlib.suppress(ConnectionError):
            while await client[0].read(65536):
                pass
    return True


def run(story: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(story())  # type: ignore[arg-type]


def test_a_half_sent_head_gets_408_after_its_time_even_if_it_is_dribbled() -> None:
    async def story() -> None:
        async with serving() as served:
            reader, writer = await served.connect(HALF)
            for _ in range(9):
                served.pass_time(1.0)
                writer.write(b"x")
                await asyncio.sleep(0.01)
            assert served.connections.closed[Reason.HEAD_TIMEOUT] == 0
            served.pass_time(1.5)
            assert await status(reader) == b"408"
            assert served.connections.closed[Reason.HEAD_TIMEOUT] == 1

    run(story)


def test_a_head_on_a_reused_connection_has_its_own_time_and_silence_gets_no_408() -> None:
    async def story() -> None:
        async with serving() as served:
            silent = await served.connect()
            reused = await served.connect(GET)
            assert await status(reused[0]) == b"200"
            served.pass_time(6.0)
            reused[1].write(HALF)
            await until(lambda: max(connection.since for connection in served.connections._waiting) == served.now)
            served.pass_time(6.0)
            assert await silent[0].read() == b""
            assert len(served.connections) == 1
            served.pass_time(6.0)
            assert await closed(reused)

    run(story)


def test_a_body_that_progresses_lives_and_one_that_is_dribbled_is_dropped() -> None:
    async def story() -> None:
        async with serving() as served:
            upload, dribble, chunks = [await served.connect(sent) for sent in (POST, POST, CHUNKED)]
            await until(lambda: not served.connections._waiting)
            for _ in range(10):
                upload[1].write(bytes(int(LEAST_RATE * 61)))
                if len(served.connections) == 3:
                    dribble[1].write(b"x")
                    chunks[1].write(b"1\r\nx\r\n")
                await asyncio.sleep(0.05)
                served.pass_time(30.0)
            assert (await status(dribble[0]), await status(chunks[0])) == (b"408", b"408")
            upload[1].write(bytes(100_000 - 10 * LEAST_RATE * 61))
            assert await status(upload[0]) == b"200"
            assert served.connections.closed == {Reason.BODY_TIMEOUT: 2}

    run(story)


def test_a_client_that_reads_nothing_is_dropped_and_one_that_reads_slowly_is_not() -> None:
    async def story() -> None:
        async with serving() as served:
            large = GET.replace(b"GET /", b"GET /large")
            stuck, slow = [await served.connect(large, buffer=4096) for _ in range(2)]
            await until(lambda: len(served.connections) == 2 and not served.connections._waiting)
            await asyncio.sleep(0.3)  # the buffers between the two are full
            served.pass_time(0.0)
            for _ in range(4):
                async with asyncio.timeout(DEADLINE):
                    await slow[0].readexactly(512 * 1024)
                await asyncio.sleep(0.2)
                served.pass_time(20.0)
            assert served.connections.closed == {Reason.READ_TIMEOUT: 1}
            assert len(served.connections) == 1
            assert await closed(stuck)

    run(story)


def test_a_stream_of_events_and_a_request_under_way_are_never_closed_to_make_room() -> None:
    async def story() -> None:
        async with serving() as served:
            events = await served.connect(GET.replace(b"GET /", b"GET /events"))
            upload = await served.connect(POST)
            assert await status(events[0]) == b"200"
            await until(lambda: not served.connections._waiting)
            halves = [await served.connect(HALF) for _ in range(40)]
            assert await served.ask() == b"200"
            served.pass_time(STALLED_SECONDS - 1)
            upload[1].write(bytes(100_000))
            assert await status(upload[0]) == b"200"
            assert not events[0].at_eof()
            assert await closed(halves[0])
            for _ in range(20):
                served.pass_time(60.0)
            assert len(served.connections) == 3  # the stream, and two that stay open for another request
            assert set(served.connections.closed) == {Reason.MAKE_ROOM, Reason.HEAD_TIMEOUT}

    run(story)


def test_one_address_makes_room_among_its_own_oldest_first_and_others_get_in() -> None:
    async def story() -> None:
        async with serving() as served:
            first = await served.connect(HALF, "127.0.0.3")
            await until(lambda: len(served.connections) == 1)
            flood = []
            for _ in range(50):
                flood.append(await served.connect(HALF, "127.0.0.2"))
            await until(lambda: served.connections.closed[Reason.MAKE_ROOM] == 46)
            assert [await served.ask(address) for address in ("127.0.0.1", "127.0.0.2")] == [b"200", b"200"]
            assert await closed(flood[0])
            assert len(served.connections) <= LIMITS.total
            first[1].write(b"alhost\r\n\r\n")
            assert await status(first[0]) == b"200"

    run(story)


def test_idle_connections_are_closed_oldest_first_when_all_places_are_taken() -> None:
    async def story() -> None:
        async with serving() as served:
            idle = [await served.connect(GET, f"127.0.0.{2 + at}") for at in range(LIMITS.total)]
            for client in idle:
                assert await status(client[0]) == b"200"
            assert await served.ask() == b"200"
            assert await closed(idle[0])
            assert len(served.connections) == LIMITS.total
            idle[-1][1].write(GET)
            assert served.connections.closed == {Reason.MAKE_ROOM: 1}

    run(story)


def test_an_address_full_of_bodies_is_refused_until_they_are_stalled() -> None:
    async def story() -> None:
        async with serving() as served:
            for _ in range(LIMITS.per_address):
                await served.connect(POST, "127.0.0.2")
            await until(lambda: len(served.connections) == LIMITS.per_address and not served.connections._waiting)
            assert await served.ask("127.0.0.2") == b"503"
            assert await served.ask("127.0.0.1") == b"200"
            served.pass_time(STALLED_SECONDS)
            assert await served.ask("127.0.0.2") == b"200"

    run(story)


def test_a_trusted_proxy_may_have_all_connections() -> None:
    async def story() -> None:
        async with serving(proxies="127.0.0.2/32") as served:
            posts = [await served.connect(POST, "127.0.0.2") for _ in range(LIMITS.total)]
            await until(lambda: len(served.connections) == LIMITS.total)
            assert served.connections.closed.total() == 0
            assert len(posts) == LIMITS.total

    run(story)


def test_a_body_that_the_application_does_not_await_is_closed_to_make_room() -> None:
    async def story() -> None:
        async with serving() as served:
            early = [await served.connect(POST.replace(b"POST /", b"POST /early")) for _ in range(LIMITS.per_address)]
            for client in early:
                assert await status(client[0]) == b"200"
            assert await served.ask() == b"200"
            assert await closed(early[0])

    run(story)


@pytest.mark.parametrize(
    "sent",
    [
        bytes.fromhex("16030100c8010000c40303") + bytes(190),
        b"GET /" + b"a" * 300_000,
        b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 60_000,
        CHUNKED + b"ZZZ\r\n",
        CHUNKED.replace(b"POST /", b"POST /early") + b"1\r\nx\r\nZZZ\r\n",
    ],
    ids=["TLS", "long line", "many headers", "bad chunk", "bad chunk after the response"],
)
def test_connections_without_http_are_closed_without_a_log_line_for_each(
    sent: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    async def story() -> None:
        async with serving() as served:
            for _ in range(20):
                assert await closed(await served.connect(sent))
            assert served.connections.closed[Reason.NOT_HTTP] == 20
            served.pass_time(1.0)

    with caplog.at_level(logging.INFO):
        run(story)
    ours = [record for record in caplog.records if record.name.startswith("chyme.doors.http.connections")]
    assert len(ours) == 1
    assert "20 closed because they sent something that is not HTTP" in ours[0].getMessage()
    assert not any(record.exc_info for record in caplog.records)


def test_full_places_are_logged_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    async def story() -> None:
        async with serving() as served:
            for wanted in (46, 92, 138):
                for _ in range(50 if wanted == 46 else 46):
                    await served.connect(HALF, "127.0.0.2")
                await until(lambda wanted=wanted: served.connections.closed[Reason.MAKE_ROOM] == wanted)  # type: ignore[misc]
                served.pass_time(1.0)
            served.pass_time(LOG_SECONDS)

    with caplog.at_level(logging.WARNING):
        run(story)
    messages = [record.getMessage() for record in caplog.records]
    assert len(messages) == 2
    assert messages[0].startswith("connections: 46 closed to make room for newer ones; most from 127.0.0.2; limits: ")
    assert messages[1].startswith("connections: 92 closed")


def test_pipelined_requests_are_answered_one_after_the_other() -> None:
    async def story() -> None:
        async with serving() as served:
            reader, writer = await served.connect(GET * 30 + HALF)
            async with asyncio.timeout(DEADLINE):
                for _ in range(30):
                    assert (await reader.readuntil(b"\r\n0\r\n\r\n")).startswith(b"HTTP/1.1 200")
            served.pass_time(LIMITS.head_seconds)
            assert await status(reader) == b"408"
            writer.close()

    run(story)


def test_the_rest_of_a_body_that_does_not_come_gets_no_second_response() -> None:
    async def story() -> None:
        async with serving() as served:
            reader, _ = await served.connect(POST.replace(b"POST /", b"POST /early"))
            assert await status(reader) == b"200"
            served.pass_time(LIMITS.stall_seconds + 1)
            assert served.connections.closed == {Reason.BODY_TIMEOUT: 1}
            with contextlib.suppress(ConnectionError):
                assert b"408" not in await reader.read()

    run(story)


def test_nothing_is_read_after_a_body_with_two_lengths() -> None:
    async def story() -> None:
        async with serving() as served:
            both = CHUNKED.replace(b"Transfer-", b"Content-Length: 5\r\nTransfer-") + b"0\r\n\r\n"
            for sent in (both + GET, GET + both + GET):
                reader, _ = await served.connect(sent)
                answer = b""
                with contextlib.suppress(ConnectionError):
                    while piece := await asyncio.wait_for(reader.read(1000), DEADLINE):
                        answer += piece
                assert answer.count(b"HTTP/1.1 200") == sent.count(b"HTTP/1.1") - 1

    run(story)
