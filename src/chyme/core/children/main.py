"""The child itself: takes one task after the other until its parent hangs up."""

from __future__ import annotations

import errno
import importlib
import os
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from chyme.core.children.frames import MAX_INLINE, BadFrame, Frame, Inbox, pack
from chyme.core.children.isolation import confine, reap
from chyme.core.children.resource_limits import apply_limits
from chyme.core.children.serialization import Bulk, FileBulk, InlineBulk, decode_file, decode_input, encode_output
from chyme.core.children.spill_files import ANSWER, write_spill_file
from chyme.core.children.task import MAX_BATCH_TASKS, Task, WatchedTask
from chyme.core.outbound.socket_messages import receive
from chyme.digester import Digester, Outside
from chyme.errors import DigestError
from chyme.model import Limits

MAX_DESCRIPTORS = 2 * MAX_BATCH_TASKS + 1  # a folder and a file for each task, and what is too large for a frame
PROGRESS_SECONDS = 0.1
MAX_STACK = 8000
CHUNK = 256 << 10


class ParentConnection:
    """The child's end of the socket."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._inbox = Inbox()
        self._sending = threading.Lock()

    def send(self, header: dict[str, object], bulk: bytes = b"") -> None:
        data = pack(header, bulk)
        with self._sending:
            self._sock.sendall(data)

    def receive(self) -> tuple[Frame, list[int]] | None:
        """The next frame and the descriptors that came with it; None when the parent hung up."""
        fds: list[int] = []
        while (frame := self._inbox.next()) is None:
            data, more, _ = receive(self._sock, CHUNK, MAX_DESCRIPTORS)
            fds += more
            if not data:
                return None
            self._inbox.feed(data)
        return frame, fds


def main() -> None:
    sock = socket.socket(fileno=int(sys.argv[1]))
    sock.set_inheritable(False)
    line = ParentConnection(sock)
    received = line.receive()
    if received is None:
        return
    hello = cast("dict[str, Any]", received[0].header)
    outside = _outside(*hello["door"]) if hello["door"] else None
    digesters = _start(line, hello)
    while digesters is not None and (received := line.receive()) is not None:
        frame, fds = received
        try:
            fit = _serve(line, digesters, frame, fds, outside)
        finally:
            os.chdir("/")
            for fd in fds:
                os.close(fd)
            if outside:
                reap()
        if not fit:
            return


def _start(line: ParentConnection, hello: dict[str, Any]) -> Mapping[str, Digester] | None:
    sys.path[:0] = hello["import_from"]
    try:
        isolation = confine(tuple(hello["run_as"]), hello["parent"], hello["scratch_bytes"], bool(hello["door"]))
        os.chdir("/")
        module, _, function = hello["entry"].partition(":")
        digesters = getattr(importlib.import_module(module), function)(hello["config"])
        outputs = {name: list(digester.outputs) for name, digester in digesters.items()}
    except Exception as error:
        line.send({"kind": "broken", "cause": f"{type(error).__name__}: {error}", "stack": _stack()})
        return None
    line.send(
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


def _outside(fd: int, seconds: float) -> Outside:
    from chyme.core.outbound.connection_client import ConnectionClient  # only few families go out

    return ConnectionClient(fd, seconds)


def no_digesters(_config: dict[str, object]) -> dict[str, Digester]:
    """An entry without digesters, for those who only want to know how children are isolated."""
    return {}


def _serve(
    line: ParentConnection, digesters: Mapping[str, Digester], frame: Frame, fds: list[int], outside: Outside | None
) -> bool:
    """Answer one task. False when this process should not be trusted with another."""
    header = cast("dict[str, Any]", frame.header)
    number = header["id"]
    line.send({"kind": "taken", "id": number})
    scratch = fds[0]
    os.fchdir(scratch)
    answer: dict[str, object]
    if "tempfile" in sys.modules:
        # It looks only once; before the first task it may have found another folder.
        vars(sys.modules["tempfile"])["tempdir"] = os.environ["TMPDIR"]
    try:
        with apply_limits(Limits(*header["limits"])):
            digester = digesters[header["digester"]]
            tasks = list(_tasks(header, frame, fds))
            bulk: list[bytes] = []
            if len(tasks) > 1:
                answer = {"kind": "results", "id": number, "answers": _answers(digester, tasks, bulk)}
            else:
                door = outside if digester.goes_out else None
                outputs = digester.digest(_watched(tasks[0], _reporter(line, number), door))
                answer = {
                    "kind": "result",
                    "id": number,
                    "outputs": [encode_output(output, bulk) for output in outputs],
                }
            inline = _lay_down(answer, bulk, scratch)
    except BaseException as error:
        told = _failure(error)
        line.send({"id": number, **told})
        return isinstance(error, Exception) and not isinstance(error, MemoryError)
    try:
        line.send(answer, inline)
    except BadFrame:
        line.send({"kind": "exception", "id": number, "type": "BadFrame", "stack": "an answer with too many parts"})
    return True


def _tasks(header: dict[str, Any], frame: Frame, fds: list[int]) -> Iterator[Task]:
    """The tasks with the descriptors that came with them, one after the other. A single one is at home where we are."""
    descriptors, spilled, rows = iter(fds), header["spilled"], header["tasks"]
    bulk: Bulk = InlineBulk(frame.bulk) if spilled is None else FileBulk(fds[-1], spilled)
    for file, readable, inputs in rows:
        folder = next(descriptors)
        fd = next(descriptors) if readable else None
        scratch = Path() if len(rows) == 1 else Path(f"/proc/self/fd/{folder}")
        yield Task(header["digester"], decode_file(file), fd, tuple(decode_input(row, bulk) for row in inputs), scratch)


def _watched(task: Task, report: Callable[[float], None], outside: Outside | None) -> Task:
    return WatchedTask(task.digester, task.file, task.fd, task.inputs, task.scratch, report, outside)


def _answers(digester: Digester, tasks: list[Task], bulk: list[bytes]) -> list[object]:
    """For each task its outputs, or what it failed with."""
    return [
        _failure(made) if isinstance(made, DigestError) else [encode_output(output, bulk) for output in made]
        for made in digester.digest_many(tasks)
    ]


def _reporter(line: ParentConnection, number: int) -> Callable[[float], None]:
    last = [0.0]

    def report(fraction: float) -> None:
        now = time.monotonic()
        if now - last[0] >= PROGRESS_SECONDS:
            last[0] = now
            line.send({"kind": "progress", "id": number, "fraction": min(1.0, max(0.0, float(fraction)))})

    return report


def _lay_down(answer: dict[str, object], bulk: list[bytes], scratch: int) -> bytes:
    """Small bulk goes along with the answer; large bulk into a file beside it."""
    size = sum(map(len, bulk))
    if size <= MAX_INLINE:
        answer["spilled"] = None
        return b"".join(bulk)
    os.close(write_spill_file(bulk, scratch, ANSWER))
    answer["spilled"] = size
    return b""


def _failure(error: BaseException) -> dict[str, object]:
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
    return {"kind": "exception", "type": type(error).__name__, "stack": _stack()}


def _stack() -> str:
    return traceback.format_exc()[-MAX_STACK:]


if __name__ == "__main__":
    main()
