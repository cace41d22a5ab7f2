"""The connection server (the door) serves children, trusts nothing they send, and leaves nothing behind."""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from waiting import AMPLE, wait_until

from chyme.core.outbound.connection_client import ConnectionClient
from chyme.core.outbound.connection_server import (
    MAX_INVALID_REQUESTS,
    MAX_REQUESTS,
    MAX_REQUESTS_PER_CHILD,
    ConnectionServer,
)
from chyme.core.outbound.guard import Guard, dial
from chyme.core.outbound.policy import policy_of
from chyme.core.outbound.socket_messages import KIND, receive, send
from chyme.errors import AddressRefused, ChymeError, NetworkFailed, RateLimited, TimedOut


class Hall:
    """A listener on loopback, a guard that allows connections to it, and the connection server of the guard."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=200)
        self.port: int = self.listener.getsockname()[1]
        self.open = threading.Event()  # while it is not set, connections wait
        self.open.set()
        self.opening = 0
        self.guard = Guard(policy_of(f"127.0.0.1:{self.port}, slow.test"), delay=0, open_connection=self._dial)
        self.door = ConnectionServer(self.guard)
        self.clients: list[ConnectionClient] = []

    def _dial(self, address: str, port: int, seconds: float) -> socket.socket:
        self.opening += 1
        self.open.wait(AMPLE)
        return dial(address, port, seconds)

    def enter(self, seconds: float = 10.0) -> ConnectionClient:
        self.clients.append(ConnectionClient(self.door.add_child().detach(), seconds))
        return self.clients[-1]

    def close(self) -> None:
        self.open.set()
        self.door.close()
        for client in self.clients:
            client.close()
        self.listener.close()


@pytest.fixture
def hall() -> Iterator[Hall]:
    before = open_files()
    opened = Hall()
    yield opened
    opened.close()
    wait_until(lambda: door_threads() == 0)
    assert open_files() == before


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def door_threads() -> int:
    return sum(thread.name.startswith("chyme-door") for thread in threading.enumerate())


def talks(hall: Hall, sock: socket.socket) -> bool:
    theirs, _ = hall.listener.accept()
    with theirs, sock:
        sock.sendall(b"hello")
        return theirs.recv(10) == b"hello"


def test_a_connection_comes_through_the_door(hall: Hall) -> None:
    sock = hall.enter().connect("127.0.0.1", hall.port)

    assert sock.getpeername() == ("127.0.0.1", hall.port)
    assert sock.gettimeout() == 10
    assert not sock.get_inheritable()
    assert talks(hall, sock)


def test_errors_come_through_as_they_were_raised(hall: Hall) -> None:
    inside = hall.enter()

    with pytest.raises(AddressRefused, match=r"^127\.0\.0\.2:80: 127\.0\.0\.2 is a loopback address; .*web_allow"):
        inside.connect("127.0.0.2", 80)
    with pytest.raises(AddressRefused, match="is no name of a host"):
        inside.connect("\ud800 \0 " + "ä" * 200, 80)
    with pytest.raises(AddressRefused):
        inside.connect("x" * 5000, 80)
    for port in (0, 70000):
        with pytest.raises(AddressRefused):
            inside.connect("127.0.0.1", port)
    hall.listener.close()
    with pytest.raises(NetworkFailed, match="connection refused") as failed:
        inside.connect("127.0.0.1", hall.port)
    assert failed.value.tried is True


def test_a_pause_reported_by_one_child_applies_to_all(hall: Hall) -> None:
    first, second = hall.enter(), hall.enter()
    first.hold("127.0.0.1", 30)
    for odd in (float("inf"), float("nan"), -1.0, 1e300):
        first.hold("localhost", odd)
    first.hold("x" * 5000, 1)

    with pytest.raises(RateLimited) as limited:
        second.connect("127.0.0.1", hall.port, polite=True)

    assert limited.value.tried is False
    assert 29 < (limited.value.retry_after or 0) <= 30
    assert talks(hall, second.connect("127.0.0.1", hall.port))


def request_with(**fields: object) -> bytes:
    return json.dumps({"ask": "connect", "host": "127.0.0.1", "port": 80, "polite": False, **fields}).encode()


@pytest.mark.parametrize(
    "garbage",
    [
        *(b"\0", b"{", b"[]", b"null", b"{}", b"\xff\xfe", b"[" * 4000, b'{"a":' * 700, b"1" * 4090, b"x" * 100_000),
        *(
            b'{"ask":"connect"}',
            b'{"ask":"leave"}',
            b'{"ask":["connect"]}',
            request_with(host=["127.0.0.1"]),
            request_with(host=None),
        ),
        *(
            request_with(port="80"),
            request_with(port=True),
            request_with(port=0),
            request_with(port=-1),
            request_with(port=65536),
            request_with(port=80.5),
        ),
        *(
            request_with(polite="yes"),
            request_with(polite=1),
            request_with(ask="hold"),
            request_with(ask="hold", seconds="1"),
        ),
        *(
            request_with(ask="hold", seconds=True),
            request_with(ask="hold", seconds=-1),
            b'{"ask":"hold","host":"a","seconds":NaN}',
        ),
        *(b'{"ask":"hold","host":"a","seconds":1e999}', request_with(host="a" * 5000), request_with() + b" " * 5000),
    ],
)
def test_garbage_is_not_answered_and_harms_no_other_child(
    hall: Hall, garbage: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    inside = hall.enter()
    with hall.door.add_child() as line, ExitStack() as stack:
        mine, theirs = socket.socketpair(socket.AF_UNIX, KIND)
        stack.enter_context(mine)
        with theirs:
            line.sendmsg([garbage], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, theirs.fileno().to_bytes(4, "little"))])
        mine.settimeout(5)

        assert mine.recv(100) == b""  # the connection server has closed it without an answer

    assert talks(hall, inside.connect("127.0.0.1", hall.port))
    assert hall.opening == 1
    wait_until(lambda: door_threads() == 1)
    assert caplog.records == []


def test_odd_descriptors_are_closed_unused(hall: Hall, tmp_path: Path) -> None:
    inside = hall.enter()
    (tmp_path / "file").touch()
    with hall.door.add_child() as line, ExitStack() as stack:
        service = stack.enter_context(socket.socket(socket.AF_UNIX, KIND))
        service.bind(os.fspath(tmp_path / "service"))
        service.listen()
        customer = stack.enter_context(socket.socket(socket.AF_UNIX, KIND))
        customer.connect(os.fspath(tmp_path / "service"))
        served = stack.enter_context(service.accept()[0])
        stream, _ = map(stack.enter_context, socket.socketpair())
        datagram, _ = map(stack.enter_context, socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM))
        lonely = stack.enter_context(socket.socket(socket.AF_UNIX, KIND))
        tcp = stack.enter_context(socket.socket())
        file = stack.enter_context((tmp_path / "file").open("r+b"))
        before = open_files()
        for odd in (customer, stream, datagram, lonely, tcp, file, service):
            line.sendmsg(
                [request_with(port=hall.port)],
                [(socket.SOL_SOCKET, socket.SCM_RIGHTS, odd.fileno().to_bytes(4, "little"))],
            )
        send(line, {"ask": "connect"})
        send(line, json.loads(request_with(port=hall.port)), [stream.fileno()] * 200)
        wait_until(lambda: door_threads() == 1 and hall.opening == 0)

        assert talks(hall, inside.connect("127.0.0.1", hall.port))
        wait_until(lambda: open_files() == before)
        served.setblocking(False)
        with pytest.raises(BlockingIOError):
            served.recv(1)
    assert hall.opening == 1


def test_a_child_that_sends_only_nonsense_is_disconnected(hall: Hall) -> None:
    inside = hall.enter()
    with hall.door.add_child() as line:
        line.settimeout(5)
        with pytest.raises(ConnectionError):
            for _ in range(100 * MAX_INVALID_REQUESTS):
                line.send(b"nonsense")

    assert talks(hall, inside.connect("127.0.0.1", hall.port))


def test_a_child_may_ask_for_senseless_hosts_as_often_as_its_pages_do(hall: Hall) -> None:
    inside = hall.enter()
    for _ in range(2 * MAX_INVALID_REQUESTS):
        with pytest.raises(AddressRefused):
            inside.connect("no host", 80)

    assert talks(hall, inside.connect("127.0.0.1", hall.port))


def test_a_child_that_does_not_read_its_answer_delays_no_other(hall: Hall) -> None:
    inside = hall.enter()
    with hall.door.add_child() as line, ExitStack() as stack:
        _deaf, theirs = map(stack.enter_context, socket.socketpair(socket.AF_UNIX, KIND))
        theirs.setblocking(False)
        with suppress(BlockingIOError):
            while True:
                theirs.send(b"x" * 1000)
        theirs.setblocking(True)
        for _ in range(3):
            send(line, json.loads(request_with(port=hall.port)), [theirs.fileno()])
            hall.listener.accept()[0].close()
        wait_until(lambda: door_threads() == 1)

        assert talks(hall, inside.connect("127.0.0.1", hall.port))


def test_a_child_that_is_gone_is_forgotten(hall: Hall) -> None:
    before = open_files()
    for _ in range(5):
        hall.door.add_child().close()
    hall.open.clear()
    with hall.door.add_child() as line:
        mine, theirs = socket.socketpair(socket.AF_UNIX, KIND)
        with mine, theirs:
            send(line, json.loads(request_with(port=hall.port)), [theirs.fileno()])
            wait_until(lambda: hall.opening == 1)
    hall.open.set()

    wait_until(lambda: open_files() == before)


def test_a_child_that_shuts_the_line_shuts_only_its_own(hall: Hall) -> None:
    inside = hall.enter()
    with hall.door.add_child() as line:
        line.shutdown(socket.SHUT_RDWR)
        line.settimeout(5)
        assert line.recv(1) == b""

    assert talks(hall, inside.connect("127.0.0.1", hall.port))


def test_a_single_child_cannot_use_up_the_connection_server(hall: Hall) -> None:
    hall.open.clear()
    greedy, modest = hall.enter(), hall.enter()
    sockets: list[socket.socket] = []

    def ask(client: ConnectionClient) -> None:
        sockets.append(client.connect("127.0.0.1", hall.port))

    threads = [threading.Thread(target=ask, args=(greedy,)) for _ in range(2 * MAX_REQUESTS_PER_CHILD)]
    for thread in threads:
        thread.start()
    wait_until(lambda: hall.opening == MAX_REQUESTS_PER_CHILD)
    threads.append(threading.Thread(target=ask, args=(modest,)))
    threads[-1].start()
    wait_until(lambda: hall.opening == MAX_REQUESTS_PER_CHILD + 1)
    time.sleep(0.05)

    assert hall.opening == MAX_REQUESTS_PER_CHILD + 1 <= MAX_REQUESTS
    assert door_threads() == MAX_REQUESTS_PER_CHILD + 2
    hall.open.set()
    for thread in threads:
        thread.join(AMPLE)
    assert len(sockets) == 2 * MAX_REQUESTS_PER_CHILD + 1
    for sock in sockets:
        sock.close()


def test_a_child_that_waits_too_long_gets_a_timeout(hall: Hall) -> None:
    hall.open.clear()

    with pytest.raises(TimedOut, match="the guard did not answer within"):
        hall.enter(seconds=0.05).connect("127.0.0.1", hall.port)


def test_a_closed_connection_server_answers_no_request_and_leaves_nothing(hall: Hall) -> None:
    hall.open.clear()
    inside, late = hall.enter(), hall.enter()
    errors: list[Exception] = []

    def ask() -> None:
        try:
            inside.connect("127.0.0.1", hall.port)
        except NetworkFailed as error:
            errors.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    wait_until(lambda: hall.opening == 1)
    threading.Timer(0.1, hall.open.set).start()
    hall.door.close()
    hall.door.close()
    thread.join(AMPLE)

    assert door_threads() == 0
    assert "the guard did not answer" in str(errors)
    with pytest.raises(NetworkFailed):
        late.connect("127.0.0.1", hall.port)
    with pytest.raises(ChymeError, match="shutting down"):
        hall.door.add_child()


def test_a_guard_that_fails_is_trouble_with_the_network(hall: Hall, caplog: pytest.LogCaptureFixture) -> None:
    def fail_to_connect(address: str, port: int, seconds: float) -> socket.socket:
        raise ZeroDivisionError

    door = ConnectionServer(Guard(policy_of(f"127.0.0.1:{hall.port}"), open_connection=fail_to_connect))
    inside = ConnectionClient(door.add_child().detach(), 5)
    with pytest.raises(NetworkFailed, match="the guard failed"):
        inside.connect("127.0.0.1", hall.port)
    inside.close()
    door.close()

    assert "could not be answered" in caplog.text


def test_descriptors_that_arrive_are_not_inherited() -> None:
    sender, receiver = socket.socketpair()
    with sender, receiver:
        send(sender, {"a": 1}, [sender.fileno()])
        data, (fd,), complete = receive(receiver, 100, 1)
        assert (data, complete, os.get_inheritable(fd)) == (b'{"a":1}', True, False)
        os.close(fd)
