"""What passes through the proxy: connections, the heads of HTTP messages, and bytes in both directions."""

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
    """A connection, and what of it was read too far."""

    def __init__(self, loop: asyncio.AbstractEventLoop, sock: socket.socket) -> None:
        self.sock = sock
        self._loop = loop
        self._ahead = b""

    async def head(self) -> bytes | None:
        """The lines up to the first empty one, which is left out; None when it ends before.

        All end alike, also those of servers that end them in their own way.
        """
        found, seen = bytearray(self._ahead), 0
        self._ahead = b""
        while (end := _END.search(found, seen)) is None:
            if len(found) > HEAD_BYTES:
                raise ValueError("too long a head")
            seen = max(0, len(found) - 2)
            data = await self._loop.sock_recv(self.sock, CHUNK)
            if not data:
                return None
            found += data
        self._ahead = bytes(found[end.end() :])
        lines = bytes(found[: end.start()]).split(b"\n")
        return b"".join(line.removesuffix(b"\r") + b"\r\n" for line in lines)

    async def receive(self) -> bytes:
        if self._ahead:
            data, self._ahead = self._ahead, b""
            return data
        return await self._loop.sock_recv(self.sock, CHUNK)

    async def send(self, data: bytes) -> None:
        await self._loop.sock_sendall(self.sock, data)


async def relay(to_server: Coroutine[Any, Any, None], to_client: Coroutine[Any, Any, None]) -> None:
    """Both directions, until one of them ends: Chromium hangs up when it has done, as servers do."""
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
    """The lines of a head without those that hold for one connection alone, and with the word that it is the last."""
    lines = [line for line in head.split(b"\r\n") if line and line.partition(b":")[0].strip().lower() not in _DROPPED]
    return b"\r\n".join([*lines, b"Connection: close", b"", b""])
