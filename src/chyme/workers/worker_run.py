"""One run on a worker: fetches the bytes, runs the digester in a child, and keeps the answer until it was taken."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Protocol, cast

from chyme.core.children.frames import BadFrame, Bulk, FileBulk, InlineBulk, encode_header
from chyme.core.children.serialization import decode_file, decode_input, encode_output
from chyme.core.children.task import MAX_BATCH_TASKS, Task
from chyme.errors import Category, ChymeError, DigestError, DiskFull
from chyme.model import Limits, Output
from chyme.workers.fabric import FabricAway
from chyme.workers.kept_scratch import pack_folder, unpack_folder
from chyme.workers.remote_run import INPUTS, KEPT
from chyme.workers.wire import PIECE, Message

log = logging.getLogger(__name__)

STALL_SECONDS = 60.0  # a transfer that does not move for so long is given up
ORPHAN_SECONDS = 20.0  # without a word of its coordinator for so long, a run is stopped
ANSWER_SECONDS = 600.0  # an answer that is not fetched for so long is dropped
INLINE = 192 << 10  # answers up to this size go with their announcement
KEEP_SECONDS = 30.0  # between two copies of what the digester keeps
RETRY_SECONDS = 1.0
MAX_INPUTS = 1 << 30
MAX_ANSWER = 1 << 40


class Stopped(Exception):
    """The coordinator does not want this run any more, or nothing is heard of it."""


class Children(Protocol):
    """The children that run digesters for one vault."""

    def run(
        self,
        task: Task,
        family: str,
        limits: Limits,
        on_progress: Callable[[float], None] | None = None,
        on_start: Callable[[], None] | None = None,
    ) -> list[Output]: ...

    def cancel(self, task: Task) -> None: ...


Ask = Callable[[dict[str, object], bytes], Message]  # ask the coordinator, FabricAway if it does not answer


@dataclass(frozen=True)
class RunOrder:
    """What a coordinator wants done, checked."""

    run_id: str
    key: str
    digester: str
    family: str
    limits: Limits
    file_row: list[Any]
    file_size: int | None
    inputs: list[Any]
    spilled: int | None
    keeps: bool
    kept: int
    alone: bool
    file_here: bool  # the file is at the end of the bulk
    bulk: bytes

    @classmethod
    def read(cls, message: Message) -> RunOrder:
        """Raises BadFrame."""
        files, inputs, limits = (
            message.rows("files", MAX_BATCH_TASKS),
            message.rows("inputs"),
            message.rows("limits", 3),
        )
        if len(files) != 1 or len(inputs) != 1 or len(limits) != 3:
            raise BadFrame("not one file, its inputs and its limits")
        if not all(type(limit) in (int, float) and 0 < limit < 1 << 60 for limit in limits):
            raise BadFrame("a limit that is not a number")
        row, size = files[0] if isinstance(files[0], list) and len(files[0]) == 2 else (None, None)
        if not isinstance(row, list) or not (size is None or (type(size) is int and 0 <= size < 1 << 50)):
            raise BadFrame("a file that makes no sense")
        spilled = message.integer("spilled", MAX_INPUTS) if message.header.get("spilled") is not None else None
        return cls(
            *(message.token("run"), message.text("key", 64), message.text("digester", 200), message.text("family", 50)),
            Limits(float(limits[0]), float(limits[1]), int(limits[2])),
            *(row, size, inputs[0], spilled),
            *(message.flag("keeps"), message.integer("kept", MAX_INPUTS), message.flag("alone")),
            *(message.flag("file_here"), message.bulk),
        )


class WorkerRun:
    """One run. `work` runs in a thread of its own; everything else may be called from the fabric's loop."""

    def __init__(
        self,
        order: RunOrder,
        folder: Path,
        children: Children,
        ask: Ask,
        slowness: float,
        run_as: int | None,
        scratch_bytes: int,
        may_claim: Callable[[], bool] = lambda: False,
    ) -> None:
        """`may_claim`: whether the coordinator may be asked for the next run together with the end of this one."""
        self.order = order
        self.next_order: Message | None = None  # that came with the answer
        self.delivered = False  # the coordinator has the answer, or does not want it
        self.fraction = 0.0
        self.running = False
        self.kept_size = 0  # of the newest copy of what the digester keeps; 0: nothing new
        self.heard = time.monotonic()  # when the coordinator last said "go on"
        self.folder = folder
        self._children = children
        self._ask = ask
        self._slowness = slowness
        self._run_as = run_as
        self._scratch_bytes = scratch_bytes
        self._may_claim = may_claim
        self._task: Task | None = None
        self._stopped = threading.Event()
        self._taken = threading.Event()
        self._kept_at = time.monotonic()
        self._guard = threading.Lock()

    def stop(self) -> None:
        """End the child, and forget the run."""
        self._stopped.set()
        self._taken.set()
        task = self._task
        if task is not None:
            self._children.cancel(task)

    def take(self) -> None:
        """The coordinator has the answer."""
        self._taken.set()

    @property
    def stopped(self) -> bool:
        return self._stopped.is_set()

    def work(self) -> None:
        """Do everything. Raises nothing: what goes wrong is reported to the coordinator, or does not matter now."""
        try:
            self._work()
        except Stopped:
            log.info("run %s: stopped", self.order.run_id)
        except FabricAway as error:
            log.warning("run %s: given up: %s", self.order.run_id, error)
        except Exception as error:
            log.warning("run %s: failed here: %s", self.order.run_id, type(error).__name__, exc_info=True)

    def _work(self) -> None:
        order = self.order
        began = time.monotonic()
        answer: dict[str, object]
        bulk: list[bytes] = []
        try:
            with self._open_task() as task:
                self._task = task
                self._require_wanted()
                self.running, began = True, time.monotonic()
                log.info("run %s: %s begins", order.run_id, order.digester)
                made = self._children.run(task, order.family, self._stretched_limits(), self._progress, self._on_start)
            answer = {"result": "outputs", "outputs": [encode_output(output, bulk) for output in made]}
        except DigestError as error:
            answer = {
                "result": "error",
                "category": error.category,
                "message": str(error),
                "retry_after": error.retry_after,
                "tried": error.tried,
            }
        except (DiskFull, OSError):
            answer = {"result": "full"}
        except BadFrame as error:
            answer = {"result": "error", "category": Category.CRASH, "message": f"its bytes did not arrive: {error}"}
        except ChymeError:
            raise Stopped from None
        self._require_wanted()
        seconds = time.monotonic() - began
        log.info("run %s: %s after %.1f s", order.run_id, answer["result"], seconds)
        self._deliver(answer, bulk, seconds)

    def _on_start(self) -> None:
        if self._stopped.is_set():
            raise ChymeError("not wanted any more")

    def _stretched_limits(self) -> Limits:
        limits = self.order.limits
        return Limits(limits.wall_seconds * self._slowness, limits.cpu_seconds * self._slowness, limits.memory_bytes)

    def _progress(self, fraction: float) -> None:
        self.fraction = fraction

    def _require_wanted(self) -> None:
        if self._stopped.is_set():
            raise Stopped

    # Bytes that come in

    @contextlib.contextmanager
    def _open_task(self) -> Any:
        order, scratch = self.order, self.folder / "scratch"
        scratch.mkdir(mode=0o700)
        with contextlib.ExitStack() as stack:
            fd: int | None = None
            if order.file_size is not None:
                fd = self._open_file(order.file_size, stack)
            bulk: Bulk = InlineBulk(order.bulk)
            if order.spilled is not None:
                bulk = FileBulk(self._fetch(INPUTS, order.spilled, "inputs", stack), order.spilled)
            if order.kept:
                kept = self._fetch(KEPT, order.kept, "kept", stack)
                with os.fdopen(os.dup(kept), "rb") as stream:
                    stream.seek(0)
                    unpack_folder(stream, order.kept, scratch, self._run_as)
            inputs = tuple(decode_input(row, bulk) for row in order.inputs)
            yield Task(order.digester, decode_file(order.file_row), fd, inputs, scratch)

    def _open_file(self, size: int, stack: contextlib.ExitStack) -> int:
        order = self.order
        if not order.file_here:
            return self._fetch("0", size, "file", stack)
        if size > len(order.bulk):
            raise BadFrame("less of the file than announced")
        fd = self._open_nameless("file", stack)
        _write_all(fd, memoryview(order.bulk)[len(order.bulk) - size :], 0)
        return fd

    def _open_nameless(self, name: str, stack: contextlib.ExitStack) -> int:
        """A new file for what comes in, which has no name any more when this returns."""
        path = self.folder / name
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        stack.callback(os.close, fd)
        path.unlink()
        return fd

    def _fetch(self, part: str, size: int, name: str, stack: contextlib.ExitStack) -> int:
        """Fetch a file in pieces, and return its descriptor."""
        fd = self._open_nameless(name, stack)
        offset = 0
        while offset < size:
            piece = self._patient_ask({"kind": "bytes", "part": part, "offset": offset})
            if piece.kind == "not wanted":
                raise Stopped
            if piece.kind != "piece" or not 0 < len(piece.bulk) <= min(PIECE, size - offset):
                raise BadFrame("a piece of another size than asked for")
            _write_all(fd, memoryview(piece.bulk), offset)
            offset += len(piece.bulk)
        return fd

    def _patient_ask(self, header: dict[str, object], patience: float = STALL_SECONDS, bulk: bytes = b"") -> Message:
        """Ask until there is an answer, for as long as a transfer may stall."""
        order, deadline = self.order, time.monotonic() + patience
        while True:
            self._require_wanted()
            try:
                answer = self._ask({**header, "run": order.run_id, "key": order.key}, bulk)
                self.heard = time.monotonic()
                return answer
            except FabricAway:
                if time.monotonic() > deadline:
                    raise
                self._stopped.wait(RETRY_SECONDS)

    # Bytes that go out

    def _deliver(self, answer: dict[str, object], bulk: list[bytes], seconds: float) -> None:
        """Announce the answer until the coordinator has it, or does not want it."""
        size = sum(map(len, bulk))
        header: dict[str, object] = {**answer, "kind": "done", "seconds": seconds, "size": size}
        if size <= INLINE and len(encode_header(header)) <= INLINE:
            data = b"".join(bulk)
            report = {**header, "inline": True, "sha256": hashlib.sha256(data).hexdigest(), "claim": self._may_claim()}
            taken = self._patient_ask(report, ANSWER_SECONDS, data)
            following = taken.header.get("next")
            if isinstance(following, dict):
                self.next_order = Message(following, taken.bulk)
            return
        digest = hashlib.sha256()
        with (self.folder / "answer").open("xb") as stream:
            for data in bulk:
                stream.write(data)
                digest.update(data)
        bulk.clear()
        report = {**header, "inline": False, "sha256": digest.hexdigest()}
        deadline = time.monotonic() + ANSWER_SECONDS
        while not self._taken.is_set() and time.monotonic() < deadline:
            if self._patient_ask(report, ANSWER_SECONDS).kind != "wait":
                return
            report["again"] = True
            self._taken.wait(5.0)

    def piece(self, what: str, offset: int) -> bytes:
        """A piece of the answer, or of what the digester keeps."""
        name = {"answer": "answer", "kept": "kept-out"}.get(what)
        if name is None:
            raise BadFrame("it asks for bytes that there are not")
        with self._guard, (self.folder / name).open("rb") as stream:
            if what == "kept":
                self._kept_at = time.monotonic()  # the copy stays as it is while it is being fetched
            return os.pread(stream.fileno(), PIECE, offset)

    def copy_kept(self) -> None:
        """Every half minute: a copy of what the digester keeps, to be fetched by the coordinator."""
        if not self.order.keeps or not self.running or time.monotonic() - self._kept_at < KEEP_SECONDS:
            return
        self._kept_at = time.monotonic()
        with self._guard:
            path = self.folder / "kept-new"
            try:
                with path.open("wb") as stream:
                    kept = pack_folder(self.folder / "scratch", cast("BinaryIO", stream), self._scratch_bytes)
                    size = stream.tell()
                if kept:
                    path.replace(self.folder / "kept-out")
                    self.kept_size = size
                else:
                    path.unlink()
            except OSError as error:
                log.info("run %s: what it keeps was not copied: %s", self.order.run_id, error.strerror)


def _write_all(fd: int, view: memoryview, offset: int) -> None:
    while view:
        written = os.pwrite(fd, view, offset)
        view, offset = view[written:], offset + written
