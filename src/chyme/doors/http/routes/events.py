"""Events as they happen, and how far the digestion is: one stream, which a browser opens again by itself."""

from __future__ import annotations

import asyncio
import time
from typing import Annotated

from fastapi import FastAPI, Header, Query, Request
from fastapi.responses import Response
from starlette.types import Receive, Scope, Send

from chyme.accounts.permissions import Visitor
from chyme.application.app import App
from chyme.application.event_broadcast import Broadcast, Listener

HEARTBEAT_SECONDS = 15.0
AGE_SECONDS = 900.0  # then the stream ends, and whoever opens it again is asked at the door again
CLOSING_SECONDS = 0.5
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}  # a proxy that gathers would hold everything up
BEYOND = 2**63 - 1


def add_routes(api: FastAPI, app: App) -> None:
    """Add these routes to the HTTP face of an opened vault."""

    @api.get(
        "/api/events",
        response_class=Response,
        responses={
            200: {
                "description": "Events as they happen, as in the HTML standard's section on server-sent events.",
                "content": {"text/event-stream": {"schema": {"type": "string"}}},
            },
            503: {"description": "Too many listen already, or one too often."},
        },
    )
    async def events(
        request: Request,
        after: Annotated[int | None, Query(ge=0, le=BEYOND, description="Resume after this event.")] = None,
        last_event_id: Annotated[str | None, Header(description="The same, as browsers say it; it wins.")] = None,
    ) -> Response:
        """What happens in the vault, as it happens."""
        visitor: Visitor | None = getattr(request.state, "visitor", None)
        who = visitor.key if visitor is not None else None
        return EventStream(app.broadcast, _resumed(after, last_event_id), who)


def _resumed(after: int | None, last_event_id: str | None) -> int | None:
    """After which event to go on. What is no number of ours leads to a reset, as an event does that was forgotten."""
    if not last_event_id:
        return after
    plain = last_event_id.isascii() and last_event_id.isdecimal() and len(last_event_id) < 19
    return int(last_event_id) if plain else BEYOND


class EventStream(Response):
    """Sends what a listener hears until one side goes away."""

    media_type = "text/event-stream"

    def __init__(
        self, broadcast: Broadcast, after: int | None, who: str | None = None, seconds: float = AGE_SECONDS
    ) -> None:
        super().__init__(headers=HEADERS)
        del self.headers["content-length"]
        self._broadcast = broadcast
        self._listener = broadcast.listen(after, who)
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        listener = self._listener
        try:
            telling = asyncio.ensure_future(self._tell(listener, send))
            tasks = {telling, asyncio.ensure_future(_gone(receive)), asyncio.ensure_future(listener.over.wait())}
            try:
                await asyncio.wait(tasks, timeout=self._seconds, return_when=asyncio.FIRST_COMPLETED)
                if telling.done():
                    await telling  # it never ends by itself: the way out is gone, or was closed
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
            async with asyncio.timeout(CLOSING_SECONDS):
                await send({"type": "http.response.body", "body": b"", "more_body": False})
        except (OSError, TimeoutError):
            return  # the other side has gone, or does not listen any more
        finally:
            self._broadcast.leave(listener)

    async def _tell(self, listener: Listener, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        sent = time.monotonic()
        while True:
            heard = await listener.receive(HEARTBEAT_SECONDS)
            if heard or time.monotonic() - sent >= HEARTBEAT_SECONDS - 1:
                await send({"type": "http.response.body", "body": heard or b": still here\n\n", "more_body": True})
                sent = time.monotonic()


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
