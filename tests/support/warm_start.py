"""Start processes of chyme without starting Python and importing everything for each.

A process imports what chyme needs, and waits. Each process that a test starts is a copy of it, with its own
environment, folder, descriptors, signals and limits, and a child of the process that started it; only the start of
the interpreter and the imports are left out. A command gets a waiting copy as well, for the children it starts.
COLD_TESTS=1 starts every process as a user would; tests/end_to_end/test_cold_start.py always does.
"""

from __future__ import annotations

import atexit
import ctypes
import faulthandler
import fcntl
import gc
import importlib
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn, cast

from chyme.core.children.environment import OWN
from chyme.core.children.template import CLONE_CALL
from chyme.core.children.template_main import copy_process
from chyme.core.outbound.socket_messages import receive

WARM = CLONE_CALL is not None and "COLD_TESTS" not in os.environ
FORKABLE = ("MALLOC_ARENA_MAX", "OPENBLAS_NUM_THREADS", "ORT_DISABLE_TELEMETRY")  # libraries then start no threads
COMMAND = "chyme"
ROOM = "WARM_START_ROOM"  # a copy overwrites this variable with its environment, so that /proc contains it
ROOM_BYTES = 8 << 10
MAX_BYTES, MAX_DESCRIPTORS = 64 << 10, 64
HIGH = 1000  # received descriptors are kept above this number until each is moved to its place


class WaitingProcess:
    """A process that copies itself on demand."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line
        self._lock = threading.Lock()

    def copy(self, order: Mapping[str, object], descriptors: Sequence[int]) -> int:
        """Have a copy made, and return its process id; it is our child."""
        with self._lock:
            socket.send_fds(self._line, [json.dumps(order).encode()], descriptors)
            return int(self._line.recv(MAX_BYTES))


class WarmPopen(subprocess.Popen[bytes]):
    """A Popen whose process is a copy of the waiting one."""

    def __init__(self, waiting: WaitingProcess, arguments: Sequence[str], **how: Any) -> None:
        self._waiting = waiting
        super().__init__(arguments, **how)

    def _execute_child(self, arguments: Sequence[str], *how: Any) -> None:
        _, _, _, pass_fds, cwd, env, _, _, _, *ends = how[:15]
        at = arguments.index("-m")
        order = {
            "module": arguments[at + 1],
            "arguments": arguments[at + 2 :],
            "here": "-P" not in arguments[:at],
            "cwd": os.fspath(cwd or os.getcwd()),
            "environment": dict(os.environ if env is None else env),
            "session": how[20],
            "umask": _umask(),
            "places": [0, 1, 2, *pass_fds],
        }
        streams = [own if end == -1 else end for own, end in enumerate((ends[0], ends[3], ends[5]))]
        try:
            self.pid = self._waiting.copy(order, [*streams, *pass_fds])
            vars(self)["_child_created"] = True
        finally:
            cast("Any", self)._close_pipe_fds(*ends)


def _umask() -> int:
    """Read it from /proc: os.umask would change it."""
    status = Path("/proc/self/status").read_text(encoding="utf-8", errors="replace").splitlines()
    return next(int(line.split()[1], 8) for line in status if line.startswith("Umask:"))


def start(arguments: Sequence[str], **how: Any) -> subprocess.Popen[bytes]:
    """Start `python -m chyme`, or another module, as `subprocess.Popen` would."""
    return WarmPopen(_first(), arguments, **how) if WARM else subprocess.Popen(arguments, **how)


@cache
def _first() -> WaitingProcess:
    """Start the process that imports everything, once."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    own = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-P", __file__, str(theirs.fileno())],
            env={**own, ROOM: " " * ROOM_BYTES, **{name: OWN[name] for name in FORKABLE}},
            stdin=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
            start_new_session=True,
        )

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return WaitingProcess(ours)


# The rest of this file runs in the waiting process.


