"""Transport for model calls whose reply is read while it arrives: permitted and metered as every other call is."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable

import httpx2

from chyme.model import CallEnd, Ticket
from chyme.models.providers.metered_transport import MeteredTransport
from chyme.models.providers.service_call import ANSWERED, BROKEN, CANCELLED, REFUSED, UNREACHABLE
from chyme.models.providers.usage import parse_event_stream, parse_reply, usage_of

EVENTS = "text/event-stream"


class StreamingTransport(MeteredTransport):
    """Passes the events of a reply on as they arrive, and records the call's end when the stream ends."""

    async def _send(self, request: httpx2.Request, ticket: Ticket) -> httpx2.Response:
        began = time.monotonic()
        end = CallEnd(BROKEN, 0.0)
        streaming = False
        try:
            response = await self._transport.handle_async_request(request)
            status = response.status_code
            end = CallEnd(BROKEN, 0.0, status=status)
            assert isinstance(response.stream, httpx2.AsyncByteStream)
            streaming = response.is_success and response.headers.get("content-type", "").startswith(EVENTS)
            if not streaming:
                await response.aread()
                end = CallEnd(REFUSED, 0.0, status=status)
                if response.is_success and (payload := parse_reply(response.content)) is not None:
                    end = CallEnd(ANSWERED, 0.0, None, status, *usage_of(self._endpoint, payload))
                return response
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout):
            end = CallEnd(UNREACHABLE, 0.0)
            raise
        except asyncio.CancelledError:
            end = CallEnd(CANCELLED, 0.0, status=end.status)
            raise
        finally:
            if not streaming:
                self._record_end(ticket, end, time.monotonic() - began, request)

        def record(outcome: str, body: bytes) -> None:
            payload = parse_event_stream(body)
            usage = usage_of(self._endpoint, payload) if payload is not None else (None, None, None)
            if outcome == ANSWERED and payload is None:
                outcome = REFUSED
            ended = CallEnd(outcome, 0.0, None, status, *usage)
            self._record_end(ticket, ended, time.monotonic() - began, request)

        response.stream = _MeteredStream(response.stream, record)
        return response


class _MeteredStream(httpx2.AsyncByteStream):
    """Reports once how the stream ended, with the bytes that arrived."""

    def __init__(self, inner: httpx2.AsyncByteStream, record: Callable[[str, bytes], None]) -> None:
        self._inner = inner
        self._record = record
        self._received = bytearray()
        self._outcome = ANSWERED  # also when the reader has read enough
        self._recorded = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._inner:
                self._received += chunk  # bounded by the transport below
                yield chunk
        except (asyncio.CancelledError, GeneratorExit):
            self._outcome = CANCELLED
            raise
        except BaseException:
            self._outcome = BROKEN
            raise

    async def aclose(self) -> None:
        try:
            await self._inner.aclose()
        finally:
            if not self._recorded:
                self._recorded = True
                self._record(self._outcome, bytes(self._received))
