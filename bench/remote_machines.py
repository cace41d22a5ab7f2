"""Machines for workers: each a process with a network of its own, reached through a relay that can be cut.

And the NATS server between them, with TLS and credentials as `chyme cluster init` makes them.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CHYME = (sys.executable, "-m", "chyme")
AMPLE = 120.0
CHUNK = 1 << 16
OFF = {"CHYME_CRAWL": "false"}


def nats_program() -> str | None:
    """Where nats-server is, or None."""
    beside = Path(sys.executable).with_name("nats-server")
    return os.fspath(beside) if beside.is_file() else shutil.which("nats-server")


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def await_true(condition: Callable[[], object], what: str, seconds: float = AMPLE) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {seconds:g} s for {what}")
        time.sleep(0.05)


class Nats:
    """A server with the configuration of `chyme cluster init`, which can be killed and comes back."""

    def __init__(self, folder: Path, workers: Sequence[str] = ("worker-1",)) -> None:
        self.port = free_port()
        self.folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        run = [*CHYME, "cluster"]
        subprocess.run(
            [*run, "init", os.fspath(folder), "--host", "127.0.0.1", "--port", str(self.port)],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        for name in workers:
            if not (folder / f"{name}.pem").exists():
                add = [*run, "add-worker", name, os.fspath(folder)]
                subprocess.run(add, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    @property
    def url(self) -> str:
        return f"tls://127.0.0.1:{self.port}"

    @property
    def ports(self) -> list[int]:
        """Where a worker may connect, in this order."""
        return [self.port]

    def credentials(self, name: str) -> Path:
        return self.folder / f"{name}.pem"

    def start(self) -> None:
        program = nats_program()
        assert program is not None
        with (self.folder / "nats.log").open("ab") as log:
            self._process = subprocess.Popen(
                [program, "-c", os.fspath(self.folder / "nats.conf")], stdout=log, stderr=log
            )
        await_true(lambda: _listens(self.port), "NATS")

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


class NatsCluster(Nats):
    """Three servers that stand in for one another. `kill` and `start` take them in turn."""

    def __init__(self, folder: Path, workers: Sequence[str] = ("worker-1",)) -> None:
        super().__init__(folder, workers)
        self._ports = [self.port, free_port(), free_port()]
        self._routes = [free_port() for _ in self._ports]
        self._nodes: list[subprocess.Popen[bytes] | None] = [None] * len(self._ports)
        self._next = 0
        routes = ", ".join(f'"nats://127.0.0.1:{port}"' for port in self._routes)
        text = (folder / "nats.conf").read_text()
        for number, (port, route) in enumerate(zip(self._ports, self._routes, strict=True)):
            named = text.replace(f"port: {self.port}\n", f"port: {port}\nserver_name: node{number}\n")
            named = named.replace("nats.pid", f"nats{number}.pid")
            joined = f'cluster {{ name: chyme, listen: "127.0.0.1:{route}", no_advertise: true, routes: [{routes}] }}\n'
            (folder / f"node{number}.conf").write_text(named + joined)

    @property
    def url(self) -> str:
        return ",".join(f"tls://127.0.0.1:{port}" for port in self._ports)

    @property
    def ports(self) -> list[int]:
        return self._ports

    def start(self) -> None:
        for number, node in enumerate(self._nodes):
            if node is None:
                self._start_node(number)

    def _start_node(self, number: int) -> None:
        program = nats_program()
        assert program is not None
        with (self.folder / f"node{number}.log").open("ab") as log:
            command = [program, "-c", os.fspath(self.folder / f"node{number}.conf")]
            self._nodes[number] = subprocess.Popen(command, stdout=log, stderr=log)
        await_true(lambda: _listens(self._ports[number]), f"node {number} of NATS")

    def kill(self) -> None:
        """Kill the next one; at the end of a test, all."""
        number, self._next = self._next, (self._next + 1) % len(self._nodes)
        node = self._nodes[number]
        if node is not None:
            node.kill()
            node.wait()
            self._nodes[number] = None

    def kill_all(self) -> None:
        for _ in self._nodes:
            self.kill()


def _listens(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


class Machine:
    """A worker on a machine of its own."""

    def __init__(
        self,
        nats: Nats,
        name: str,
        folder: Path,
        options: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
        source: Path | None = None,
    ) -> None:
        """`source`: a folder with a copy of chyme, for a machine whose paths and file times are others."""
        self.name = name
        self.folder = folder
        self.alone = False  # whether it has a network of its own
        self.cut = False  # nothing passes
        self.starts = 0
        self.core: int | None = None  # the only one it may use
        self._nats = nats
        self._options = tuple(options)
        self._environment = dict(environment or {})
        self._source = source
        self._port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self._sockets: set[socket.socket] = set()
        folder.mkdir(parents=True, exist_ok=True)

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def log(self) -> Path:
        return self.folder / "worker.log"

    def start(self) -> None:
        ours, theirs = socket.socketpair()
        command = [
            *(sys.executable, "-m", "bench.own_network", str(theirs.fileno()), str(self._port)),
            *(*CHYME, "-v", "work", "--url", f"tls://127.0.0.1:{self._port}"),
            *("--credentials", os.fspath(self._nats.credentials(self.name))),
            *("--scratch", os.fspath(self.folder / "scratch"), *self._options),
        ]
        path = os.pathsep.join(map(os.fspath, [*([self._source] if self._source else []), ROOT]))
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                command,
                env=os.environ | {"PYTHONPATH": path, "PYTHONFAULTHANDLER": "1"} | self._environment,
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        if self.core is not None:
            os.sched_setaffinity(self._process.pid, {self.core})
        theirs.close()
        told, fds, _, _ = socket.recv_fds(ours, 1, 1)
        ours.close()
        self.alone = told == b"1"
        self.starts += 1
        listener = socket.socket(fileno=fds[0])
        self._sockets.add(listener)
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def _accept(self, listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                inner, _ = listener.accept()
                threading.Thread(target=self._relay, args=(inner,), daemon=True).start()

    def _relay(self, inner: socket.socket) -> None:
        outer = self._reach_nats()
        if outer is None:
            inner.close()
            return
        for end in (inner, outer):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # small messages must not wait for each other
        self._sockets |= {inner, outer}
        pair = [
            threading.Thread(target=self._pump, args=both, daemon=True) for both in ((inner, outer), (outer, inner))
        ]
        for pump in pair:
            pump.start()

    def _reach_nats(self) -> socket.socket | None:
        for port in self._nats.ports:
            with suppress(OSError):
                outer = socket.create_connection(("127.0.0.1", port), timeout=10)
                outer.settimeout(None)
                return outer
        return None

    def _pump(self, source: socket.socket, target: socket.socket) -> None:
        try:
            while data := source.recv(CHUNK):
                while self.cut:
                    time.sleep(0.05)
                target.sendall(data)
        except OSError:
            pass
        finally:
            for end in (source, target):
                with suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)

    def kill(self) -> None:
        """kill -9 of the worker and of everything it started, as when the power fails."""
        if self._process is None:
            return
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._process = None
        self._close_sockets()

    def signal(self, number: signal.Signals) -> None:
        os.killpg(self.pid, number)

    def end(self) -> int:
        """Tell it to end, and wait until it has. Returns its exit code."""
        assert self._process is not None
        self._process.terminate()
        try:
            code = self._process.wait(AMPLE)
        except subprocess.TimeoutExpired:
            self._process.send_signal(signal.SIGABRT)  # PYTHONFAULTHANDLER: it writes where each thread stands
            self._process.wait()
            raise AssertionError(f"{self.name} did not end:\n{self.log.read_text(errors='replace')[-8000:]}") from None
        self._process = None
        self._close_sockets()
        return code

    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def _close_sockets(self) -> None:
        for end in list(self._sockets):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
        self._sockets.clear()


def copy_of_chyme(folder: Path) -> Path:
    """A copy of chyme's own code elsewhere, with other file times, for a machine of its own."""
    source = folder / "other place"
    shutil.copytree(ROOT / "src", source, ignore=shutil.ignore_patterns("__pycache__"), copy_function=shutil.copyfile)
    return source


def coordinator_settings(nats: Nats, **more: str) -> dict[str, str]:
    """The environment of a coordinator."""
    settings = {"workers_url": nats.url, "workers_credentials": os.fspath(nats.credentials("coordinator")), **more}
    return os.environ | OFF | {f"CHYME_{name.upper()}": value for name, value in settings.items()}


@contextmanager
def running(*parts: Nats | Machine) -> Iterator[None]:
    """Start these, and kill them at the end."""
    try:
        for part in parts:
            part.start()
        yield
    finally:
        for part in reversed(parts):
            if isinstance(part, NatsCluster):
                part.kill_all()
            else:
                part.kill()


def digest(vault: Path, environment: Mapping[str, str], *options: str) -> subprocess.Popen[bytes]:
    """`chyme digest`, under way."""
    return subprocess.Popen(
        [*CHYME, "digest", *options, "--vault", os.fspath(vault)],
        env=environment,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
