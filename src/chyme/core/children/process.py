"""One operating system process at the other end of a socket: start it, hear it, end it."""

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

from chyme.core.children.frames import Frame, Inbox

TAIL = 8 << 10
CHUNK = 256 << 10
LOOK_SECONDS = 1.0  # how often we make sure that a silent process still lives
PAGE = os.sysconf("SC_PAGE_SIZE")
PYTHON_OPTIONS = ("-P", "-s", "-X", "utf8", "-X", "faulthandler")  # -P: nothing is imported from the current folder
HERE = "/proc/self/cwd"
KEPT_ENVIRONMENT = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "LD_LIBRARY_PATH", "PYTHONPATH")


class Process:
    """It belongs to the thread that started it: the kernel ends it when that thread ends."""

    def __init__(self, module: str, inherited: Sequence[int] = ()) -> None:
        self._inbox = Inbox()
        self._tail = bytearray()
        self._ending = threading.Lock()
        self._ended = False
        self._sock, theirs = socket.socketpair()
        self._noise, noise = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(self._noise, False)
        try:
            self._popen = subprocess.Popen(
                [sys.executable, *PYTHON_OPTIONS, "-m", module, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=noise,
                stderr=noise,
                pass_fds=(theirs.fileno(), *inherited),
                start_new_session=True,  # Ctrl-C in the terminal is for chyme, which then decides
                env=_environment(),
            )
        except BaseException:
            self._sock.close()
            os.close(self._noise)
            raise
        finally:
            theirs.close()
            os.close(noise)
        self._poll = select.poll()
        self._poll.register(self._sock, select.POLLIN)
        self._poll.register(self._noise, select.POLLIN)

    @property
    def pid(self) -> int:
        return self._popen.pid

    def send(self, data: bytes, fds: Sequence[int], deadline: float) -> None:
        """Send a packed frame; ConnectionError when nobody is there, TimeoutError when nobody listens."""
        self._sock.settimeout(max(0.01, deadline - time.monotonic()))
        sent = socket.send_fds(self._sock, [data], list(fds))
        if sent < len(data):
            self._sock.sendall(data[sent:])

    def receive(self, deadline: float) -> Frame | None:
        """The next frame; None when the process is gone, TimeoutError when time is up."""
        while (frame := self._inbox.next()) is None:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            ready = [fd for fd, _ in self._poll.poll(min(left, LOOK_SECONDS) * 1000 + 1)]
            if self._noise in ready:
                self._listen()
            if self._sock.fileno() in ready:
                data = self._sock.recv(CHUNK)
                if not data:
                    return None
                self._inbox.feed(data)
            elif not ready and not self.alive():
                return None  # something it started holds its end of the socket open
        return frame

    def _listen(self) -> None:
        with suppress(BlockingIOError):
            heard = os.read(self._noise, CHUNK)
            if not heard:
                self._poll.modify(self._noise, 0)
            self._tail += heard
            del self._tail[:-TAIL]

    def last_output(self) -> str:
        """The end of what it printed: native code explains its crashes there."""
        self._listen()
        return self._tail.decode("utf-8", "replace")

    def alive(self) -> bool:
        """Looks without reaping, so that the process id stays ours until `end`."""
        with self._ending:
            if self._ended:
                return False
            return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None

    def resident(self) -> int:
        """Bytes of memory it holds now; 0 when it is gone."""
        try:
            with open(f"/proc/{self.pid}/statm", "rb", buffering=0) as statm:  # after every task: must be quick
                return int(statm.read().split()[1]) * PAGE
        except (OSError, IndexError):
            return 0

    def peak(self) -> int:
        """The most bytes of memory it ever held; 0 when it is gone."""
        try:
            lines = Path(f"/proc/{self.pid}/status").read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return 0
        return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:")), 0)

    def end(self) -> int:
        """Kill it with all it started; what it returned. Safe to call twice and from any thread."""
        with self._ending:
            if not self._ended:
                # The group goes first: once the process is reaped, its number may belong to somebody else.
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(self.pid, signal.SIGKILL)
                self._popen.kill()
                self._popen.wait()
                self._ended = True
            return self._popen.returncode

    def dispose(self) -> None:
        """End it and free what is left. Only for the thread that talks to it, and only once."""
        self.end()
        self._sock.close()
        os.close(self._noise)


def _environment() -> dict[str, str]:
    """No keys and no tokens for parsers; temporary files belong into the task's own folder."""
    kept = {name: os.environ[name] for name in KEPT_ENVIRONMENT if name in os.environ}
    # This name for the current folder works even where the folders above it are closed to the child.
    # Without the arena limit each thread's heap reserves 64 MB of the address space that limits count, and numpy's
    # algebra, which nobody here needs, reserves as much for each core.
    own = {"TMPDIR": HERE, "HOME": "/nonexistent", "MALLOC_ARENA_MAX": "2", "OPENBLAS_NUM_THREADS": "1"}
    return kept | own
