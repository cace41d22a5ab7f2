"""The parent's side of the template: the process from which children are copied."""

from __future__ import annotations

import json
import logging
import os
import platform
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from chyme.core.children.environment import PYTHON_OPTIONS, child_environment

CLONE_CALL = {"x86_64": 56, "aarch64": 220, "riscv64": 220}.get(platform.machine())  # the number of the system call
MODULE = "chyme.core.children.template_main"
MAX_MESSAGE, MAX_DESCRIPTORS = 64 << 10, 8
MAX_FAILURES = 3

log = logging.getLogger(__name__)


class NoCopy(Exception):
    """No copy can be made; the child must start by itself."""


@dataclass(frozen=True, slots=True)
class Stock:
    """What the template loads before it makes the first copy for these families."""

    preload: str = ""  # "module:function", called with the configuration and the names of the families
    config: Mapping[str, object] | None = None
    families: tuple[str, ...] = ()


class CopiedProcess:
    """A copy of the template, with the part of Popen's interface that is needed to end it."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode = 0

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> int:
        self.returncode = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.returncode


class Template:
    """Starts the process that copies itself, again if it ended. Only one thread may use it: the kernel ends the
    template and its copies with the thread that started it."""

    def __init__(self, answer_seconds: float = 60.0) -> None:
        self._answer_seconds = answer_seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._line: socket.socket | None = None
        self._failures = 0
        self._environment: dict[str, str] = {}
        self._loaded: frozenset[str] = frozenset()  # the orders' texts; replaced, never changed: other threads read it

    def copy(self, stock: Stock, descriptors: Sequence[int]) -> CopiedProcess:
        """Make a copy that becomes a child with these descriptors: its socket, its output, and others; or NoCopy."""
        pid = self._order(stock, descriptors)
        if pid <= 0:
            raise NoCopy
        return CopiedProcess(pid)

    def preload(self, stock: Stock) -> None:
        """Load what the next copies for these families share."""
        with suppress(NoCopy):
            self._order(stock, ())

    def has(self, stock: Stock) -> bool:
        """Whether the running template has loaded this. Any thread may ask."""
        return _write_order(stock) in self._loaded

    def _order(self, stock: Stock, descriptors: Sequence[int]) -> int:
        """Send an order and return the process id of the copy; 0 for an order without descriptors."""
        if CLONE_CALL is None or self._failures >= MAX_FAILURES:
            raise NoCopy
        order = _write_order(stock)
        try:
            line = self._ensure_started()
            socket.send_fds(line, [order.encode()], list(descriptors))
            answer = json.loads(line.recv(MAX_MESSAGE))
            pid = int(answer["pid"])
        except (OSError, ValueError) as error:
            self.close()
            self._failures += 1
            log.warning("children cannot be copied from a template (%s: %s)", type(error).__name__, error)
            raise NoCopy from error
        self._loaded |= {order}
        if answer["problem"]:
            log.debug("the template could not load everything:\n%s", answer["problem"])
        if answer["threads"] > 1:
            log.warning("a library started a thread in the template; from now on children start without it")
            self._failures = MAX_FAILURES
            self.close()
        return pid

    def _ensure_started(self) -> socket.socket:
        environment = child_environment()
        if self._line is not None and environment == self._environment:
            return self._line
        self.close()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, *PYTHON_OPTIONS, "-m", MODULE, str(theirs.fileno()), str(os.getpid())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
                env=environment,
            )
        ours.settimeout(self._answer_seconds)
        self._line, self._environment = ours, environment
        return ours

    @property
    def pid(self) -> int | None:
        """The process id of the template, if it runs."""
        process = self._process
        return process.pid if process else None

    def close(self) -> None:
        """End the template. Copies go on."""
        self._loaded = frozenset()
        if self._line is not None:
            self._line.close()
            self._line = None
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


def _write_order(stock: Stock) -> str:
    order = {"preload": stock.preload, "config": dict(stock.config or {}), "families": list(stock.families)}
    return json.dumps(order, sort_keys=True)