def _import_everything() -> None:
    from chyme.application.digester_config import config_of, without_secrets
    from chyme.application.settings import Settings
    from chyme.digesters import plugin_entry_points, preload
    from chyme.doors.cli.main import COMMANDS

    for module in sorted(set(COMMANDS.values())):
        importlib.import_module(f"chyme.doors.cli.commands.{module}")
    # Nothing that starts a thread when it is imported: threads are not copied.
    for module in ("chyme.digesters", "chyme.doors.http.server", "chyme.core.outbound.connection_client"):
        importlib.import_module(module)
    for module in ("pydantic_ai.models.openai", "mcp.server", "numpy", "PIL.Image", "lxml.html", "trafilatura"):
        importlib.import_module(module)
    # With the defaults, as most tests have them: models that are loaded here need not be loaded again by any copy.
    preload(without_secrets(config_of(Settings())), ["text", "embedding", "meaning"])
    plugin_entry_points.cache_clear()  # a test may have plug-ins
    assert threading.active_count() == len(os.listdir("/proc/self/task")) == 1


def _wait(line: socket.socket) -> None:
    """Copy this process for every order until the socket is closed. Copies never return from here."""
    gc.collect()
    gc.freeze()  # keeps the memory shared with the copies
    while True:
        data, descriptors, _ = receive(line, MAX_BYTES, MAX_DESCRIPTORS)
        if not data:
            os._exit(0)
        pid = copy_process()
        if pid == 0:
            line.close()
            _become(json.loads(data), descriptors)
        line.send(str(pid).encode())
        for descriptor in descriptors:
            os.close(descriptor)


def _become(order: dict[str, Any], descriptors: list[int]) -> NoReturn:
    try:
        if order["session"]:
            os.setsid()
        waiting = [fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, HIGH) for descriptor in descriptors]
        for descriptor in descriptors:
            os.close(descriptor)
        for descriptor, place in zip(waiting, order["places"], strict=True):
            os.dup2(descriptor, place)
            os.close(descriptor)
        os.chdir(order["cwd"])
        os.umask(order["umask"])
        _take_over(order["environment"])
        sys.path[:0] = [order["cwd"]] if order["here"] else []
        sys.argv = [order["module"], *order["arguments"]]
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if order["module"] == COMMAND:
            _have_warm_children()
        else:
            faulthandler.enable()
        _end(_run(order["module"]))
    except BaseException:
        traceback.print_exc()
        os._exit(1)


def _take_over(environment: dict[str, str]) -> None:
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    sys.path[:0] = [folder for folder in environment.get("PYTHONPATH", "").split(os.pathsep) if folder]
    _show(environment)


def _show(environment: Mapping[str, str]) -> None:
    """Make /proc show this environment, as for a process that was started with it."""
    fields = Path("/proc/self/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    start, end = int(fields[47]), int(fields[48])
    at = ctypes.string_at(start, end - start).index(ROOM.encode() + b"=")
    block = b"".join(os.fsencode(f"{name}={value}") + b"\0" for name, value in {ROOM: "", **environment}.items())
    ctypes.memmove(start + at, block[:ROOM_BYTES].ljust(ROOM_BYTES, b"\0"), ROOM_BYTES)


def _have_warm_children() -> None:
    """Start another waiting copy beside the command, which makes the command's children."""
    from chyme.core.children import process, template

    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if os.fork() == 0:
        ours.close()
        os.setsid()
        _show({})  # so that it is not mistaken for a process of chyme
        nowhere = os.open(os.devnull, os.O_RDWR)
        for place in range(3):
            os.dup2(nowhere, place)
        os.chdir("/")
        _wait(theirs)
    theirs.close()
    made = partial(WarmPopen, WaitingProcess(ours))
    for module in (process, template):
        vars(module)["subprocess"] = SimpleNamespace(Popen=made, DEVNULL=subprocess.DEVNULL)


def _run(module: str) -> int:
    """Run the module, and return its exit code as Python would."""
    try:
        sys.modules.pop(module, None)
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        if ended.code is None or isinstance(ended.code, int):
            return ended.code or 0
        print(ended.code, file=sys.stderr)
        return 1
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def _end(code: int) -> NoReturn:
    """End as Python does, without tearing down the modules."""
    cast("Any", threading)._shutdown()
    cast("Any", atexit)._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(ValueError, OSError):
            stream.flush()
    os._exit(code)


if __name__ == "__main__":
    order_line = socket.socket(fileno=int(sys.argv[1]))
    order_line.set_inheritable(False)
    _import_everything()
    _wait(order_line)
