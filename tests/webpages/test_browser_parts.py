"""The parts around Chromium, without it: its proxy, its pipe, and how it is found."""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from local_web import Asked, Listener, LocalWeb, Wire
from waiting import AMPLE

from chyme.core.outbound.guard import Guard
from chyme.core.outbound.policy import policy_of
from chyme.digester import Outside
from chyme.errors import NetworkFailed, RateLimited
from chyme.webpages.browser.devtools_pipe import BrowserDisconnected, CommandFailed, DeadlineExceeded, Pipe
from chyme.webpages.browser.executable import browser_marker, browser_program
from chyme.webpages.browser.process_tree import adopt_orphans
from chyme.webpages.browser.proxy import REFUSED_HEADER, Proxy
from chyme.webpages.settings import BrowserSettings

pytestmark = pytest.mark.slow


@pytest.fixture
def web() -> Iterator[LocalWeb]:
    with LocalWeb() as made:
        yield made


@pytest.fixture
def guard(web: LocalWeb) -> Guard:
    return Guard(policy_of(web.host), delay=0)


def exchange(proxy: Proxy, *requests: bytes) -> bytes:
    """Send these bytes and return everything that comes back until the proxy hangs up."""
    with socket.create_connection(("127.0.0.1", proxy.port), timeout=AMPLE) as sock:
        found = b""
        for part in requests:
            sock.sendall(part)
        while data := sock.recv(65536):
            found += data
        return found


def proxy_to(web: LocalWeb, outside: Outside, **settings: int) -> Proxy:
    made = Proxy(outside, BrowserSettings(**settings))  # type: ignore[arg-type]
    made.allow_host(web.url())
    return made


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("browser-")]


def test_a_plain_request_reaches_its_server_as_its_own(web: LocalWeb, guard: Guard) -> None:
    url = web.page("/a", "hello")
    with proxy_to(web, guard) as proxy:
        request = f"GET {url}?q=1 HTTP/1.1\r\nHost: {web.host}\r\nProxy-Connection: keep-alive\r\nX: y\r\n\r\n"
        answer = exchange(proxy, request.encode())
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
    assert answer.endswith(b"\r\nConnection: close\r\n\r\nhello")
    (received,) = web.asked
    assert received.path == "/a?q=1"
    assert (received.headers["x"], received.headers["connection"]) == ("y", "close")
    assert "proxy-connection" not in received.headers
    assert threads() == []


def test_interim_responses_are_passed_on(web: LocalWeb, guard: Guard) -> None:
    between = b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n"
    url = web.handler("/a", lambda _request, wire: wire.send(between + b"HTTP/1.1 200 OK\r\nX: y\r\n\r\nhello"))
    with proxy_to(web, guard) as proxy:
        answer = exchange(proxy, f"GET {url} HTTP/1.1\r\n\r\n".encode())
    assert answer == between + b"HTTP/1.1 200 OK\r\nX: y\r\nConnection: close\r\n\r\nhello"


@pytest.mark.parametrize(
    "parts", [[b"HTTP/1.1 200 OK\nX: y\n\nhe\r\n\r\nllo"], [b"HTTP/1.1 200 OK\r\nX: y\n", b"\r", b"\nhe\r\n\r\nllo"]]
)
def test_lines_that_end_in_another_way_are_understood(web: LocalWeb, guard: Guard, parts: list[bytes]) -> None:
    def answer(_request: Asked, wire: Wire) -> None:
        for part in parts:
            wire.send(part)
            wire.pause(0.05)

    url = web.handler("/a", answer)
    with proxy_to(web, guard) as proxy:
        received = exchange(proxy, f"GET {url} HTTP/1.1\r\n\r\n".encode())
    assert received == b"HTTP/1.1 200 OK\r\nX: y\r\nConnection: close\r\n\r\nhe\r\n\r\nllo"


def test_a_tunnel_carries_bytes_both_ways(web: LocalWeb, guard: Guard) -> None:
    web.page("/a", "hello")
    with proxy_to(web, guard) as proxy:
        request = f"GET /a HTTP/1.1\r\nHost: {web.host}\r\nConnection: close\r\n\r\n".encode()
        answer = exchange(proxy, f"CONNECT {web.host} HTTP/1.1\r\nHost: {web.host}\r\n\r\n".encode(), request)
    assert answer.startswith(b"HTTP/1.1 200 Connection established\r\n\r\nHTTP/1.1 200 OK\r\n")
    assert answer.endswith(b"hello")


def test_refusals_of_the_guard_are_passed_on_and_recorded(web: LocalWeb, guard: Guard) -> None:
    with Listener() as forbidden:
        with proxy_to(web, guard) as proxy:
            proxy.allow_host(forbidden.url())
            for request in (f"GET {forbidden.url('/x')}", f"CONNECT {forbidden.host}"):
                answer = exchange(proxy, f"{request} HTTP/1.1\r\n\r\n".encode())
                assert answer.startswith(b"HTTP/1.1 403 Forbidden\r\n")
                assert f"{REFUSED_HEADER}: {proxy.mark}".encode() in answer
        assert list(proxy.traffic.refused) == [forbidden.host]
        assert forbidden.connections == 0


