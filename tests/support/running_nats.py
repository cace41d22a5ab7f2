"""A real NATS server on loopback with the configuration of a cluster, and clients with its credentials."""

from __future__ import annotations

import asyncio
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nats
from loopback_nats import nats_program
from nats.aio.client import Client
from nats.aio.msg import Msg
from waiting import AMPLE, wait_until

from chyme.workers.credentials import Credentials
from chyme.workers.names import inbox_of


@contextmanager
def run_nats(config: Path, port: int) -> Iterator[subprocess.Popen[bytes]]:
    """Run a server until the end of the block. It accepts connections from the beginning."""
    log = config.with_name("nats.log")
    with log.open("ab") as out, subprocess.Popen([nats_program(), "-c", config], stdout=out, stderr=out) as process:
        try:

            def listens() -> bool:
                assert process.poll() is None, log.read_text()
                with socket.socket() as client:
                    return client.connect_ex(("127.0.0.1", port)) == 0

            wait_until(listens)
            yield process
        finally:
            process.kill()


@dataclass
class Connected:
    """A client, the violations it was told about, and whether the server has ended its connection."""

    client: Client
    credentials: Credentials
    context: Any
    errors: list[str] = field(default_factory=list)
    disconnected: asyncio.Event = field(default_factory=asyncio.Event)
    reconnected: asyncio.Event = field(default_factory=asyncio.Event)

    async def settle(self) -> None:
        """Wait until the server has read all that was sent, and its objections have arrived.

        nats-py sends the ping of a flush before what is pending, so only the second one comes after it.
        """
        await self.client.flush()
        await self.client.flush()

    async def may_publish(self, subject: str, *, reply: str = "") -> bool:
        before = len(self.errors)
        await self.client.publish(subject, b"", reply=reply)
        await self.settle()
        return len(self.errors) == before

    async def may_subscribe(self, subject: str) -> bool:
        before = len(self.errors)
        await self.client.subscribe(subject)
        await self.settle()
        return len(self.errors) == before

    async def hear(self, subject: str) -> asyncio.Queue[Msg]:
        """Subscribe; the queue gets what arrives."""
        heard: asyncio.Queue[Msg] = asyncio.Queue()
        await self.client.subscribe(subject, cb=heard.put)
        await self.settle()
        return heard


async def connect(path: Path, port: int, *, host: str = "127.0.0.1", **options: Any) -> Connected:
    """Connect with the credentials of someone, as coordinators and workers do."""
    credentials = Credentials.read(path)
    connected = Connected(Client(), credentials, credentials.ssl_context())

    async def note_error(error: Exception) -> None:
        connected.errors.append(str(error))

    async def note_end() -> None:
        connected.disconnected.set()

    async def note_return() -> None:
        connected.reconnected.set()

    await connected.client.connect(
        f"tls://{host}:{port}",
        tls=connected.context,
        tls_handshake_first=True,
        inbox_prefix=inbox_of(credentials.name).encode(),
        error_cb=note_error,
        disconnected_cb=note_end,
        reconnected_cb=note_return,
        **({"allow_reconnect": False, "connect_timeout": AMPLE} | options),
    )
    return connected


async def is_refused(path: Path, port: int) -> bool:
    """Say whether the server does not let someone in."""
    try:
        connected = await connect(path, port)
    except (nats.errors.Error, OSError):
        return True
    await connected.client.close()
    return False
