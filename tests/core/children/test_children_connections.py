"""Children that may use the network connect through the connection server (the door) and have no other way."""

from __future__ import annotations

import ctypes
import errno
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import pytest
from children_world import AMPLE, HERE, MEGABYTE, MakeTask, gone, wait_until

from chyme.core.children.isolation import OWN_PORT
from chyme.core.children.places import Family
from chyme.core.children.runner import Runner
from chyme.core.children.task import Task
from chyme.core.outbound.connection_server import ConnectionServer
from chyme.core.outbound.guard import Guard
from chyme.core.outbound.policy import policy_of
from chyme.digester import Digester, Runs, Source
from chyme.errors import ChildCrashed, ChymeError, NetworkFailed, RateLimited, UnreadableFile
from chyme.model import File, Output

pytestmark = pytest.mark.slow

MANY = 60

# A runner with a connection server whose child has a connection and waits; then the runner is killed.
OWNER = """
import sys, threading
from pathlib import Path
from chyme.core.children.places import Family
from chyme.core.children.runner import Runner
from chyme.core.children.task import Task
from chyme.core.outbound.connection_server import ConnectionServer
from chyme.core.outbound.guard import Guard
from chyme.core.outbound.policy import policy_of
from chyme.model import File, Kind, Limits, Stamp

port = sys.argv[3]
door = ConnectionServer(Guard(policy_of("127.0.0.1:" + port)))
families = {"web": Family(1, 1 << 30, may_connect=True)}
beside = [Path(sys.argv[1])]
runner = Runner("test_children_connections:in_child", {}, families, import_from=beside, connection_server=door)
file = File(1, port, port, Kind.TEXT, "", Stamp("1", "2", 3, 4), "", 1)
runner.run(Task("linger", file, None, (), Path(sys.argv[2])), "web", Limits(60, 60, 1 << 29))
"""


# The actions of the children. The name of the file is the port.


def talk(source: Source) -> str:
    with source.connect("127.0.0.1", int(source.file.name)) as sock:
        sock.sendall(b"hello from inside\n")
        return sock.makefile("rb").readline().decode()


def by_itself(source: Source) -> str:
    errors = []
    for host in ("127.0.0.1", "127.0.0.2"):
        with socket.socket() as sock:
            sock.settimeout(2)
            errors.append(errno.errorcode[sock.connect_ex((host, int(source.file.name)))])
    return json.dumps(errors)


def turned(source: Source) -> str:
    """Disconnect two connections, then reconnect each elsewhere in a different way; return the results."""
    results = []
    elsewhere = ("127.0.0.2", int(source.file.name))
    with source.connect("127.0.0.1", elsewhere[1]) as first, source.connect("127.0.0.1", elsewhere[1]) as second:
        libc = ctypes.CDLL(None)
        for sock, redirect in (
            (first, first.connect),
            (second, lambda address: second.sendto(b"hello\n", socket.MSG_FASTOPEN, address)),
        ):
            assert libc.connect(sock.fileno(), bytes(16), 16) == 0
            try:
                redirect(elsewhere)
                results.append("let in")
            except OSError as error:
                results.append(errno.errorcode[error.errno or 0])
    results.append(errno.errorcode[_io_uring_error()])
    return json.dumps(results)


def _io_uring_error() -> int:
    """Return the error of an attempt to create an io_uring, whose calls bypass every filter."""
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.syscall(ctypes.c_long(425), ctypes.c_long(1), bytes(120))
    return 0 if fd >= 0 else ctypes.get_errno()


def forbidden(source: Source) -> str:
    source.connect("127.0.0.2", int(source.file.name)).close()
    return "let in"


def paused(source: Source) -> str:
    source.hold("127.0.0.1", 60)
    source.connect("127.0.0.1", int(source.file.name), polite=True).close()
    return "let in"


