"""Processes of chyme that need not start Python and import everything anew.

One process has imported what chyme needs, and waits. Who is started is a copy of it: a process of its own, with its own
environment, folder, descriptors, signals and limits, and a child of whoever asked for it. All that is missing is the
start of the interpreter and the imports. A command gets a waiting copy of its own, for the children it starts.
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
import platform
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

from chyme.core.outbound.socket_messages import receive

CLONE = {"x86_64": 56, "aarch64": 220}.get(platform.machine())  # the number of the call
WARM = CLONE is not None and "WARM_TESTS" in os.environ  # by default processes start as those of a person do
CLONE_PARENT = 0x8000  # a brother instead of a child
COMMAND = "chyme"
ROOM = "WARM_START_ROOM"  # the variable in whose place a copy writes its environment, for those who look into /proc
ROOM_BYTES = 8 << 10
MOST_BYTES, MOST_DESCRIPTORS = 64 << 10, 64
HIGH = 1000  # descriptors on their way to their place wait here, where nobody's place is


class WaitingProcess:
    """One that copies itself on demand."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line
        self._lock = threading.Lock()

    def copy(self, order: Mapping[str, object], descriptors: Sequence[int]) -> int:
        """The id of the copy, which is our child."""
        with self._lock:
            socket.send_fds(self._line, [json.dumps(order).encode()], descriptors)
            return int(self._line.recv(MOST_BYTES))


class WarmPopen(subprocess.Popen[bytes]):
    """Like its parent in every respect but how the process comes to be."""

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
    """Asking the system for it would mean to change it."""
    told = Path("/proc/self/status").read_text(encoding="utf-8", errors="replace").splitlines()
    return next(int(line.split()[1], 8) for line in told if line.startswith("Umask:"))


def start(arguments: Sequence[str], **how: Any) -> subprocess.Popen[bytes]:
    """What `subprocess.Popen` starts, for `python -m chyme`."""
    return WarmPopen(_first(), arguments, **how) if WARM else subprocess.Popen(arguments, **how)


@cache
def _first() -> WaitingProcess:
    """The process that imports everything, in time for the first who is started."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    own = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-P", __file__, str(theirs.fileno())],
            env=own | {ROOM: " " * ROOM_BYTES, "MALLOC_ARENA_MAX": "2", "OPENBLAS_NUM_THREADS": "1"},
            stdin=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
            start_new_session=True,
        )

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return WaitingProcess(ours)


# From here on: what the waiting process does.


def _import_everything() -> None:
    from chyme.doors.cli.main import COMMANDS
    from chyme.text.language_detection import language_of

    for module in sorted(set(COMMANDS.values())):
        importlib.import_module(f"chyme.doors.cli.commands.{module}")
    # Nothing that starts a thread when it is imported, as onnxruntime does: threads are not copied.
    for module in ("chyme.digesters", "chyme.doors.http.server", "chyme.core.outbound.connection_client"):
        importlib.import_module(module)
    for module in ("pydantic_ai.models.openai", "mcp.server", "numpy", "PIL.Image", "lxml.html", "trafilatura"):
        importlib.import_module(module)
    language_of("The model that tells languages apart is loaded when it is first asked.")
    _build_embedder()
    assert threading.active_count() == len(os.listdir("/proc/self/task")) == 1


def _build_embedder() -> None:
    """Have its network ready: most of what loading it takes is rounding numbers, of the same weights every time."""
    import numpy

    from chyme.models.embedding import minilm
    from chyme.models.embedding.minilm_network import build_network
    from chyme.models.weights.catalog import EMBEDDING
    from chyme.models.weights.folder import path_of
    from chyme.models.weights.safetensors import read_tensors

    folder = path_of(EMBEDDING)
    if folder is None:
        return
    seen = read_tensors(folder / "model.safetensors")
    built = build_network(seen)

    def ready(tensors: Mapping[str, Any], exact: bool = False) -> tuple[bytes, str]:
        same = tensors.keys() == seen.keys() and all(numpy.array_equal(tensors[name], seen[name]) for name in seen)
        return built if same and not exact else build_network(tensors, exact)

    vars(minilm)["build_network"] = ready


def _wait(line: socket.socket) -> None:
    """Copy this process for every order, until nobody can give any more. Every copy ends in here."""
    gc.collect()
    gc.freeze()  # what is never looked at again stays shared with the copies
    while True:
        data, descriptors, _ = receive(line, MOST_BYTES, MOST_DESCRIPTORS)
        if not data:
            os._exit(0)
        pid = _copied()
        if pid == 0:
            line.close()
            _become(json.loads(data), descriptors)
        line.send(str(pid).encode())
        for descriptor in descriptors:
            os.close(descriptor)


def _copied() -> int:
    """Fork a brother: as `os.fork` does it, but our parent is its parent, too."""
    python, libc = ctypes.pythonapi, ctypes.PyDLL(None)
    python.PyOS_BeforeFork()
    pid = libc.syscall(ctypes.c_long(CLONE or 0), ctypes.c_long(CLONE_PARENT | signal.SIGCHLD), None, None, None, None)
    python.PyOS_AfterFork_Parent() if pid else python.PyOS_AfterFork_Child()
    assert pid >= 0, "the system refused"
    return int(pid)


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
    """Have /proc tell this environment, as of any process that was started with it."""
    fields = Path("/proc/self/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    start, end = int(fields[47]), int(fields[48])
    at = ctypes.string_at(start, end - start).index(ROOM.encode() + b"=")
    shown = b"".join(os.fsencode(f"{name}={value}") + b"\0" for name, value in {ROOM: "", **environment}.items())
    ctypes.memmove(start + at, shown[:ROOM_BYTES].ljust(ROOM_BYTES, b"\0"), ROOM_BYTES)


def _have_warm_children() -> None:
    """Another copy waits beside the command: what it copies are the command's children."""
    from chyme.core.children import process

    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if os.fork() == 0:
        ours.close()
        os.setsid()
        _show({})  # it belongs to the tests, not to chyme
        nowhere = os.open(os.devnull, os.O_RDWR)
        for place in range(3):
            os.dup2(nowhere, place)
        os.chdir("/")
        _wait(theirs)
    theirs.close()
    made = partial(WarmPopen, WaitingProcess(ours))
    vars(process)["subprocess"] = SimpleNamespace(Popen=made, DEVNULL=subprocess.DEVNULL)


def _run(module: str) -> int:
    """What it comes to, as Python itself would say it."""
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
    """All that Python does at its end, but for taking its modules apart."""
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
