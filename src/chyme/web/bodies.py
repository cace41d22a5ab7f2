"""How much somebody may send in one request: a body that is no upload is held in memory."""

from __future__ import annotations

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import Message, Receive, Scope

LARGEST = 32 * 1024 * 1024  # bytes: the longest note, even when each of its letters is escaped as \uXXXX
TOO_LARGE = f"more than {LARGEST // 1024**2} MB; send less at once, and files to /api/upload"


def told_too_large(scope: Scope) -> bool:
    """Whether the request itself says that too much is coming."""
    told = Headers(scope=scope).get("content-length", "")
    return told.isascii() and told.isdigit() and (len(told) > 18 or int(told) > LARGEST)


def counted(receive: Receive) -> Receive:
    """The same body, which ends with 413 where it goes on for too long: not every request tells its length."""
    size = 0

    async def counting() -> Message:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > LARGEST:
            raise HTTPException(413, TOO_LARGE)
        return message

    return counting