def many(source: Source) -> str:
    received = []

    def exchange(number: int) -> None:
        with source.connect("127.0.0.1", int(source.file.name)) as sock:
            sock.sendall(b"%d\n" % number)
            received.append(int(sock.makefile("rb").readline()))

    threading.stack_size(256 << 10)  # stacks count as memory of the task
    threads = [threading.Thread(target=exchange, args=(number,)) for number in range(MANY)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return json.dumps(sorted(received))


def stay_in(source: Source) -> str:
    source.connect("127.0.0.1", int(source.file.name)).close()
    return "let in"


def linger(source: Source) -> str:
    sock = source.connect("127.0.0.1", int(source.file.name))
    sock.sendall(b"%d\n" % os.getpid())
    time.sleep(60)
    return ""


def descriptors(source: Source) -> str:
    """Count the sockets that a program inherits when it is started with close_fds=False."""
    listing = ["ls", "-l", "/proc/self/fd"]
    mine = subprocess.run(listing, capture_output=True, text=True, check=True, close_fds=False).stdout
    return str(mine.count("socket:"))


def own_loopback(source: Source) -> str:
    with (
        socket.create_server(("127.0.0.1", OWN_PORT)) as server,
        socket.create_connection(server.getsockname()) as sock,
    ):
        return str(sock.getpeername() == server.getsockname())


def abuse(source: Source) -> str:
    assert isinstance(source, Task)
    line = vars(source.outside)["_sock"]
    with line.dup() as mine:
        for message in (b"", b"\0" * 5000, b"{", b"[" * 3000, b"nonsense") * 20:
            try:
                mine.sendmsg([message], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, (0).to_bytes(4, "little"))])
            except ConnectionError:
                break
        mine.shutdown(socket.SHUT_RDWR)
    return talk(source)


