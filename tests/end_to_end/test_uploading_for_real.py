"""Uploads to the real server."""

from __future__ import annotations

import hashlib
import re
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from running_chyme import RunningChyme, Server, wait_until

pytestmark = pytest.mark.slow

MB = 1024 * 1024


def memory_of(pid: int) -> int:
    """The most memory a process ever had, in bytes."""
    peak = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    assert peak is not None
    return int(peak[1]) * 1024


def body(name: str, pieces: Iterator[bytes]) -> Iterator[bytes]:
    yield f'--abc\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'.encode()
    yield from pieces
    yield b"\r\n--abc--\r\n"


def send(server: Server, name: str, pieces: Iterator[bytes]) -> Any:
    headers = {"Content-Type": "multipart/form-data; boundary=abc"}
    with httpx.Client(base_url=server.http.base_url, timeout=300, trust_env=False) as client:
        return client.post("/api/upload", content=body(name, pieces), headers=headers)


def left_behind(chyme: RunningChyme) -> list[str]:
    folder = chyme.vault / ".chyme/incoming"
    return [path.name for path in folder.rglob("*")] if folder.is_dir() else []


@contextmanager
def half_sent(server: Server) -> Iterator[None]:
    """A connection that sends four of the hundred megabytes of an upload, and then nothing."""
    host, port = server.http.base_url.host, server.http.base_url.port
    head = (
        f"POST /api/upload HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Type: multipart/form-data; boundary=abc\r\n"
        "Content-Length: 100000000\r\n\r\n"
    ).encode()
    with socket.create_connection((host, port)) as connection:
        connection.sendall(head + b"".join(body("a.txt", iter([b"x" * 5 * MB])))[: 4 * MB])
        yield


def test_a_large_upload_takes_no_memory_and_other_requests_are_answered(chyme: RunningChyme) -> None:
    server = chyme.serve()
    assert send(server, "small.bin", iter([b"x"])).status_code == 201
    before = memory_of(server.process.pid)
    piece = bytes(range(256)) * 4096
    answered = 0
    ended = threading.Event()

    def ask() -> None:
        nonlocal answered
        while not ended.is_set():
            assert server.http.get("/healthz").status_code == 200
            answered += 1
            time.sleep(0.02)

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        answer = send(server, "large.bin", (piece for _ in range(300)))
        meanwhile = answered
    finally:
        ended.set()
        asking.join()
    assert answer.status_code == 201
    assert answer.json()["files"][0]["size"] == 300 * MB
    with (chyme.vault / "large.bin").open("rb") as stream:
        assert hashlib.file_digest(stream, "sha256").digest() == hashlib.sha256(piece * 300).digest()
    assert memory_of(server.process.pid) - before < 100 * MB
    assert meanwhile >= 3
    assert left_behind(chyme) == []
    assert server.end(signal.SIGTERM) == 0


def test_twenty_uploads_at_once_are_stored_and_digested(chyme: RunningChyme) -> None:
    server = chyme.serve()
    codes: list[int] = []

    def upload(number: int) -> None:
        codes.append(send(server, "same.txt", iter([f"note {number}".encode()])).status_code)

    threads = [threading.Thread(target=upload, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert codes == [201] * 20
    assert sorted(path.read_text() for path in chyme.vault.glob("*.txt")) == sorted(f"note {n}" for n in range(20))
    wait_until(lambda: server.http.get("/api/status").json()["files"] == 20)
    assert left_behind(chyme) == []
    assert server.end(signal.SIGTERM) == 0


def test_a_client_that_hangs_up_leaves_nothing_and_a_slow_client_is_waited_for(chyme: RunningChyme) -> None:
    server = chyme.serve()
    with half_sent(server):
        wait_until(lambda: left_behind(chyme))
    wait_until(lambda: not left_behind(chyme))

    def slowly() -> Iterator[bytes]:
        for _ in range(5):
            time.sleep(0.2)
            yield b"drop "

    assert send(server, "slow.txt", slowly()).status_code == 201
    assert sorted(path.name for path in chyme.vault.iterdir()) == [".chyme", "slow.txt"]
    assert server.end(signal.SIGTERM) == 0


def test_partial_uploads_of_a_killed_server_are_gone_at_the_next_start(chyme: RunningChyme) -> None:
    server = chyme.serve()
    with half_sent(server):
        wait_until(lambda: left_behind(chyme))
        server.end(signal.SIGKILL)
    assert left_behind(chyme)
    server = chyme.serve()
    wait_until(lambda: not left_behind(chyme))
    assert server.end(signal.SIGTERM) == 0
    assert [path.name for path in chyme.vault.iterdir()] == [".chyme"]
