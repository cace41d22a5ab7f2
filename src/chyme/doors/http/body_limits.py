"""How much somebody may send in one request: a body that is no upload is held in memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import Message, Receive, Scope

LARGEST = 32 * 1024 * 1024  # bytes: the longest note, even when each of its letters is escaped as \uXXXX
LARGEST_IN_ALL = 8 * LARGEST  # of all requests that are under way
TOO_LARGE = f"more than {LARGEST // 1024**2} MB; send less at once, and files to /api/upload"


def declares_too_large(scope: Scope) -> bool:
    """Whether the request itself says that too much is coming."""
    told = Headers(scope=scope).get("content-length", "")
    return told.isascii() and told.isdigit() and (len(told) > 18 or int(told) > LARGEST)


class BodyMemory:
    """Counts the bytes of all bodies that are in memory at the same time. Belongs to the event loop."""

    def __init__(self, most: int = LARGEST_IN_ALL) -> None:
        self._most = most
        self._held = 0

    @contextmanager
    def count(self, receive: Receive) -> Iterator[Receive]:
        """The same body; it ends with 413 where it goes on for too long (not every request tells its length), and with
        503 where all bodies together are too much."""
        size = 0

        async def counting() -> Message:
            nonlocal size
            message = await receive()
            length = len(message.get("body", b""))
            size += length
            self._held += length
            if size > LARGEST:
                raise HTTPException(413, TOO_LARGE)
            if self._held > self._most:
                raise HTTPException(503, "too much is being sent at once; try again shortly", {"Retry-After": "5"})
            return message

        try:
            yield counting
        finally:
            self._held -= size
