"""One operating system process at the other end of a socket: start it, exchange messages, end it."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from chyme.core.children.environment import PYTHON_OPTIONS, child_environment
from chyme.core.children.frames import Frame, Inbox
from chyme.core.children.template import CopiedProcess, NoCopy, Stock, Template
from chyme.core.process_memory import read_memory

TAIL = 8 << 10
CHUNK = 256 << 10
LOOK_SECONDS = 1.0  # how often to check that a silent process is still alive


class Process:
    """A process that belongs to the thread that started it: the kernel kills it when that thread ends."""

    def __init__(
        self, module: str, inherited: Sequence[int] = (), template: Template | None = None, stock: Stock | None = None
    ) -> None:
        """Start the module, or a copy of the template that does the same."""
        self._inbox = Inbox()
        self._last_output = bytearray()
        self._end_lock = threading.Lock()
        self._ended = False
        self._sock, child_socket = socket.socketpair()
        self._output_fd, child_output_fd = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(self._output_fd, False)
        try:
            self._process = self._start(module, [child_socket.fileno(), *inherited], child_output_fd, template, stock)
        except BaseException:
            self._sock.close()
            os.close(self._output_fd)
            raise
        finally:
            child_socket.close()
            os.close(child_output_fd)
        self._poll = select.poll()
        self._poll.register(self._sock, select.POLLIN)
        self._poll.register(self._output_fd, select.POLLIN)

    def _start(
        self, module: str, descriptors: Sequence[int], output_fd: int, template: Template | None, stock: Stock | None
    ) -> CopiedProcess | subprocess.Popen[bytes]:
        """Start it with a socket and further descriptors."""
        if template is not None:
            with suppress(NoCopy):
                return template.copy(stock or Stock(), [descriptors[0], output_fd, *descriptors[1:]])
        return subprocess.Popen(
            [sys.executable, *PYTHON_OPTIONS, "-m", module, *map(str, descriptors)],
            stdin=subprocess.DEVNULL,
            stdout=output_fd,
            stderr=output_fd,
            pass_fds=descriptors,
            start_new_session=True,  # Ctrl-C in the terminal goes only to chyme, which then decides
            env=child_environment(),
        )

    @property
    def is_copy(self) -> bool:
        """Whether it is a copy of the template, and so shares its memory."""
        return isinstance(self._process, CopiedProcess)

    @property
    def pid(self) -> int:
        return self._process.pid

    def send(self, data: bytes, fds: Sequence[int], deadline: float) -> None:
        """Send a packed frame; raises ConnectionError when the process is gone, TimeoutError when it does not read."""
        self._sock.settimeout(max(0.01, deadline - time.monotonic()))
        sent = socket.send_fds(self._sock, [data], list(fds))
        if sent < len(data):
            self._sock.sendall(data[sent:])

    def receive(self, deadline: float) -> Frame | None:
        """The next frame; None when the process is gone. Raises TimeoutError at the deadline."""
        while (frame := self._inbox.next()) is None:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            ready = [fd for fd, _ in self._poll.poll(min(left, LOOK_SECONDS) * 1000 + 1)]
            if self._output_fd in ready:
                self._read_output()
            if self._sock.fileno() in ready:
                data = self._sock.recv(CHUNK)
                if not data:
                    return None
                self._inbox.feed(data)
            elif not ready and not self.alive():
                return None  # a process it started keeps its end of the socket open
        return frame

    def _read_output(self) -> None:
        with suppress(BlockingIOError):
            data = os.read(self._output_fd, CHUNK)
            if not data:
                self._poll.modify(self._output_fd, 0)
            self._last_output += data
            del self._last_output[:-TAIL]

    def last_output(self) -> str:
        """The end of what it printed: native code explains its crashes there."""
        self._read_output()
        return self._last_output.decode("utf-8", "replace")

    def alive(self) -> bool:
        """Check without reaping, so that the process id stays reserved until `end`."""
        with self._end_lock:
            if self._ended:
                return False
            return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None

    def resident(self) -> int:
        """Bytes of memory it uses now; 0 when it is gone."""
        return read_memory(self.pid)[0]

    def anonymous(self) -> int:
        """The part of that memory that is not a file's; what it shares with the template counts, too."""
        resident, shared = read_memory(self.pid)
        return resident - shared

    def programs_memory(self) -> int:
        """Memory of other programs that it started and that still run (LibreOffice, for one), without that of files."""
        return sum(resident - shared for resident, shared in map(read_memory, _programs_below(self.pid)))

    def peak(self) -> int:
        """The most bytes of memory it ever used; 0 when it is gone."""
        try:
            lines = Path(f"/proc/{self.pid}/status").read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return 0
        return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:")), 0)

    def end(self) -> int:
        """Kill it with everything it started and return its exit code. Safe to call twice and from any thread."""
        with self._end_lock:
            if not self._ended:
                # The group goes first: once the process is reaped, its id may belong to another process.
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(self.pid, signal.SIGKILL)
                self._process.kill()
                self._process.wait()
                self._ended = True
            return self._process.returncode

    def dispose(self) -> None:
        """End it and free its resources. Only for the thread that talks to it, and only once."""
        self.end()
        self._sock.close()
        os.close(self._output_fd)


def _programs_below(pid: int) -> list[int]:
    """The processes below this one that run another program than it does; copies share its memory. Only those that
    first threads started: ours start programs nowhere else."""
    found: list[int] = []
    try:
        program = os.readlink(f"/proc/{pid}/exe")
        with open(f"/proc/{pid}/task/{pid}/children", "rb", buffering=0) as children:  # runs often: must be quick
            below = [int(child) for child in children.read().split()]
        for child in below:
            found += [child] if os.readlink(f"/proc/{child}/exe") != program else []
            found += _programs_below(child)
    except OSError:  # one of them has ended
        return found
    return found
