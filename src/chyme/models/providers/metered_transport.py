"""Every call of a model passes here: asked for, paid for, and its reply on disk before anybody uses it."""

from __future__ import annotations

import asyncio
import hashlib
import time
from dataclasses import replace

import httpx2

from chyme.digester import Calls
from chyme.model import CallEnd, Question, Reply, Ticket
from chyme.models.providers.endpoints import Endpoint
from chyme.models.providers.health_reports import ANSWERED, BROKEN, CANCELLED, REFUSED, UNREACHABLE
from chyme.models.providers.http_transport import OriginTransport
from chyme.models.providers.usage import parse_reply, usage_of

_FRAMING = frozenset({"content-length", "transfer-encoding", "connection", "content-encoding"})


class MeteredTransport(httpx2.AsyncBaseTransport):
    """A door that asks before each request whether it may be made, and tells afterwards how it ended."""

    def __init__(self, endpoint: Endpoint, calls: Calls) -> None:
        self._endpoint = endpoint
        self._calls = calls
        self._limit: asyncio.Timeout | None = None
        self._door = OriginTransport(endpoint)
        self.told: bytes | None = None  # stands for what is sent, where that is too large or never twice the same
        self.ended: CallEnd | None = None  # how the last call ended that was really made
        self.stopped: Exception | None = None  # why no further call may be made: not the provider's fault

    def limit_time(self, seconds: float) -> asyncio.Timeout:
        """All that is asked in here takes no longer; waiting for leave, and between calls, is not counted."""
        self._limit = asyncio.timeout(seconds)
        return self._limit

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if self.stopped is not None:
            raise httpx2.ConnectError("no further call may be made", request=request)
        leave = await self._leave(request)
        if isinstance(leave, Reply):
            return httpx2.Response(
                leave.status, headers={"content-type": leave.media_type}, content=leave.body, request=request
            )
        return await self._sent(request, leave)

    async def aclose(self) -> None:
        await self._door.aclose()

    async def _leave(self, request: httpx2.Request) -> Ticket | Reply:
        """Leave to send this, once the time has come; or the reply of a call that was made before."""
        told = await request.aread() if self.told is None else self.told
        there = self._endpoint
        place = "" if there.own else there.host  # a model of our own is at another port every time
        head = "\0".join((request.method, place, there.model, "")).encode() + request.url.raw_path + b"\0"
        question = Question(there.prefix, there.host, there.model, hashlib.sha256(head + told).hexdigest(), there.own)
        paused = self._paused()
        try:
            leave = self._calls.begin(question)
            if isinstance(leave, Ticket) and leave.wait > 0:
                try:
                    await asyncio.sleep(leave.wait)
                except BaseException:
                    self._end(leave, CallEnd(UNREACHABLE, 0.0))
                    raise
        except Exception as error:
            self.stopped = error
            raise httpx2.ConnectError("the call may not be made", request=request) from error
        self._resumed(paused)
        return leave

    def _paused(self) -> float | None:
        """Stop the clock. Returns the seconds that are left."""
        until = self._limit.when() if self._limit else None
        if self._limit is None or until is None:
            return None
        self._limit.reschedule(None)
        return until - asyncio.get_running_loop().time()

    def _resumed(self, left: float | None) -> None:
        if self._limit is not None and left is not None:
            self._limit.reschedule(asyncio.get_running_loop().time() + left)

    async def _sent(self, request: httpx2.Request, ticket: Ticket) -> httpx2.Response:
        began = time.monotonic()
        end = CallEnd(BROKEN, 0.0)
        try:
            response = await self._door.handle_async_request(request)
            status = response.status_code
            end = CallEnd(BROKEN, 0.0, status=status)
            body = await response.aread()
            told = parse_reply(body) if response.is_success else None
            if told is not None:
                reply = Reply(status, response.headers.get("content-type", ""), body)
                end = CallEnd(ANSWERED, 0.0, reply, status, *usage_of(self._endpoint, told))
            else:
                end = CallEnd(REFUSED, 0.0, status=status)
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout):
            end = CallEnd(UNREACHABLE, 0.0)
            raise
        except asyncio.CancelledError:
            end = CallEnd(CANCELLED, 0.0, status=end.status)
            raise
        finally:
            self._end(ticket, end, time.monotonic() - began, request)
        headers = [(name, value) for name, value in response.headers.multi_items() if name.lower() not in _FRAMING]
        return httpx2.Response(status, headers=headers, content=body, request=request)

    def _end(self, ticket: Ticket, end: CallEnd, seconds: float = 0.0, request: httpx2.Request | None = None) -> None:
        self.ended = replace(end, seconds=seconds)
        try:
            self._calls.end(ticket, self.ended)
        except Exception as error:
            self.stopped = error
            raise httpx2.ReadError("the call's end could not be kept", request=request) from error
