"""Convert office documents to PDF with a LibreOffice process of our own, which is reused for further documents.

The process keeps an empty document open, so that it does not end after the first conversion; each document is handed to
it over the socket by which a second `soffice` command would pass on its arguments. Warm, that takes 0.02 to 0.2 seconds
instead of one. It ends with us: the kernel kills it when the thread that started it dies.
"""

from __future__ import annotations

import atexit
import ctypes
import functools
import os
import resource
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from chyme.documents.libreoffice.installation import office_build
from chyme.documents.libreoffice.profile import OfficeProfile
from chyme.documents.pages.limits import PageLimits

START_SECONDS = 45.0
POLL_SECONDS = 0.02
PDF_BYTES = 256 << 20  # limit for what is read back into memory
RESTART_EXIT_CODE = 81  # the exit code by which it asks to be started again, because its profile is of another build
MAX_STARTS = 3
PR_SET_PDEATHSIG = 1
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
TICKS = os.sysconf("SC_CLK_TCK")
KEPT_ENVIRONMENT = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ")


class OfficeFailed(Exception):
    """LibreOffice did not make a PDF; the message gives the reason, as part of a sentence."""


@functools.cache
def office(program: Path, limits: PageLimits) -> Office:
    """This process's LibreOffice; it starts with its first document and ends with this process."""
    instance = Office(program, limits)
    atexit.register(instance.close)
    return instance


class Office:
    """One LibreOffice process at a time, replaced when it dies, hangs, grows or has served long enough."""

    def __init__(self, program: Path, limits: PageLimits) -> None:
        self._program = program
        self._limits = limits
        self._home: OfficeProfile | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._served = 0

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process and self._process.poll() is None else None

    @property
    def folder(self) -> Path | None:
        return self._home.path if self._home else None

    def convert_to_pdf(self, data: bytes, extension: str) -> bytes:
        """The document as PDF, or OfficeFailed."""
        try:
            home = self._home = self._home or OfficeProfile(office_build(self._program))
            if self._needs_replacement():
                self._stop()
            fresh = self.pid is None
            try:
                return self._convert_once(home, data, extension)
            except EOFError:
                if fresh:
                    raise
            # Perhaps an earlier document had damaged it, so try once more.
            return self._convert_once(home, data, extension)
        except EOFError:
            raise OfficeFailed("LibreOffice crashed on it") from None
        except OSError as error:
            self._stop()
            raise OfficeFailed(f"LibreOffice could not be used ({error.strerror or error})") from error
        finally:
            if self._home:
                with suppress(OSError):
                    self._home.clear_document_folder()

    def close(self) -> None:
        """End the process and remove its folder."""
        self._stop()
        if self._home:
            self._home.remove()
            self._home = None

    def _convert_once(self, home: OfficeProfile, data: bytes, extension: str) -> bytes:
        if self.pid is None:
            self._start(home)
        self._served += 1
        document, pdf = home.document_folder / f"document.{extension}", home.document_folder / "made" / "document.pdf"
        document.write_bytes(data)
        deadline = time.monotonic() + self._limits.office_seconds
        self._limit_cpu(self._limits.office_seconds)
        arguments = ("--headless", "--convert-to", "pdf", "--outdir", str(pdf.parent), str(document))
        try:
            _send_arguments(home.pipes, home.document_folder, arguments, deadline)
        except (EOFError, ConnectionError):
            self._stop()
            raise EOFError from None
        except TimeoutError:
            self._stop()
            raise OfficeFailed(f"LibreOffice took longer than {self._limits.office_seconds:g} seconds") from None
        try:
            if pdf.stat().st_size > PDF_BYTES:
                raise OfficeFailed(f"LibreOffice made a PDF of more than {PDF_BYTES >> 20} MB of it")
            return pdf.read_bytes()
        except FileNotFoundError:
            raise OfficeFailed("LibreOffice could not read it") from None

    def _start(self, home: OfficeProfile) -> None:
        self._served = 0
        home.reset()
        deadline = time.monotonic() + START_SECONDS
        for _ in range(MAX_STARTS):
            self._process = self._spawn(home)
            while (code := self._process.poll()) is None:
                try:
                    # Answered when the empty document is open.
                    _send_arguments(home.pipes, home.document_folder, (), deadline)
                    home.restrict_pipe_access()
                    return
                except (OSError, EOFError):
                    if time.monotonic() > deadline:
                        self._stop()
                        raise OfficeFailed(f"LibreOffice did not start within {START_SECONDS:g} seconds") from None
                    time.sleep(POLL_SECONDS)
            home.delete_pipes()
            if code != RESTART_EXIT_CODE:
                break
        self._stop()
        raise OfficeFailed(f"LibreOffice does not start (code {code}); try `soffice --headless` by hand")

    def _spawn(self, home: OfficeProfile) -> subprocess.Popen[bytes]:
        environment = {name: os.environ[name] for name in KEPT_ENVIRONMENT if name in os.environ}
        environment |= {
            "HOME": str(home.path),
            "TMPDIR": str(home.temporary),
            "XDG_CACHE_HOME": str(home.path / "cache"),
            "SAL_USE_VCLPLUGIN": "svp",
            "SAL_DISABLE_OPENCL": "1",
            "MAX_CONCURRENCY": "1",
            "MALLOC_ARENA_MAX": "2",
        }
        return subprocess.Popen(
            [
                str(self._program),
                f"-env:UserInstallation={home.profile.as_uri()}",
                *("--headless", "--invisible", "--norestore", "--nolockcheck", "--nologo", "--minimized"),
                "private:factory/swriter",
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=home.document_folder,
            env=environment,
            # In our process group on purpose: processes that LibreOffice starts die with the group when we are ended.
            preexec_fn=_child_limits(os.getpid(), self._limits.office_memory_mb << 20),  # noqa: PLW1509 (one thread here)
        )

    def _needs_replacement(self) -> bool:
        if self.pid is None:
            return False
        return (
            self._served >= self._limits.office_documents
            or self._resident_bytes() > self._limits.office_memory_mb << 19
        )

    def _resident_bytes(self) -> int:
        try:
            with open(f"/proc/{self.pid}/statm", "rb", buffering=0) as statm:
                return int(statm.read().split()[1]) * PAGE_BYTES
        except (OSError, IndexError):
            return 0

    def _limit_cpu(self, seconds: float) -> None:
        """Limit CPU time from now on, so that a busy loop ends even if no one watches the clock."""
        try:
            with open(f"/proc/{self.pid}/stat", "rb", buffering=0) as stat:
                fields = stat.read().rpartition(b")")[2].split()
            used = (int(fields[11]) + int(fields[12])) // TICKS
            limit = used + int(seconds) + 2
            resource.prlimit(self.pid or 0, resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))
        except (OSError, IndexError, ValueError):
            return  # the wall clock limit still applies

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
        if self._home:
            self._home.delete_pipes()


