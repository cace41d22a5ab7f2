"""Transport for every model call: it asks for permission, meters the call, and stores the reply before it is used."""

from __future__ import annotations

import asyncio
import hashlib
import time
from dataclasses import replace

import httpx2

from chyme.digester import Calls
from chyme.model import CallEnd, Question, Reply, Ticket
from chyme.models.providers.endpoints import Endpoint
from chyme.models.providers.http_transport import OriginTransport
from chyme.models.providers.service_call import ANSWERED, BROKEN, CANCELLED, REFUSED, UNREACHABLE
from chyme.models.providers.usage import parse_reply, usage_of

_FRAMING = frozenset({"content-length", "transfer-encoding", "connection", "content-encoding"})


class MeteredTransport(httpx2.AsyncBaseTransport):
    """Asks the ledger before each request whether it may be made, and reports afterwards how it ended."""

    def __init__(self, endpoint: Endpoint, calls: Calls) -> None:
        self._endpoint = endpoint
        self._calls = calls
        self._limit: asyncio.Timeout | None = None
        self._transport = OriginTransport(endpoint)
        self.identity: bytes | None = (
            None  # hashed in place of the request, if that is too large or never twice the same
        )
        self.ended: CallEnd | None = None  # how the last call ended that was really made
        self.stopped: Exception | None = None  # why no further call may be made; not the provider's fault

    def limit_time(self, seconds: float) -> asyncio.Timeout:
        """Limit the time of all calls made within; waiting for permission and between calls does not count."""
        self._limit = asyncio.timeout(seconds)
        return self._limit

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if self.stopped is not None:
            raise httpx2.ConnectError("no further call may be made", request=request)
        permission = await self._ask_permission(request)
        if isinstance(permission, Reply):
            return httpx2.Response(
                permission.status,
                headers={"content-type": permission.media_type},
                content=permission.body,
                request=request,
            )
        return await self._send(request, permission)

    async def aclose(self) -> None:
        await self._transport.aclose()

    async def _ask_permission(self, request: httpx2.Request) -> Ticket | Reply:
        """Permission to send this, once its time has come; or the stored reply of an earlier call."""
        body = await request.aread() if self.identity is None else self.identity
        endpoint = self._endpoint
        host = "" if endpoint.own else endpoint.host  # a local model is at another port every time
        head = "\0".join((request.method, host, endpoint.model, "")).encode() + request.url.raw_path + b"\0"
        question = Question(
            endpoint.prefix, endpoint.host, endpoint.model, hashlib.sha256(head + body).hexdigest(), endpoint.own
        )
        remaining = self._pause_clock()
        try:
            permission = self._calls.begin(question)
            if isinstance(permission, Ticket) and permission.wait > 0:
                try:
                    await asyncio.sleep(permission.wait)
                except BaseException:
                    self._record_end(permission, CallEnd(UNREACHABLE, 0.0))
                    raise
        except Exception as error:
            self.stopped = error
            raise httpx2.ConnectError("the call may not be made", request=request) from error
        self._resume_clock(remaining)
        return permission

    def _pause_clock(self) -> float | None:
        """Stop the clock. Returns the remaining seconds."""
        until = self._limit.when() if self._limit else None
        if self._limit is None or until is None:
            return None
        self._limit.reschedule(None)
        return until - asyncio.get_running_loop().time()

    def _resume_clock(self, remaining: float | None) -> None:
        if self._limit is not None and remaining is not None:
            self._limit.reschedule(asyncio.get_running_loop().time() + remaining)

    async def _send(self, request: httpx2.Request, ticket: Ticket) -> httpx2.Response:
        began = time.monotonic()
        end = CallEnd(BROKEN, 0.0)
        try:
            response = await self._transport.handle_async_request(request)
            status = response.status_code
            end = CallEnd(BROKEN, 0.0, status=status)
            body = await response.aread()
            payload = parse_reply(body) if response.is_success else None
            if payload is not None:
                reply = Reply(status, response.headers.get("content-type", ""), body)
                end = CallEnd(ANSWERED, 0.0, reply, status, *usage_of(self._endpoint, payload))
            else:
                end = CallEnd(REFUSED, 0.0, status=status)
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout):
            end = CallEnd(UNREACHABLE, 0.0)
            raise
        except asyncio.CancelledError:
            end = CallEnd(CANCELLED, 0.0, status=end.status)
            raise
        finally:
            self._record_end(ticket, end, time.monotonic() - began, request)
        headers = [(name, value) for name, value in response.headers.multi_items() if name.lower() not in _FRAMING]
        return httpx2.Response(status, headers=headers, content=body, request=request)

    def _record_end(
        self, ticket: Ticket, end: CallEnd, seconds: float = 0.0, request: httpx2.Request | None = None
    ) -> None:
        self.ended = replace(end, seconds=seconds)
        try:
            self._calls.end(ticket, self.ended)
        except Exception as error:
            self.stopped = error
            raise httpx2.ReadError("the call's end could not be recorded", request=request) from error