def test_a_host_that_the_page_did_not_request_is_refused_without_asking_the_guard(web: LocalWeb, guard: Guard) -> None:
    with Proxy(guard, BrowserSettings()) as proxy:
        assert exchange(proxy, f"CONNECT {web.host} HTTP/1.1\r\n\r\n".encode()).startswith(b"HTTP/1.1 403 ")
    assert (web.connections, proxy.traffic.refused) == (0, {})


@pytest.mark.parametrize(
    "request_line",
    [
        "GET /relative HTTP/1.1",
        "GET ftp://127.0.0.1/ HTTP/1.1",
        "GET file:///etc/passwd HTTP/1.1",
        "CONNECT 127.0.0.1 HTTP/1.1",
        "CONNECT 127.0.0.1:99999999 HTTP/1.1",
        "CONNECT  HTTP/1.1",
        "nonsense",
        "GET http://[::1 HTTP/1.1",
    ],
)
def test_other_requests_reach_no_server(web: LocalWeb, guard: Guard, request_line: str) -> None:
    with proxy_to(web, guard) as proxy:
        answer = exchange(proxy, request_line.encode() + b"\r\n\r\n")
    assert answer == b"" or answer.startswith(b"HTTP/1.1 403 ")
    assert web.connections == 0


def test_beyond_its_limits_nothing_comes_through(web: LocalWeb, guard: Guard) -> None:
    url = web.page("/big", b"x" * (3 << 20))
    request = f"GET {url} HTTP/1.1\r\n\r\n".encode()
    with proxy_to(web, guard, load_bytes=1 << 20) as proxy:
        assert len(exchange(proxy, request)) <= 1 << 20
        assert proxy.traffic.full == "only the first 1 MB were loaded"
        assert exchange(proxy, request).startswith(b"HTTP/1.1 403 ")
    with proxy_to(web, guard, requests=2) as proxy:
        assert [exchange(proxy, request)[9:12] for _ in range(3)] == [b"200", b"200", b"403"]
    with (
        proxy_to(web, guard, connections=1) as proxy,
        socket.create_connection(("127.0.0.1", proxy.port)) as idle,
    ):
        time.sleep(0.1)
        with suppress(ConnectionError):  # it may hang up before it has read
            assert exchange(proxy, request) == b""
        assert idle.fileno() >= 0


def test_closing_in_the_middle_leaves_no_thread_and_no_socket(web: LocalWeb, guard: Guard) -> None:
    asking, answering = threading.Event(), threading.Event()

    class Slow:
        def connect(self, host: str, port: int, polite: bool = False) -> socket.socket:
            asking.set()
            answering.wait(AMPLE)
            return guard.connect(host, port)

        def hold(self, host: str, seconds: float) -> None:
            raise AssertionError

    with proxy_to(web, Slow()) as proxy:
        client = socket.create_connection(("127.0.0.1", proxy.port))
        client.sendall(f"CONNECT {web.host} HTTP/1.1\r\n\r\n".encode())
        assert asking.wait(AMPLE)
        threading.Timer(0.2, answering.set).start()
    with client:
        assert client.recv(1000) == b""
    assert threads() == []
    with pytest.raises(ConnectionError):
        socket.create_connection(("127.0.0.1", proxy.port)).close()


def test_a_guard_that_raises_costs_one_part_and_not_the_page(web: LocalWeb) -> None:
    class Broken:
        def connect(self, host: str, port: int, polite: bool = False) -> socket.socket:
            raise RuntimeError("no words for people")

        def hold(self, host: str, seconds: float) -> None:
            raise AssertionError

    with proxy_to(web, Broken()) as proxy:
        assert exchange(proxy, f"CONNECT {web.host} HTTP/1.1\r\n\r\n".encode()).startswith(b"HTTP/1.1 502 ")
    assert isinstance(proxy.traffic.failed[web.host], NetworkFailed)


def test_only_the_page_itself_waits_for_its_hosts_turn(web: LocalWeb, guard: Guard) -> None:
    asking = []

    class Listening:
        def connect(self, host: str, port: int, polite: bool = False) -> socket.socket:
            asking.append(polite)
            return guard.connect(host, port, polite)

        def hold(self, host: str, seconds: float) -> None:
            raise AssertionError

    request = f"GET {web.page('/a', 'hello')} HTTP/1.1\r\n\r\n".encode()
    with proxy_to(web, Listening()) as proxy:
        for _ in range(3):
            assert exchange(proxy, request).endswith(b"hello")
    assert asking == [True, False, False]


