"""Thousands of connections that never finish a request do not block a real server."""

from __future__ import annotations

import resource
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest
from running_chyme import RunningChyme, Server, wait_until

pytestmark = pytest.mark.slow

SOCKETS = 1100
USUAL_DESCRIPTORS = 1024  # the soft limit of most systems
HALF = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-a: b\r\n"


@contextmanager
def descriptors(soft: int) -> Iterator[None]:
    """Set the soft limit of this process and of the processes it starts."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def connect(server: Server, address: str) -> socket.socket:
    host, port = server.http.base_url.host, server.http.base_url.port
    assert port is not None
    return socket.create_connection((host, port), timeout=60, source_address=(address, 0))


def first_line(client: socket.socket) -> bytes:
    with client.makefile("rb") as response:
        return response.readline().strip()


def ask(server: Server, address: str, path: str) -> bytes:
    """The status line of the response to a request that comes from this address."""
    with connect(server, address) as client:
        host = f"{server.http.base_url.host}:{server.http.base_url.port}"
        client.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
        return first_line(client)


@pytest.mark.parametrize("sent", [HALF, b""], ids=["half a head", "nothing"])
def test_half_sent_requests_block_no_other_client_and_cost_one_log_line(chyme: RunningChyme, sent: bytes) -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard != resource.RLIM_INFINITY and hard < 2 * SOCKETS:
        pytest.skip(f"needs {2 * SOCKETS} open files, and this system permits {hard}")
    chyme.drop("note.md", "hello contract\n")
    with descriptors(USUAL_DESCRIPTORS):
        server = chyme.serve()
    with ExitStack() as stack, descriptors(2 * SOCKETS):
        for _ in range(SOCKETS):
            client = stack.enter_context(connect(server, "127.0.0.2"))
            client.sendall(sent)
        for address in ("127.0.0.1", "127.0.0.2"):
            for path in ("/healthz", "/", "/api/search?q=contract"):
                assert ask(server, address, path) == b"HTTP/1.1 200 OK"
        metrics = server.http.get("/metrics").text
        current = next(line for line in metrics.splitlines() if line.startswith("chyme_http_connections "))
        assert 2 < float(current.split()[1]) <= 502  # half of 1000, plus the connections of the test
    server.http.close()
    wait_until(lambda: "connections:" in chyme.said(server.process), seconds=60)
    lines = [line for line in chyme.said(server.process).splitlines() if "WARNING" in line or "ERROR" in line]
    assert len(lines) == 1
    assert "closed to make room for newer ones; most from 127.0.0.2" in lines[0]
    assert "Traceback" not in chyme.said(server.process)


def test_requests_whose_head_or_body_does_not_arrive_are_dropped(chyme: RunningChyme) -> None:
    chyme.settings |= {"CHYME_HEAD_SECONDS": "1", "CHYME_STALL_SECONDS": "2"}
    server = chyme.serve()
    body = b"POST /api/notes HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 5000\r\n\r\n{"
    for sent in (HALF, body):
        with connect(server, "127.0.0.1") as client:
            client.sendall(sent)
            assert first_line(client) == b"HTTP/1.1 408 Request Timeout"
    closed = server.http.get("/metrics").text
    server.http.close()
    assert 'chyme_http_connections_closed_total{reason="head_timeout"} 1.0\n' in closed
    assert 'chyme_http_connections_closed_total{reason="body_timeout"} 1.0\n' in closed


@pytest.mark.parametrize("setting", ["CONNECTIONS", "CONNECTIONS_PER_ADDRESS", "HEAD_SECONDS", "STALL_SECONDS"])
def test_nonsensical_limits_are_refused(chyme: RunningChyme, setting: str) -> None:
    chyme.settings |= {f"CHYME_{setting}": "-1"}
    ended = chyme.run("status")
    assert ended.code != 0
    assert f"setting {setting.lower()} must be" in ended.err