def _child_limits(parent: int, memory: int) -> Callable[[], None]:
    libc = ctypes.CDLL(None)

    def apply_limits() -> None:
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)
        _, limit = resource.getrlimit(resource.RLIMIT_CPU)
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        _, limit = resource.getrlimit(resource.RLIMIT_AS)
        limit = memory if limit == resource.RLIM_INFINITY else min(memory, limit)
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

    return apply_limits


def _send_arguments(pipes: tuple[Path, ...], folder: Path, arguments: tuple[str, ...], deadline: float) -> None:
    """Make the running process act on these arguments, and wait until it has."""
    pipe = next(filter(Path.exists, pipes), None)
    if pipe is None:
        raise ConnectionError("nothing listens")
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(max(0.01, deadline - time.monotonic()))
        connection.connect(str(pipe))
        if _receive(connection, deadline) != b"InternalIPC::SendArguments":
            raise ConnectionError("something else listens")
        joined = ",".join([_escape(str(folder)), *map(_escape, arguments)])
        connection.sendall(f"InternalIPC::Arguments2{joined}".encode() + b"\0")
        _receive(connection, deadline)


def _receive(connection: socket.socket, deadline: float) -> bytes:
    """The next message of the process; EOFError if it is gone."""
    message = b""
    while not message.endswith(b"\0"):
        connection.settimeout(max(0.01, deadline - time.monotonic()))
        chunk = connection.recv(1024)
        if not chunk:
            raise EOFError
        message += chunk
    return message[:-1]


def _escape(argument: str) -> str:
    return argument.replace("\\", "\\\\").replace(",", "\\,")
