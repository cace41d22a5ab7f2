"""Real chyme processes on a real folder, found again and ended by a mark in their environment."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import httpx
import waiting
import warm_start
from waiting import AMPLE

wait_until = waiting.wait_until

PROJECT = Path(__file__).parents[2]
SAMPLES = PROJECT / "tests/samples"
OLD = 3600.0  # chyme leaves a file alone until it was unchanged for a while


def unmount(folder: Path) -> None:
    """Unmount, with retries: killed processes keep a file system busy for a moment."""
    wait_until(lambda: subprocess.run(["umount", folder], capture_output=True, check=False).returncode == 0)


@dataclass(frozen=True)
class Ended:
    """The exit code and output of a command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class RunningChyme:
    """All processes on one vault. `site` is on PYTHONPATH: for plug-ins, and as the mark of our processes.

    Its processes are copies of a warm process, unless `cold` makes them start as a user starts them.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.vault = folder / "vault"
        self.site = folder / "site"
        self.vault.mkdir()
        self.site.mkdir()
        self.settings = {
            "CHYME_CRAWL": "false",  # links in the samples lead to other machines
            "CHYME_WEIGHTS_FETCH": "false",
            "CHYME_SERVER_DIR": os.fspath(folder / "server"),
        }
        self.cold = False
        self._files: list[IO[bytes]] = []
        self._started: list[subprocess.Popen[bytes]] = []

    def drop(self, name: str, content: str | bytes, *, still: bool = True) -> Path:
        """Put a file into the vault, as if it had been there for a long time."""
        path = self.vault / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        if still:
            moment = time.time() - OLD
            os.utime(path, (moment, moment))
        return path

    def environment(self, more: Mapping[str, str] | None = None) -> dict[str, str]:
        own = {name: value for name, value in os.environ.items() if not name.startswith("CHYME_")}
        return own | {"PYTHONPATH": os.fspath(self.site)} | self.settings | dict(more or {})

    def run(
        self,
        *arguments: str,
        seconds: float = 2 * AMPLE,
        vault: Path | None = None,
        anywhere: bool = False,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        typed: str | None = None,
    ) -> Ended:
        """Run a command to its end; `anywhere` leaves out --vault."""
        where = [] if anywhere else ["--vault", os.fspath(vault or self.vault)]
        with self.popen(
            *(arguments[0], *where, *arguments[1:]),
            env=self.environment(env),
            cwd=cwd or self.folder,
            stdin=subprocess.DEVNULL if typed is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process:
            try:
                out, err = process.communicate(None if typed is None else typed.encode(), timeout=seconds)
            except BaseException:
                process.kill()
                raise
        return Ended(process.returncode, out.decode(), err.decode())

    def popen(self, *arguments: str, **how: Any) -> subprocess.Popen[bytes]:
        """Start chyme as `subprocess.Popen` does. The caller must end the process."""
        start = subprocess.Popen if self.cold else warm_start.start
        return start([sys.executable, "-m", "chyme", *arguments], **how)

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Start a command that keeps running; `said` returns its output."""
        out = (self.folder / f"said-{len(self._started)}.txt").open("wb")
        self._files.append(out)
        process = self.popen(
            *(arguments[0], "--vault", os.fspath(self.vault), *arguments[1:]),
            env=self.environment(),
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self._started.append(process)
        return process

    def said(self, process: subprocess.Popen[bytes]) -> str:
        return (self.folder / f"said-{self._started.index(process)}.txt").read_text()

    def serve(self, *arguments: str) -> Server:
        """Start a serving chyme, and wait until it answers."""
        process = self.start("serve", "--port", "0", "--json", *arguments)

        def is_announced() -> bool:
            assert process.poll() is None, self.said(process)
            return any(
                line.startswith('{"address"') and line[-1:] == "\n"
                for line in self.said(process).splitlines(keepends=True)
            )

        wait_until(is_announced)
        address = next(
            json.loads(line)["address"] for line in self.said(process).splitlines() if line.startswith('{"address"')
        )
        server = Server(process, httpx.Client(base_url=address, timeout=300, trust_env=False))
        wait_until(server.answers)
        return server

    def rows(self, question: str, *values: object) -> list[tuple[Any, ...]]:
        """Query the vault's database."""
        with closing(sqlite3.connect(self.vault / ".chyme/vault.db", timeout=30)) as db:
            return db.execute(question, values).fetchall()

    def alive(self) -> list[int]:
        """Ids of our processes and their children that have not ended."""
        wanted = b"PYTHONPATH=" + os.fsencode(self.site) + b"\0"
        found = []
        for folder in Path("/proc").iterdir():
            if folder.name.isdigit():
                with suppress(OSError):
                    if wanted in (folder / "environ").read_bytes():
                        found.append(int(folder.name))
        return found

    def close(self) -> list[int]:
        """End all running processes. Return the children that outlived their parents."""
        running = [process for process in self._started if process.poll() is None]
        orphans: list[int] = []
        if not running:
            deadline = time.monotonic() + AMPLE
            while (orphans := self.alive()) and time.monotonic() < deadline:
                time.sleep(0.02)
        for pid in self.alive():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for process in self._started:
            process.wait(AMPLE)
        for file in self._files:
            file.close()
        return orphans


@dataclass(frozen=True)
class Server:
    """A serving chyme and a client for it."""

    process: subprocess.Popen[bytes]
    http: httpx.Client

    def answers(self) -> bool:
        try:
            return self.http.get("/healthz").status_code == 200
        except httpx.TransportError:
            return False

    def end(self, how: signal.Signals) -> int:
        self.http.close()
        self.process.send_signal(how)
        return self.process.wait(AMPLE)
