"""The real search servers, started for tests: on loopback, as the user nobody, with their data in a test folder."""

from __future__ import annotations

import os
import platform
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]
_FETCH = _ROOT / ".ci" / "engines"
_FETCHED = _ROOT / ".cache" / "engines"
_COMES_UP_WITHIN, _ENDS_WITHIN = 60.0, 20.0
KEY = "a-key-for-tests-alone"


def absent() -> str | None:
    """Why the servers cannot be started here; None when they can. Fetches them on first use."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return "the search servers are only packed for Linux on x86-64"
    if all(binary.exists() for binary in (_binary("meilisearch"), _binary("qdrant"))):
        return None
    fetched = subprocess.run(["sh", os.fspath(_FETCH)], capture_output=True, text=True, check=False)
    return None if fetched.returncode == 0 else fetched.stderr.strip().splitlines()[-1]


@contextmanager
def both_running() -> Iterator[dict[str, Server]]:
    """Meilisearch and Qdrant, with empty folders."""
    with tempfile.TemporaryDirectory(prefix="chyme-engines-") as folder:
        Path(folder).chmod(0o755)  # the servers run as another user, in their own folders inside
        servers = {name: Server(name, Path(folder)) for name in ("meilisearch", "qdrant")}
        try:
            for server in servers.values():
                server.start()
            yield servers
        finally:
            for server in servers.values():
                server.kill()


class Server:
    """A server that can be killed and started again on the same data."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.folder = folder / name
        self.port = _free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the server and return once it answers."""
        self.folder.mkdir(mode=0o700, exist_ok=True)
        as_nobody = os.geteuid() == 0
        if as_nobody:
            shutil.chown(self.folder, "nobody", "nogroup")
        with (self.folder.parent / f"{self.name}.log").open("ab") as log:
            self._process = subprocess.Popen(
                self._command(),
                cwd=self.folder,
                env={"HOME": os.fspath(self.folder), "TMPDIR": os.fspath(self.folder), **self._variables()},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                user="nobody" if as_nobody else None,
                group="nogroup" if as_nobody else None,
                extra_groups=[] if as_nobody else None,
            )
        self._wait_until_it_answers(self._process)

    def kill(self) -> None:
        """End the server at once, as a crash would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(_ENDS_WITHIN)
            self._process = None

    def pause(self) -> None:
        """Make it accept connections but answer nothing until `go_on`."""
        os.kill(self.pid, signal.SIGSTOP)

    def go_on(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def lose_everything(self) -> None:
        """Delete all its data. Only while it does not run."""
        shutil.rmtree(self.folder)

    def ask(self, path: str) -> bytes:
        """Its answer to a GET request, with the key."""
        headers = {"authorization": f"Bearer {KEY}", "api-key": KEY}
        with urllib.request.urlopen(urllib.request.Request(self.url + path, headers=headers), timeout=300) as answer:
            body: bytes = answer.read()
            return body

    @property
    def pid(self) -> int:
        assert self._process is not None, "it does not run"
        return self._process.pid

    def said(self) -> str:
        return (self.folder.parent / f"{self.name}.log").read_text(errors="replace")[-4000:]

    def _command(self) -> list[str]:
        program = os.fspath(_binary(self.name))
        if self.name == "qdrant":
            return [program, "--disable-telemetry"]
        return [
            program,
            "--no-analytics",
            "--http-addr",
            f"127.0.0.1:{self.port}",
            "--db-path",
            "data",
            "--env",
            "production",
        ]

    def _variables(self) -> dict[str, str]:
        if self.name == "meilisearch":
            return {"MEILI_MASTER_KEY": KEY, "MEILI_MAX_INDEXING_MEMORY": "256Mb", "MEILI_MAX_INDEXING_THREADS": "1"}
        return {
            "QDRANT__SERVICE__HOST": "127.0.0.1",
            "QDRANT__SERVICE__HTTP_PORT": str(self.port),
            "QDRANT__SERVICE__GRPC_PORT": str(_free_port()),
            "QDRANT__SERVICE__API_KEY": KEY,
            "QDRANT__SERVICE__ENABLE_STATIC_CONTENT": "false",
            "QDRANT__TELEMETRY_DISABLED": "true",
            "QDRANT__STORAGE__STORAGE_PATH": "./storage",
            "QDRANT__STORAGE__SNAPSHOTS_PATH": "./snapshots",
            "QDRANT__LOG_LEVEL": "WARN",
        }

    def _wait_until_it_answers(self, process: subprocess.Popen[bytes]) -> None:
        path = "/readyz" if self.name == "qdrant" else "/health"
        until = time.monotonic() + _COMES_UP_WITHIN
        while time.monotonic() < until:
            if process.poll() is not None:
                raise RuntimeError(f"{self.name} ended with {process.returncode}:\n{self.said()}")
            try:
                with urllib.request.urlopen(self.url + path, timeout=300):
                    return
            except (urllib.error.URLError, OSError):
                time.sleep(0.05)
        self.kill()
        raise RuntimeError(f"{self.name} does not answer:\n{self.said()}")


def _binary(name: str) -> Path:
    return _FETCHED / name


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
