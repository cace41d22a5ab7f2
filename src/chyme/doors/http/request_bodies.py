"""Reads and limits request bodies. The limits of uploads are elsewhere: vault.intake.upload_limits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import parse_qs

from fastapi import Request
from pydantic import BaseModel, ConfigDict
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LARGEST = 32 * 1024 * 1024  # bytes: fits the longest note, even when each of its letters is escaped as \uXXXX
LARGEST_IN_ALL = 8 * LARGEST  # bytes of all current requests together
TOO_LARGE = f"more than {LARGEST // 1024**2} MB; send less at once, and files to /api/upload"
LARGEST_FORM = 16 * 1024  # bytes; a form may come from a client that has not signed in
MAX_FIELDS = 50  # of a form


class RequestBody(BaseModel):
    """JSON that a client sends; unknown fields are an error."""

    model_config = ConfigDict(extra="forbid")


def declares_too_large(scope: Scope) -> bool:
    """Whether the request's own Content-Length is above the limit."""
    length = Headers(scope=scope).get("content-length", "")
    return length.isascii() and length.isdigit() and (len(length) > 18 or int(length) > LARGEST)


class BodyMemory:
    """Counts the bytes of all bodies that are in memory at the same time. Belongs to the event loop."""

    def __init__(self, max_bytes: int = LARGEST_IN_ALL) -> None:
        self._max_bytes = max_bytes
        self._bytes_in_memory = 0

    @contextmanager
    def count(self, receive: Receive) -> Iterator[Receive]:
        """Yield a `receive` that counts the body.

        It raises 413 when the body is too long (not every request has a Content-Length), and 503 when all bodies
        together are too large.
        """
        size = 0

        async def receive_counted() -> Message:
            nonlocal size
            message = await receive()
            length = len(message.get("body", b""))
            size += length
            self._bytes_in_memory += length
            if size > LARGEST:
                raise HTTPException(413, TOO_LARGE)
            if self._bytes_in_memory > self._max_bytes:
                raise HTTPException(503, "too much is being sent at once; try again shortly", {"Retry-After": "5"})
            return message

        try:
            yield receive_counted
        finally:
            self._bytes_in_memory -= size


class SmallBodies:
    """Limits the bodies of routes outside of vaults: they may come from clients that have not signed in."""

    def __init__(self, app: ASGIApp, prefixes: tuple[str, ...]) -> None:
        self._app = app
        self._prefixes = prefixes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].startswith(self._prefixes):
            await self._app(scope, _limited(receive), send)
        else:
            await self._app(scope, receive, send)


def _limited(receive: Receive) -> Receive:
    size = 0

    async def receive_limited() -> Message:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > LARGEST_FORM:
            raise HTTPException(413, "this is more than any request here holds")
        return message

    return receive_limited


async def form_of(request: Request, max_fields: int = MAX_FIELDS) -> dict[str, str]:
    """Return the fields of a form; of several with one name, the last."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise HTTPException(415, "send the form as a browser does: application/x-www-form-urlencoded")
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > LARGEST_FORM:
            raise HTTPException(413, "this is more than any form here holds")
    try:
        fields = parse_qs(body.decode("utf-8"), keep_blank_values=True, max_num_fields=max_fields)
    except (UnicodeDecodeError, ValueError) as error:
        raise HTTPException(400, "this is no form") from error
    return {name: values[-1] for name, values in fields.items()}