def leave_orphan(source: Source) -> str:
    script = "sleep 0.3 >/dev/null & echo $!"
    return subprocess.run(["sh", "-c", script], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def orphans(source: Source) -> str:
    me = os.getpid()
    return Path(f"/proc/{me}/task/{me}/children").read_text(encoding="ascii")


class Inside(Digester):
    """A digester that performs one action in a child."""

    label = description = "For tests."

    def __init__(self, act: Callable[[Source], str]) -> None:
        self.act = act

    def can_digest(self, file: File) -> bool:
        return True

    def digest(self, source: Source) -> list[Output]:
        return [Output(self.act.__name__, self.act(source))]


def in_child(_config: dict[str, object]) -> dict[str, Digester]:
    acts = (talk, by_itself, forbidden, paused, many, stay_in, linger, descriptors, own_loopback, abuse)
    digesters: dict[str, Digester] = {}
    for act in (*acts, leave_orphan, orphans, turned):
        name = act.__name__
        kind = type(name, (Inside,), {"name": name, "runs": Runs(goes_out=act is not stay_in)})
        digesters[name] = kind(act)
    return digesters


class Echo:
    """A server that sends back each line it receives, and records it."""

    def __init__(self, host: str, port: int = 0) -> None:
        self.listener = socket.create_server((host, port), backlog=2 * MANY)
        self.port: int = self.listener.getsockname()[1]
        self.received: list[bytes] = []
        self.visits = 0
        self._open: list[socket.socket] = []
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            self.visits += 1
            self._open.append(sock)
            with suppress(ConnectionError):  # the peer may disconnect
                line = sock.makefile("rb").readline()
                self.received.append(line)
                sock.sendall(line)

    def close(self) -> None:
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for sock in self._open:
            sock.close()
        self._thread.join()


class Stage:
    """An allowed server, a forbidden server at the same port, and children of two families."""

    def __init__(self, make_task: MakeTask) -> None:
        with ExitStack() as stack:
            self.allowed = stack.enter_context(closing(Echo("127.0.0.1")))
            self.forbidden = stack.enter_context(closing(Echo("127.0.0.2", self.allowed.port)))
            self.door = stack.enter_context(
                closing(ConnectionServer(Guard(policy_of(f"127.0.0.1:{self.allowed.port}"))))
            )
            families = {
                "web": Family(count=2, memory_bytes=1024 * MEGABYTE, may_connect=True),
                "parsers": Family(count=1, memory_bytes=1024 * MEGABYTE),
            }
            self.runner = stack.enter_context(
                closing(
                    Runner(
                        "test_children_connections:in_child",
                        {},
                        families,
                        import_from=[HERE],
                        connection_server=self.door,
                    )
                )
            )
            self.close = stack.pop_all().close
        self._make_task = make_task

    def run(self, act: Callable[[Source], str], family: str = "web") -> str:
        task = self._make_task(act.__name__, name=str(self.allowed.port))
        (output,) = self.runner.run(task, family, AMPLE)
        return output.content or ""

    def needs_isolation(self) -> None:
        self.run(own_loopback)
        isolation = self.runner.snapshot().isolation
        assert isolation is not None
        if not isolation.network_off:
            pytest.skip(isolation.how)


@pytest.fixture
def stage(make_task: MakeTask) -> Iterator[Stage]:
    made = Stage(make_task)
    yield made
    made.close()


def test_a_child_talks_to_an_allowed_server_over_the_connection_it_is_handed(stage: Stage) -> None:
    assert stage.run(talk) == "hello from inside\n"
    assert stage.run(talk) == "hello from inside\n"
    assert stage.allowed.received == [b"hello from inside\n"] * 2


def test_a_child_cannot_connect_by_itself(stage: Stage) -> None:
    stage.needs_isolation()

    assert json.loads(stage.run(by_itself)) in (["EACCES"] * 2, ["ECONNREFUSED"] * 2)
    assert stage.allowed.visits == stage.forbidden.visits == 0


def test_a_connection_that_was_handed_over_leads_nowhere_else(stage: Stage) -> None:
    stage.needs_isolation()
    isolation = stage.runner.snapshot().isolation
    assert isolation is not None
    if "turned elsewhere" in isolation.how:
        pytest.skip(isolation.how)

    assert json.loads(stage.run(turned)) == ["EACCES", "EPERM", "EPERM"]
    assert stage.forbidden.visits == 0
    assert stage.run(talk) == "hello from inside\n"


def test_a_child_cannot_connect_to_a_forbidden_address(stage: Stage) -> None:
    with pytest.raises(UnreadableFile, match=r"127\.0\.0\.2 is a loopback address; .* web_allow"):
        stage.run(forbidden)

    assert stage.forbidden.visits == 0


def test_a_pause_costs_no_attempt(stage: Stage) -> None:
    with pytest.raises(RateLimited) as paused_for:
        stage.run(paused)

    assert paused_for.value.tried is False
    assert 59 < (paused_for.value.retry_after or 0) <= 60
    assert stage.allowed.visits == 0


@pytest.mark.parametrize(("act", "family"), [(talk, "parsers"), (stay_in, "web")])
def test_a_child_that_may_not_connect_has_no_connection_server(
    stage: Stage, act: Callable[[Source], str], family: str
) -> None:
    with pytest.raises(ChildCrashed, match="UsageError"):
        stage.run(act, family)

    assert stage.allowed.visits == 0


def test_a_runner_without_a_connection_server_gives_its_children_none(make_task: MakeTask) -> None:
    families = {"web": Family(1, 1024 * MEGABYTE, may_connect=True)}
    runner = Runner("test_children_connections:in_child", {}, families, import_from=[HERE])
    with closing(runner), pytest.raises(ChildCrashed, match="UsageError"):
        runner.run(make_task("talk", name="80"), "web", AMPLE)


def test_children_have_a_loopback_of_their_own(stage: Stage) -> None:
    assert stage.run(own_loopback) == "True"


def test_many_connections_at_once(stage: Stage) -> None:
    assert json.loads(stage.run(many)) == list(range(MANY))
    assert stage.allowed.visits == MANY


def test_programs_inherit_neither_the_door_nor_the_line(stage: Stage) -> None:
    assert stage.run(descriptors) == "0"
    assert stage.run(descriptors, "parsers") == "0"


def test_a_child_that_abuses_its_line_loses_only_its_own_connections(stage: Stage) -> None:
    with pytest.raises(NetworkFailed, match="the guard"):
        stage.run(abuse)
    stage.runner.close()

    families = {"web": Family(1, 1024 * MEGABYTE, may_connect=True)}
    with closing(
        Runner("test_children_connections:in_child", {}, families, import_from=[HERE], connection_server=stage.door)
    ) as fresh:
        stage.runner = fresh
        assert stage.run(talk) == "hello from inside\n"


def test_orphaned_processes_of_programs_are_reaped(stage: Stage) -> None:
    orphan = int(stage.run(leave_orphan))
    assert stage.run(orphans).split() == [str(orphan)]  # the child has adopted it
    wait_until(lambda: gone(orphan))
    stage.run(orphans)

    assert stage.run(orphans) == ""
    assert not Path(f"/proc/{orphan}").exists()


def test_a_door_forgets_children_that_are_gone(stage: Stage) -> None:
    before = len(os.listdir("/proc/self/fd"))
    stage.run(own_loopback)
    stage.runner.close()

    wait_until(lambda: len(os.listdir("/proc/self/fd")) == before + 1)  # the task's file


def test_closing_the_door_ends_in_an_error_not_in_a_hang(stage: Stage) -> None:
    stage.run(own_loopback)
    stage.door.close()

    with pytest.raises(NetworkFailed, match="the guard could not be asked"):
        stage.run(talk)
    stage.runner.close()
    with pytest.raises(ChymeError):
        stage.run(talk)


def test_connections_die_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    (tmp_path / "scratch").mkdir()
    with closing(Echo("127.0.0.1")) as server:
        command = [sys.executable, "-c", OWNER, str(HERE), str(tmp_path / "scratch"), str(server.port)]
        with subprocess.Popen(command) as owner:
            try:
                wait_until(lambda: server.received)
                child = int(server.received[0])
                assert not gone(child)
            finally:
                owner.send_signal(signal.SIGKILL)

        wait_until(lambda: gone(child))
