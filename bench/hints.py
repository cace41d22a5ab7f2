"""What a hint costs on core NATS and on a JetStream stream in memory: python -m bench hints.

A hint says that the coordinator of a vault has work. It is repeated every two seconds while work waits, so it may be
lost. Publisher and listener are two connections of this process; the server is a process of its own, without TLS.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import nats
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy, StorageType, StreamConfig

from bench.figures import Figure, Sizes, Tell, percentile, remark
from bench.remote_machines import await_true, free_port, nats_program
from chyme.workers.wire import WIRE, pack_message, want_subject

HINTS = 10_000  # one after the other: a coordinator sends a few a second at most
AWAY = 100  # published while the listener is away
QUIET_SECONDS = 1.0  # without a message for so long, nothing more comes
STREAM = "hints"
SUBJECT = want_subject("vault")
HINT = pack_message({"kind": "want", "coordinator": "0" * 16, "wire": WIRE, "wants": ["doc-to-markdown", "image-ocr"]})
TICKS = os.sysconf("SC_CLK_TCK")

Publish = Callable[[], Awaitable[object]]


@dataclass(frozen=True)
class Kind:
    """A way to send hints."""

    name: str
    stream: StreamConfig | None  # None: core NATS


KINDS = (
    Kind("core NATS", None),
    Kind("JetStream, all kept", StreamConfig(STREAM, subjects=[SUBJECT], storage=StorageType.MEMORY)),
    Kind(
        "JetStream, last kept",
        StreamConfig(STREAM, subjects=[SUBJECT], storage=StorageType.MEMORY, max_msgs_per_subject=1),
    ),
)


class Heard:
    """Counts what a listener hears."""

    def __init__(self) -> None:
        self.count = 0
        self.at = 0.0
        self.event = asyncio.Event()

    async def take(self, message: Msg) -> None:
        self.count += 1
        self.at = time.perf_counter()
        self.event.set()

    async def wait_for(self, count: int) -> None:
        while self.count < count:
            self.event.clear()
            await asyncio.wait_for(self.event.wait(), 30)


class Server:
    """A NATS server without TLS on this machine, with JetStream or without."""

    def __init__(self, process: subprocess.Popen[bytes], url: str) -> None:
        self.url = url
        self._proc = Path(f"/proc/{process.pid}")

    def cpu_seconds(self) -> float:
        fields = (self._proc / "stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def memory_mb(self) -> float:
        lines = (self._proc / "status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) / 1024


@contextmanager
def running_server(folder: Path, jetstream: bool) -> Iterator[Server]:
    program, port = nats_program(), free_port()
    if program is None:
        raise RuntimeError("there is no nats-server beside Python or in PATH")
    log = folder / f"nats-{port}.log"
    command = [program, "-a", "127.0.0.1", "-p", str(port), "-l", os.fspath(log)]
    process = subprocess.Popen([*command, *(["-js", "-sd", os.fspath(folder / str(port))] if jetstream else [])])
    try:
        await_true(lambda: log.exists() and b"Server is ready" in log.read_bytes(), "NATS", 30)
        yield Server(process, f"nats://127.0.0.1:{port}")
    finally:
        process.terminate()
        process.wait()


@asynccontextmanager
async def listening(server: Server, kind: Kind, heard: Heard) -> AsyncIterator[None]:
    """A worker that hears hints; it has the same consumer whenever it comes back."""
    client = await nats.connect(server.url)
    if kind.stream is None:
        await client.subscribe(SUBJECT, cb=heard.take)
    else:
        how = ConsumerConfig(deliver_policy=DeliverPolicy.ALL, ack_policy=AckPolicy.EXPLICIT)
        await client.jetstream().subscribe(SUBJECT, cb=heard.take, durable="worker", stream=STREAM, config=how)
    await client.flush()
    try:
        yield
    finally:
        await client.drain()


async def _publisher(client: Client, kind: Kind) -> Publish:
    if kind.stream is None:
        return lambda: client.publish(SUBJECT, HINT)
    stream = client.jetstream()
    await stream.add_stream(kind.stream)
    return lambda: stream.publish(SUBJECT, HINT)  # waits until the server has it: otherwise it is core NATS


async def _measure_latency(publish: Publish, heard: Heard) -> list[float]:
    latencies = []
    for _ in range(HINTS):
        before, began = heard.count, time.perf_counter()
        await publish()
        await heard.wait_for(before + 1)
        latencies.append(1000 * (heard.at - began))
    return latencies


async def _count_after_absence(server: Server, kind: Kind, publish: Publish) -> int:
    """How many hints a listener gets that was away while they were published."""
    for _ in range(AWAY):
        await publish()
    heard = Heard()
    async with listening(server, kind, heard):
        await asyncio.sleep(QUIET_SECONDS)
    return heard.count


async def _measure(server: Server, kind: Kind, tell: Tell) -> None:
    client = await nats.connect(server.url)
    publish, heard = await _publisher(client, kind), Heard()
    async with listening(server, kind, heard):
        client_began, server_began = time.process_time(), server.cpu_seconds()
        latencies = await _measure_latency(publish, heard)
        client_cpu, server_cpu = time.process_time() - client_began, server.cpu_seconds() - server_began
    memory = server.memory_mb()
    late = await _count_after_absence(server, kind, publish)
    await client.close()
    how = f"{HINTS:,} hints of {len(HINT)} bytes, one after the other"
    tell(Figure(f"{kind.name}: to the listener, median", percentile(latencies, 0.5), "ms", how))
    tell(Figure(f"{kind.name}: to the listener, p99", percentile(latencies, 0.99), "ms", how))
    tell(Figure(f"{kind.name}: CPU of both clients", client_cpu, "s", f"for {HINTS:,} hints"))
    tell(Figure(f"{kind.name}: CPU of the server", server_cpu, "s", f"for {HINTS:,} hints"))
    tell(Figure(f"{kind.name}: memory of the server", memory, "MB", "resident, after them"))
    tell(Figure(f"{kind.name}: heard after absence", late, "hints", f"of {AWAY} published meanwhile"))


def measure(sizes: Sizes, folder: Path, tell: Tell) -> None:
    """Each way with a server of its own."""
    remark("on loopback, without TLS, publisher and listener in one process")
    for kind in KINDS:
        with running_server(folder, jetstream=kind.stream is not None) as server:
            asyncio.run(_measure(server, kind, tell))