def test_a_pause_holds_for_the_whole_page(web: LocalWeb, guard: Guard) -> None:
    guard.hold("127.0.0.1", 60)
    with proxy_to(web, guard) as proxy:
        for _ in range(2):
            assert exchange(proxy, f"CONNECT {web.host} HTTP/1.1\r\n\r\n".encode()).startswith(b"HTTP/1.1 502 ")
    assert isinstance(proxy.traffic.failed[web.host], RateLimited)
    assert web.connections == 0


class PipeEnds:
    """A pipe and its other end."""

    def __init__(self, most: int = 1000) -> None:
        reads, self.output = os.pipe()
        self.input, writes = os.pipe()
        self.pipe = Pipe(reads, writes, most)

    def send(self, message: object) -> None:
        os.write(self.output, json.dumps(message).encode() + b"\0")

    def close(self) -> None:
        self.pipe.close()
        for fd in (self.output, self.input):
            os.close(fd)


@pytest.fixture
def ends() -> Iterator[PipeEnds]:
    made = PipeEnds()
    yield made
    made.close()


def soon() -> float:
    return time.monotonic() + 0.3


def test_answers_reach_their_call_and_events_their_listener(ends: PipeEnds) -> None:
    events: list[tuple[str, str, object]] = []
    ends.pipe.on_event = lambda session, event, params: events.append((session, event, dict(params)))
    ends.send({"method": "A.b", "params": {"x": 1}, "sessionId": "S"})
    ends.send({"id": 7, "result": {"nobody": "asked"}})
    ends.send({"id": 1, "result": {"y": 2}})
    assert ends.pipe.call("C.d", soon(), "S", z=3) == {"y": 2}
    assert events == [("S", "A.b", {"x": 1})]
    sent = json.loads(os.read(ends.input, 1000).rstrip(b"\0"))
    assert sent == {"id": 1, "method": "C.d", "params": {"z": 3}, "sessionId": "S"}
    ends.send({"id": 2, "error": {"message": "no such thing"}})
    with pytest.raises(CommandFailed, match=r"E\.f: no such thing"):
        ends.pipe.call("E.f", soon())


def test_a_message_beyond_the_limit_is_left_out(ends: PipeEnds) -> None:
    events: list[str] = []
    ends.pipe.on_event = lambda _session, event, _params: events.append(event)
    ends.send({"method": "small.1"})
    os.write(ends.output, b'{"method": "large", "params": "' + b"x" * 3000)
    with pytest.raises(DeadlineExceeded):
        ends.pipe.call("A.b", time.monotonic() + 0.1)
    os.write(ends.output, b'"}\0')
    ends.send({"method": "small.2"})
    ends.send({"id": 2, "result": {}})
    assert ends.pipe.call("A.b", soon()) == {}
    assert events == ["small.1", "small.2"]


def test_silence_a_closed_pipe_and_nonsense_are_distinguished(ends: PipeEnds) -> None:
    watched: list[float] = []
    ends.pipe.on_tick = lambda: watched.append(time.monotonic())
    with pytest.raises(DeadlineExceeded):
        ends.pipe.call("A.b", soon())
    assert 2 <= len(watched) <= 4
    os.write(ends.output, b"{nonsense\0")
    with pytest.raises(BrowserDisconnected):
        ends.pipe.call("A.b", soon())
    other = PipeEnds()
    os.close(other.output)
    try:
        with pytest.raises(BrowserDisconnected):
            other.pipe.call("A.b", soon())
    finally:
        other.pipe.close()
        os.close(other.input)


def write_program(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    path.chmod(0o755)
    return path


def test_the_program_is_found_behind_the_script(tmp_path: Path) -> None:
    script = write_program(tmp_path / "opt" / "google-chrome", b"#!/bin/sh\n")
    assert browser_program(str(script)) == script  # there is nothing else: the program of the setting is used
    binary = write_program(tmp_path / "opt" / "chrome", b"\x7fELF...")
    assert browser_program(str(script)) == binary
    link = tmp_path / "bin"
    link.symlink_to(script)
    assert browser_program(str(link)) == binary
    assert browser_program(str(binary)) == binary


def test_off_and_missing_programs_are_none(tmp_path: Path) -> None:
    assert browser_program("off") is None
    assert browser_program(str(tmp_path / "missing")) is None
    assert browser_program(str(tmp_path)) is None


def test_the_marker_changes_with_the_program(tmp_path: Path) -> None:
    path = tmp_path / "chrome"
    seen = [browser_marker(str(path))]
    write_program(path, b"\x7fELF one")
    seen.append(browser_marker(str(path)))
    write_program(path, b"\x7fELF second")
    seen.append(browser_marker(str(path)))
    path.unlink()
    assert len(set(seen)) == 3
    assert browser_marker(str(path)) == seen[0] == browser_marker("off") == "no Chromium"


def test_adopting_orphans_can_be_set_back() -> None:
    before = adopt_orphans(True)
    assert adopt_orphans(before) is True
    assert adopt_orphans(before) is before
