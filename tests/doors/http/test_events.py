"""GET /api/events: where a client may resume, how a stream looks, and that it ends when either side leaves."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from described_vault import put
from fastapi.testclient import TestClient
from starlette.types import ASGIApp, Message
from waiting import AMPLE

from chyme.accounts.permissions import Right, Rights, Visitor
from chyme.application.app import App, open_app
from chyme.application.event_broadcast import MAX_LISTENERS, MAX_PER_USER
from chyme.doors.http.routes import events
from chyme.doors.http.routes.events import EventStream
from chyme.doors.http.vault_api import create_vault_api

pytestmark = pytest.mark.slow  # each takes little time, but there are many


class Client:
    """A client that opens the stream and disconnects when `go` is called."""

    def __init__(
        self,
        answers: ASGIApp,
        query: str = "",
        headers: dict[str, str] | None = None,
        visitor: Visitor | None = None,
    ) -> None:
        self.body = b""
        self.status: int | None = None
        self.headers: dict[str, str] = {}
        self.ended = False
        self._gone = asyncio.Event()
        self._requested = False
        scope: dict[str, Any] = {
            "type": "http",
            "state": {"visitor": visitor},
            "method": "GET",
            "path": "/api/events",
            "raw_path": b"/api/events",
            "root_path": "",
            "query_string": query.encode(),
            "headers": [(name.lower().encode(), value.encode()) for name, value in (headers or {}).items()],
            "server": ("localhost", 80),
            "client": ("127.0.0.1", 50000),
            "scheme": "http",
            "http_version": "1.1",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
        }
        self.task = asyncio.ensure_future(answers(scope, self._receive, self._send))

    async def _receive(self) -> Message:
        if not self._requested:
            self._requested = True
            return {"type": "http.request", "body": b"", "more_body": False}
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {name.decode(): value.decode() for name, value in message["headers"]}
        else:
            self.body += message.get("body", b"")
            self.ended |= not message.get("more_body", False)

    def go(self) -> None:
        self._gone.set()

    async def until(self, true: Callable[[], object], seconds: float = AMPLE) -> None:
        async with asyncio.timeout(seconds):
            while not true():
                await asyncio.sleep(0.02)


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    with open_app(tmp_path) as opened:
        put(opened, "a.txt")
        yield opened


def in_loop(work: Callable[[], Awaitable[None]]) -> None:
    async def run() -> None:
        await work()

    asyncio.run(run())


def test_a_stream_reports_events_and_is_not_cached(app: App) -> None:
    async def work() -> None:
        client = Client(create_vault_api(app))
        await client.until(lambda: b"event: status" in client.body)
        assert client.status == 200
        assert client.headers["content-type"].startswith("text/event-stream")
        assert client.headers["cache-control"] == "no-store"
        assert client.headers["x-accel-buffering"] == "no"
        assert "content-length" not in client.headers
        put(app, "b.txt")
        await client.until(lambda: b'"path": "b.txt"' in client.body)
        assert b'"path": "a.txt"' not in client.body
        client.go()
        await client.until(client.task.done)
        assert app.broadcast.listeners == 0

    in_loop(work)


@pytest.mark.parametrize(
    ("query", "headers", "expected"),
    [
        ("after=0", {}, "a.txt"),
        ("", {"Last-Event-ID": "0"}, "a.txt"),
        ("after=99999", {"Last-Event-ID": "0"}, "a.txt"),  # the address does not change after the page was made
        ("after=99999", {}, "event: reset"),
        ("", {"Last-Event-ID": "-1"}, "event: reset"),
        ("", {"Last-Event-ID": "٣"}, "event: reset"),
        ("", {"Last-Event-ID": "1" * 400}, "event: reset"),
        ("", {"Last-Event-ID": ""}, "event: status"),
    ],
)
def test_a_stream_resumes_where_the_client_was(app: App, query: str, headers: dict[str, str], expected: str) -> None:
    async def work() -> None:
        client = Client(create_vault_api(app), query, headers)
        await client.until(lambda: b"event: status" in client.body)
        assert expected.encode() in client.body
        assert ("reset" in expected) == (b"event: reset" in client.body)
        client.go()
        await client.task

    in_loop(work)


@pytest.mark.parametrize("after", ["-1", "x", str(2**63), "1e3"])
def test_an_impossible_place_to_resume_is_refused(app: App, after: str) -> None:
    with TestClient(create_vault_api(app), "http://localhost") as http:
        answer = http.get("/api/events", params={"after": after})
    assert answer.status_code == 422


def test_a_vault_that_is_closed_ends_its_streams(app: App) -> None:
    async def work() -> None:
        client = Client(create_vault_api(app))
        await client.until(lambda: b"event: status" in client.body)
        app.broadcast.stop()
        await client.until(client.task.done, seconds=5)
        assert client.ended
        refused = Client(create_vault_api(app))
        await refused.until(refused.task.done, seconds=5)
        assert refused.status == 503

    in_loop(work)


def test_listeners_beyond_the_limit_are_refused(app: App) -> None:
    async def work() -> None:
        listeners = [app.broadcast.listen() for _ in range(MAX_LISTENERS)]
        client = Client(create_vault_api(app))
        await client.until(client.task.done)
        assert client.status == 503
        assert b"listen to this vault already" in client.body
        for listener in listeners:
            app.broadcast.leave(listener)

    in_loop(work)


def test_sessions_and_tokens_of_one_user_are_counted_together(app: App) -> None:
    rights = (Rights(Right.READ),)
    signed_in, program = Visitor("ada", rights, 1, session_id=7), Visitor("script", rights, 1, token_id=3)
    other = Visitor("bob", rights, 2, session_id=8)

    async def work() -> None:
        listeners = [app.broadcast.listen(user=signed_in.key) for _ in range(MAX_PER_USER)]
        refused = Client(create_vault_api(app), visitor=program)
        await refused.until(refused.task.done)
        assert refused.status == 503
        assert b"you listen 20 times already" in refused.body
        welcome = Client(create_vault_api(app), visitor=other)
        await welcome.until(lambda: b"event: status" in welcome.body)
        welcome.go()
        await welcome.task
        for listener in listeners:
            app.broadcast.leave(listener)

    in_loop(work)


def test_a_stream_ends_after_a_while_so_that_rights_are_checked_again(app: App) -> None:
    async def work() -> None:
        client = Client(EventStream(app.broadcast, None, seconds=0.3))
        await client.until(client.task.done)
        assert client.ended
        assert app.broadcast.listeners == 0

    in_loop(work)
    assert events.AGE_SECONDS <= 15 * 60


def test_a_client_that_does_not_read_is_released_when_the_server_ends(app: App) -> None:
    async def work() -> None:
        async def stuck(_message: Message) -> None:
            await asyncio.Event().wait()

        async def receive() -> Message:
            await asyncio.Event().wait()
            raise AssertionError

        task = asyncio.ensure_future(EventStream(app.broadcast, None)({"type": "http"}, receive, stuck))
        await asyncio.sleep(0.3)
        app.broadcast.stop()
        async with asyncio.timeout(AMPLE):
            await task
        assert app.broadcast.listeners == 0

    in_loop(work)


def test_openapi_says_that_it_is_a_stream(app: App) -> None:
    with TestClient(create_vault_api(app), "http://localhost") as http:
        route = http.get("/openapi.json").json()["paths"]["/api/events"]["get"]
    assert list(route["responses"]["200"]["content"]) == ["text/event-stream"]
    assert {parameter["name"] for parameter in route["parameters"]} == {"after", "last-event-id"}
