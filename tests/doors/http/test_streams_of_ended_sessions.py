"""A stream of events ends with the access of its listener, also while there is nothing to send."""

from __future__ import annotations

import asyncio

from starlette.types import Message
from waiting import AMPLE

from chyme.doors.http.vault_router import AccessCheckedStream


def test_a_silent_stream_ends_when_the_accounts_change() -> None:
    """The application sends nothing more; only the comparison of accounts can end its stream."""
    sent: list[Message] = []
    accounts = {"allowed": True, "version": 1}

    async def never() -> Message:
        await asyncio.Event().wait()
        raise AssertionError

    async def send(message: Message) -> None:
        sent.append(message)

    async def listen() -> Message:
        stream = AccessCheckedStream(never, send, lambda: bool(accounts["allowed"]), lambda: int(accounts["version"]))
        headers = [(b"content-type", b"text/event-stream; charset=utf-8")]
        await stream.send({"type": "http.response.start", "status": 200, "headers": headers})
        await stream.send({"type": "http.response.body", "body": b": hello\n\n", "more_body": True})
        accounts.update(allowed=False, version=2)
        try:
            return await asyncio.wait_for(stream.receive(), AMPLE)
        finally:
            stream.close()

    assert asyncio.run(listen()) == {"type": "http.disconnect"}
    assert [message.get("more_body") for message in sent] == [None, True, False]
