"""Passes connections, heads of HTTP messages and bytes through the proxy in both directions."""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Coroutine
from typing import Any

HEAD_BYTES = 128 << 10
CHUNK = 64 << 10
_END = re.compile(rb"\n\r?\n")
_DROPPED = (b"connection", b"proxy-connection", b"proxy-authorization", b"keep-alive")


class BufferedConnection:
    """A connection, and the bytes that were read ahead."""

    def __init__(self, loop: asyncio.AbstractEventLoop, sock: socket.socket) -> None:
        self.sock = sock
        self._loop = loop
        self._buffered = b""

    async def head(self) -> bytes | None:
        """Return the lines before the first empty one; None if the connection ends before.

        All lines end with CRLF, even if the server ends them otherwise.
        """
        received, searched = bytearray(self._buffered), 0
        self._buffered = b""
        while (end := _END.search(received, searched)) is None:
            if len(received) > HEAD_BYTES:
                raise ValueError("too long a head")
            searched = max(0, len(received) - 2)
            data = await self._loop.sock_recv(self.sock, CHUNK)
            if not data:
                return None
            received += data
        self._buffered = bytes(received[end.end() :])
        lines = bytes(received[: end.start()]).split(b"\n")
        return b"".join(line.removesuffix(b"\r") + b"\r\n" for line in lines)

    async def receive(self) -> bytes:
        if self._buffered:
            data, self._buffered = self._buffered, b""
            return data
        return await self._loop.sock_recv(self.sock, CHUNK)

    async def send(self, data: bytes) -> None:
        await self._loop.sock_sendall(self.sock, data)


async def relay(to_server: Coroutine[Any, Any, None], to_client: Coroutine[Any, Any, None]) -> None:
    """Relay in both directions until one of them ends: Chromium hangs up when it is done, as servers do."""
    tasks = [asyncio.create_task(to_server), asyncio.create_task(to_client)]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        await cancel_all(tasks)


async def cancel_all(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def strip_hop_headers(head: bytes) -> bytes:
    """Return the lines of a head without those for a single connection, and with `Connection: close`."""
    lines = [line for line in head.split(b"\r\n") if line and line.partition(b":")[0].strip().lower() not in _DROPPED]
    return b"\r\n".join([*lines, b"Connection: close", b"", b""])
