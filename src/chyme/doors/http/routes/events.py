"""The event stream: events as they happen, and the progress of the digestion. Browsers reconnect by themselves."""

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
AGE_SECONDS = 900.0  # then the stream ends, and the access of a client that reconnects is checked again
CLOSING_SECONDS = 0.5
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}  # a proxy that buffers would delay everything
BEYOND = 2**63 - 1


def add_routes(api: FastAPI, app: App) -> None:
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
        visitor_key = visitor.key if visitor is not None else None
        return EventStream(app.broadcast, _resume_point(after, last_event_id), visitor_key)


def _resume_point(after: int | None, last_event_id: str | None) -> int | None:
    """Return the event to resume after. An invalid number leads to a reset, as does an event that is forgotten."""
    if not last_event_id:
        return after
    plain = last_event_id.isascii() and last_event_id.isdecimal() and len(last_event_id) < 19
    return int(last_event_id) if plain else BEYOND


class EventStream(Response):
    """Sends the events of a listener until one side closes the connection."""

    media_type = "text/event-stream"

    def __init__(
        self, broadcast: Broadcast, after: int | None, visitor_key: str | None = None, seconds: float = AGE_SECONDS
    ) -> None:
        super().__init__(headers=HEADERS)
        del self.headers["content-length"]
        self._broadcast = broadcast
        self._listener = broadcast.listen(after, visitor_key)
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        listener = self._listener
        try:
            sending = asyncio.ensure_future(self._send_events(listener, send))
            tasks = {
                sending,
                asyncio.ensure_future(_wait_for_disconnect(receive)),
                asyncio.ensure_future(listener.ended.wait()),
            }
            try:
                await asyncio.wait(tasks, timeout=self._seconds, return_when=asyncio.FIRST_COMPLETED)
                if sending.done():
                    await sending  # it ends only with an error: the connection is gone, or was closed
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
            async with asyncio.timeout(CLOSING_SECONDS):
                await send({"type": "http.response.body", "body": b"", "more_body": False})
        except (OSError, TimeoutError):
            return  # the client is gone, or does not read any more
        finally:
            self._broadcast.leave(listener)

    async def _send_events(self, listener: Listener, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        sent_at = time.monotonic()
        while True:
            data = await listener.receive(HEARTBEAT_SECONDS)
            if data or time.monotonic() - sent_at >= HEARTBEAT_SECONDS - 1:
                await send({"type": "http.response.body", "body": data or b": still here\n\n", "more_body": True})
                sent_at = time.monotonic()


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
