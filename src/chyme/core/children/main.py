"""The main program of a child process: takes one task after the other until its parent hangs up."""

from __future__ import annotations

import errno
import importlib
import os
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from chyme.core.children.frames import (
    ANSWER,
    MAX_INLINE,
    BadFrame,
    Bulk,
    FileBulk,
    Frame,
    Inbox,
    InlineBulk,
    pack,
    write_spill_file,
)
from chyme.core.children.isolation import apply_limits, confine, reap
from chyme.core.children.serialization import decode_file, decode_input, encode_output
from chyme.core.children.task import MAX_BATCH_TASKS, Task
from chyme.core.outbound.socket_messages import receive
from chyme.core.process_memory import read_memory, release_memory
from chyme.digester import Digester, Outside
from chyme.errors import DigestError
from chyme.model import Limits

MAX_DESCRIPTORS = 2 * MAX_BATCH_TASKS + 1  # a folder and a file for each task, and one file for large content
PROGRESS_SECONDS = 0.1
MAX_STACK = 8000
CHUNK = 256 << 10
TRIM_BYTES = 16 << 20  # growth after which freed memory is returned to the system


class ParentConnection:
    """The child's end of the socket."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._inbox = Inbox()
        self._send_lock = threading.Lock()

    def send(self, header: dict[str, object], bulk: bytes = b"") -> None:
        data = pack(header, bulk)
        with self._send_lock:
            self._sock.sendall(data)

    def receive(self) -> tuple[Frame, list[int]] | None:
        """The next frame and the descriptors that came with it; None when the parent hung up."""
        fds: list[int] = []
        while (frame := self._inbox.next()) is None:
            data, new_fds, _ = receive(self._sock, CHUNK, MAX_DESCRIPTORS)
            fds += new_fds
            if not data:
                return None
            self._inbox.feed(data)
        return frame, fds


def run(socket_fd: int, inherited: Sequence[int]) -> None:
    """Take tasks from this socket. A child that goes out inherits a second one, for its connections."""
    sock = socket.socket(fileno=socket_fd)
    sock.set_inheritable(False)
    connection = ParentConnection(sock)
    received = connection.receive()
    if received is None:
        return
    hello = cast("dict[str, Any]", received[0].header)
    outside = _connect_outside(inherited[0], hello["outside_seconds"]) if inherited else None
    digesters = _load_digesters(connection, hello, inherited)
    trimmed = read_memory("self")[0]  # after the last trim
    while digesters is not None and (received := connection.receive()) is not None:
        frame, fds = received
        try:
            reusable = _answer_task(connection, digesters, frame, fds, outside)
        finally:
            os.chdir("/")
            for fd in fds:
                os.close(fd)
            if outside:
                reap()
        if not reusable:
            return
        trimmed = _trim_memory(trimmed)


def _trim_memory(trimmed: int) -> int:
    """Return freed memory to the system if this process has grown since the last time; what it uses then."""
    used = read_memory("self")[0]
    if used - trimmed < TRIM_BYTES:
        return min(used, trimmed)
    release_memory()
    return read_memory("self")[0]


def _load_digesters(
    connection: ParentConnection, hello: dict[str, Any], inherited: Sequence[int]
) -> Mapping[str, Digester] | None:
    sys.path[:0] = hello["import_from"]
    try:
        isolation = confine(tuple(hello["run_as"]), hello["parent"], hello["scratch_bytes"], bool(inherited))
        os.chdir("/")
        module, _, function = hello["entry"].partition(":")
        digesters = getattr(importlib.import_module(module), function)(hello["config"])
        outputs = {name: list(digester.outputs) for name, digester in digesters.items()}
    except Exception as error:
        connection.send({"kind": "broken", "cause": f"{type(error).__name__}: {error}", "stack": _format_stack()})
        return None
    connection.send(
        {
            "kind": "ready",
            "outputs": outputs,
            "network_off": isolation.network_off,
            "how": isolation.how,
            "uid": os.geteuid(),
            "gid": os.getegid(),
        }
    )
    return cast("Mapping[str, Digester]", digesters)


def _connect_outside(fd: int, seconds: float) -> Outside:
    from chyme.core.outbound.connection_client import ConnectionClient  # only few families go out

    return ConnectionClient(fd, seconds)


def no_digesters(_config: dict[str, object]) -> dict[str, Digester]:
    """An entry point without digesters, for finding out how children are isolated."""
    return {}


def _answer_task(
    connection: ParentConnection,
    digesters: Mapping[str, Digester],
    frame: Frame,
    fds: list[int],
    outside: Outside | None,
) -> bool:
    """Answer one task. Returns False when this process should not get another."""
    header = cast("dict[str, Any]", frame.header)
    number = header["id"]
    connection.send({"kind": "taken", "id": number})
    scratch = fds[0]
    os.fchdir(scratch)
    answer: dict[str, object]
    if "tempfile" in sys.modules:
        # tempfile looks up its folder only once; before the first task it may have found another one.
        vars(sys.modules["tempfile"])["tempdir"] = os.environ["TMPDIR"]
    try:
        with apply_limits(Limits(*header["limits"])):
            digester = digesters[header["digester"]]
            tasks = list(_read_tasks(header, frame, fds))
            bulk: list[bytes] = []
            if len(tasks) > 1:
                answer = {"kind": "results", "id": number, "answers": _run_batch(digester, tasks, bulk)}
            else:
                allowed_outside = outside if digester.runs.goes_out else None
                report = _make_progress_callback(connection, number)
                outputs = digester.digest(replace(tasks[0], report=report, outside=allowed_outside))
                answer = {
                    "kind": "result",
                    "id": number,
                    "outputs": [encode_output(output, bulk) for output in outputs],
                }
            inline = _attach_bulk(answer, bulk, scratch)
    except BaseException as error:
        error_header = _encode_error(error)
        connection.send({"id": number, **error_header})
        return isinstance(error, Exception) and not isinstance(error, MemoryError)
    try:
        connection.send(answer, inline)
    except BadFrame:
        connection.send(
            {"kind": "exception", "id": number, "type": "BadFrame", "stack": "an answer with too many parts"}
        )
    return True


def _read_tasks(header: dict[str, Any], frame: Frame, fds: list[int]) -> Iterator[Task]:
    """The tasks with the descriptors that came with them, in order. A single task uses the current folder as
    scratch."""
    descriptors, spilled, rows = iter(fds), header["spilled"], header["tasks"]
    bulk: Bulk = InlineBulk(frame.bulk) if spilled is None else FileBulk(fds[-1], spilled)
    for file, readable, inputs in rows:
        folder = next(descriptors)
        fd = next(descriptors) if readable else None
        scratch = Path() if len(rows) == 1 else Path(f"/proc/self/fd/{folder}")
        yield Task(header["digester"], decode_file(file), fd, tuple(decode_input(row, bulk) for row in inputs), scratch)


def _run_batch(digester: Digester, tasks: list[Task], bulk: list[bytes]) -> list[object]:
    """For each task its outputs or its error."""
    return [
        _encode_error(result) if isinstance(result, DigestError) else [encode_output(output, bulk) for output in result]
        for result in digester.digest_many(tasks)
    ]


def _make_progress_callback(connection: ParentConnection, number: int) -> Callable[[float], None]:
    last = [0.0]

    def report(fraction: float) -> None:
        now = time.monotonic()
        if now - last[0] >= PROGRESS_SECONDS:
            last[0] = now
            connection.send({"kind": "progress", "id": number, "fraction": min(1.0, max(0.0, float(fraction)))})

    return report


def _attach_bulk(answer: dict[str, object], bulk: list[bytes], scratch: int) -> bytes:
    """Put small content into the frame and large content into a file beside it."""
    size = sum(map(len, bulk))
    if size <= MAX_INLINE:
        answer["spilled"] = None
        return b"".join(bulk)
    os.close(write_spill_file(bulk, scratch, ANSWER))
    answer["spilled"] = size
    return b""


def _encode_error(error: BaseException) -> dict[str, object]:
    if isinstance(error, DigestError):
        return {
            "kind": "error",
            "category": error.category,
            "message": str(error),
            "retry_after": error.retry_after,
            "tried": error.tried,
        }
    if isinstance(error, MemoryError):
        return {"kind": "memory"}
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return {"kind": "full", "quota": error.errno == errno.EDQUOT}
    if isinstance(error, OSError) and error.errno == errno.EFBIG:
        return {"kind": "wrote too much"}
    return {"kind": "exception", "type": type(error).__name__, "stack": _format_stack()}


def _format_stack() -> str:
    return traceback.format_exc()[-MAX_STACK:]


if __name__ == "__main__":
    run(int(sys.argv[1]), [int(descriptor) for descriptor in sys.argv[2:]])
