"""A running `chyme serve`, and questions to it."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import time
import urllib.parse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.commands import CHYME, ROOT
from bench.processes import family_of, private_bytes, used_by

START_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Served:
    """One server and how long it took until it answered."""

    pid: int
    port: int
    began: float
    healthy_after: float

    def ask(self, path: str) -> dict[str, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            return _answer(connection, path)
        finally:
            connection.close()

    def search(self, question: str) -> dict[str, Any]:
        return self.ask("/api/search?q=" + urllib.parse.quote(question))

    def timed(self, questions: list[str]) -> list[float]:
        """Milliseconds of each question, over one connection."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        spent = []
        try:
            for question in questions:
                began = time.perf_counter()
                _answer(connection, "/api/search?q=" + urllib.parse.quote(question))
                spent.append(1000 * (time.perf_counter() - began))
        finally:
            connection.close()
        return spent

    def left(self) -> int:
        """Digests that are not done yet."""
        counts = self.ask("/api/status")["digests"]
        return int(counts["todo"]) + int(counts["in-progress"])

    @property
    def cpu(self) -> float:
        """CPU of the server and of all children it has or had."""
        own = used_by(self.pid)
        assert own is not None
        return own.cpu + own.buried + sum(child.cpu for child in family_of(self.pid))

    @property
    def private(self) -> int:
        return private_bytes(self.pid)


def _answer(connection: http.client.HTTPConnection, path: str) -> dict[str, Any]:
    connection.request("GET", path)
    answer = connection.getresponse()
    body = answer.read()
    if answer.status != 200:
        raise RuntimeError(f"{path}: {answer.status} {body[:200]!r}")
    told: dict[str, Any] = json.loads(body)
    return told


@contextlib.contextmanager
def served(vault: Path) -> Iterator[Served]:
    """`chyme serve` on a free port, ended as Ctrl-C would."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    began = time.perf_counter()
    process = subprocess.Popen(
        (*CHYME, "serve", str(vault), "--port", str(port)),
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    try:
        yield Served(process.pid, port, began, _healthy(process, port, began))
    finally:
        if process.poll() is None:
            os.kill(process.pid, signal.SIGINT)
        process.wait(60)


def _healthy(process: subprocess.Popen[bytes], port: int, began: float) -> float:
    while time.perf_counter() - began < START_SECONDS:
        if process.poll() is not None:
            raise RuntimeError(f"chyme serve ended with {process.returncode}")
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        try:
            _answer(connection, "/healthz")
            return time.perf_counter() - began
        except (ConnectionError, OSError):
            time.sleep(0.005)
        finally:
            connection.close()
    raise RuntimeError("chyme serve did not answer")
