"""Fifty who listen to a vault while it is digested: what they cost, and how soon they hear."""

from __future__ import annotations

import contextlib
import json
import selectors
import socket
import threading
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from bench.figures import Figure, Sizes, Tell, percentile, remark
from bench.notes import Notes
from bench.serving import Served, served

CLIENTS = 50
MB = 1e6
LOOK_SECONDS = 0.5
ROUNDS = 2  # each way, in turns: the machine is shared
MOST_NOTES = 400  # more of them say the same and take an hour


class Crowd:
    """Clients that do nothing but listen, all in one thread, so that they hardly take time from the server."""

    def __init__(self, port: int, count: int) -> None:
        self._selector = selectors.DefaultSelector()
        self._stop = threading.Event()
        self.bytes = [0] * count
        self.resets = 0
        self.delays: list[float] = []  # of the first client, from the event's own moment
        self._rest = b""
        self._sockets = [self._connect(port, number) for number in range(count)]
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _connect(self, port: int, number: int) -> socket.socket:
        client = socket.create_connection(("127.0.0.1", port))
        client.sendall(b"GET /api/events HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n\r\n")
        self._selector.register(client, selectors.EVENT_READ, number)
        return client

    def _listen(self) -> None:
        while not self._stop.is_set():
            for key, _ in self._selector.select(0.2):
                client = key.fileobj
                assert isinstance(client, socket.socket)
                told = client.recv(1 << 18)
                if not told:
                    self._selector.unregister(client)
                    continue
                self.bytes[key.data] += len(told)
                self.resets += told.count(b"event: reset")
                if key.data == 0:
                    self._time(told)

    def _time(self, told: bytes) -> None:
        moment = time.time()
        *lines, self._rest = (self._rest + told).split(b"\n")
        for line in lines:
            if line.startswith(b'data: {"at"'):
                with contextlib.suppress(ValueError):  # cut in two by the transfer's own chunks
                    at = json.loads(line[6:])["at"].replace("Z", "+00:00")
                    self.delays.append(moment - datetime.fromisoformat(at).timestamp())

    def close(self) -> None:
        self._stop.set()
        self._thread.join()
        for client in self._sockets:
            client.close()
        self._selector.close()


@contextlib.contextmanager
def crowd(server: Served, count: int) -> Iterator[Crowd | None]:
    """So many clients, or nobody."""
    if not count:
        yield None
        return
    clients = Crowd(server.port, count)
    try:
        yield clients
    finally:
        clients.close()


def measure(sizes: Sizes, folder: Path, tell: Tell) -> None:
    """Digest the same notes with nobody and with everybody listening, in turns."""
    alone, watched, used, delays, private = [], [], [], [], []
    notes, size = Notes(), min(sizes.notes, MOST_NOTES)
    for turn in range(ROUNDS):
        for count in (0, CLIENTS):
            vault = folder / f"{turn}-{count}"
            notes.write(vault, size)
            with served(vault) as server, crowd(server, count) as clients:
                cpu, most = _digested(server, size)
                wall = time.perf_counter() - server.began
                if clients is None:
                    alone.append((wall, cpu))
                    remark(f"nobody listens: {wall:.1f} s, {cpu:.1f} s CPU, {most / MB:.0f} MB")
                else:
                    time.sleep(1)
                    watched.append((wall, cpu))
                    delays += clients.delays
                    used.append(sum(clients.bytes))
                    private.append(most)
                    remark(
                        f"{count} listen: {wall:.1f} s, {cpu:.1f} s CPU, {most / MB:.0f} MB; "
                        f"{sum(clients.bytes) / MB:.0f} MB told, {clients.resets} resets"
                    )
    fastest, slowest = min(wall for wall, _ in alone), min(wall for wall, _ in watched)
    how = f"{size} notes, {CLIENTS} clients against none, wall, best of {ROUNDS}"
    tell(Figure("digestion while fifty listen", slowest / fastest, "×", how, at_most=1.15))
    cpu = min(cpu for _, cpu in watched) / min(cpu for _, cpu in alone)
    tell(Figure("CPU while fifty listen", cpu, "×", "server and children", at_most=1.25))
    tell(Figure("delay of an event, median", percentile(delays, 0.5), "s", f"of {len(delays)}, from its own moment"))
    tell(
        Figure(
            "delay of an event, p95",
            percentile(delays, 0.95),
            "s",
            "gathered for 0.3 s while fifty listen",
            at_most=0.5,
        )
    )
    tell(Figure("private memory of the server", max(private) / MB, "MB", "most of all looks", at_most=209.7))


def _digested(server: Served, notes: int) -> tuple[float, int]:
    """Wait for the end of the digestion; its CPU, and the most private memory of the server meanwhile."""
    most = 0
    while int(server.ask("/api/status")["files"]) < notes or server.left():
        most = max(most, server.private)
        time.sleep(LOOK_SECONDS)
    return server.cpu, most
