"""One run on a worker, as its coordinator sees it: what goes out, what comes back, and how long it has been silent."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass, field
from secrets import token_hex
from typing import IO, BinaryIO, cast

from chyme.core.children.child import spill_inputs
from chyme.core.children.frames import BadFrame, Bulk, FileBulk, InlineBulk
from chyme.core.children.serialization import encode_file, encode_input
from chyme.core.children.task import Task, Travel
from chyme.errors import ChymeError
from chyme.model import Limits
from chyme.workers.kept_scratch import pack_folder, unpack_folder
from chyme.workers.known_workers import KnownWorker
from chyme.workers.wire import PIECE, Message

INLINE = 192 << 10  # inputs up to this size go with the answer to a claim
INPUTS, KEPT = "inputs", "kept"  # parts that are fetched in pieces, besides the files, which are numbered

HOME = "home"  # where an attempt runs if not on a worker


class Unwanted(Exception):
    """The run is over, or is not this worker's."""


@dataclass(eq=False)
class Waiting:
    """Tasks of one digester that wait for a place: one, or a bundle."""

    tasks: tuple[Task, ...]
    family: str
    limits: Limits
    keeps_scratch: bool
    lane: int
    on_progress: Callable[[float], None] | None = None
    since: float = field(default_factory=time.monotonic)
    place: Future[RemoteRun | None] = field(default_factory=Future)  # None: at home
    avoid: list[KnownWorker] = field(default_factory=list)  # workers that failed with it

    @property
    def digester(self) -> str:
        return self.tasks[0].digester

    @property
    def travel(self) -> Travel:
        travel = self.tasks[0].travel
        assert travel is not None
        return travel

    @property
    def alone(self) -> bool:
        """Whether it gets a worker to itself, because two have vanished with it."""
        return self.travel.losses >= 2

    @property
    def size(self) -> int:
        """Bytes that a worker needs for it, at least."""
        return sum(task.file.size for task in self.tasks)

    def put(self, run: RemoteRun | None) -> None:
        """It runs there, or here."""
        with contextlib.suppress(InvalidStateError):  # it was refused
            self.place.set_result(run)

    def refuse(self, error: ChymeError) -> None:
        """It runs nowhere."""
        with contextlib.suppress(InvalidStateError):
            self.place.set_exception(error)


@dataclass(frozen=True)
class RunAnswer:
    """What a worker said at the end of a run."""

    message: Message
    bulk: Bulk
    seconds: float


class RemoteRun:
    """One run on one worker. Its bytes are only for who knows its key."""

    def __init__(self, waiting: Waiting, worker: KnownWorker, run_as: int | None, answer_bytes: int) -> None:
        self.waiting = waiting
        self.worker = worker
        self.run_id = waiting.travel.run_id
        self.key = token_hex(16)
        self.result: Future[RunAnswer] = Future()
        self.silent = 0.0  # seconds in which we listened and it said nothing
        self.stalled = 0.0  # seconds without a byte, before it runs
        self.running_for: float | None = None  # seconds since it had all bytes
        self.pulling_kept = False
        self.answer_begun = False
        self.answered_inline = False  # then the worker knows already that we have it
        self._run_as = run_as
        self._answer_bytes = answer_bytes
        self._lock = threading.Lock()  # the tasks' descriptors are open while it is not closed
        self._closed = False
        self._inputs: int | None = None  # a file of large inputs
        self._inputs_size = 0
        self._kept: IO[bytes] | None = None
        self._answer: IO[bytes] | None = None

    def describe(self) -> tuple[dict[str, object], bytes]:
        """What the worker must know to begin, with small inputs."""
        bulk: list[bytes] = []
        files = [[encode_file(task.file), task.file.size if task.fd is not None else None] for task in self._tasks]
        inputs = [[encode_input(upstream, bulk) for upstream in task.inputs] for task in self._tasks]
        size = sum(map(len, bulk))
        if size > INLINE:
            with self._lock:
                if self._closed:
                    raise Unwanted
                self._inputs, self._inputs_size = spill_inputs(bulk, self._tasks[0]), size
            bulk = []
        limits = self.waiting.limits
        small_file = self._small_file(INLINE - size)
        header: dict[str, object] = {
            "kind": "run",
            "run": self.run_id,
            "key": self.key,
            "digester": self.waiting.digester,
            "family": self.waiting.family,
            "limits": [limits.wall_seconds, limits.cpu_seconds, limits.memory_bytes],
            "files": files,
            "inputs": inputs,
            "spilled": size if self._inputs is not None else None,
            "keeps": self.waiting.keeps_scratch,
            "kept": self._pack_kept(),
            "alone": self.waiting.alone,
            "file_here": small_file is not None,
        }
        return header, b"".join((*bulk, small_file or b""))

    def _small_file(self, most: int) -> bytes | None:
        """The whole file if it is no larger than that: it spares a request."""
        fd = self._tasks[0].fd
        if len(self._tasks) != 1 or fd is None or self._tasks[0].file.size > most:
            return None
        with self._lock:
            if self._closed:
                raise Unwanted
            data = os.pread(fd, self._tasks[0].file.size, 0)
        return data if len(data) == self._tasks[0].file.size else None

    @property
    def _tasks(self) -> tuple[Task, ...]:
        return self.waiting.tasks

    def _pack_kept(self) -> int:
        """What earlier attempts kept, as a stream; returns its size."""
        if not self.waiting.keeps_scratch:
            return 0
        stream = self.scratch_file()
        if not pack_folder(self._tasks[0].scratch, cast("BinaryIO", stream), self._answer_bytes):
            stream.close()
            return 0
        stream.flush()
        with self._lock:
            self._kept = stream
        return stream.tell()

    def piece(self, part: str, offset: int) -> bytes:
        """A piece of what goes out. Raises Unwanted once the run is over."""
        with self._lock:
            if self._closed:
                raise Unwanted
            self.stalled = 0.0
            return os.pread(self._descriptor(part), PIECE, offset)

    def _descriptor(self, part: str) -> int:
        if part == INPUTS and self._inputs is not None:
            return self._inputs
        if part == KEPT and self._kept is not None:
            return self._kept.fileno()
        if part.isdecimal() and len(part) < 6 and int(part) < len(self._tasks):
            fd = self._tasks[int(part)].fd
            if fd is not None:
                return fd
        raise BadFrame("it asks for bytes that there are not")

    def is_wanted(self) -> bool:
        """Whether anybody still waits for the result."""
        with self._lock:
            if self._closed:
                return False
            try:
                return self.waiting.travel.is_wanted()
            except Exception:  # the vault is gone, for one: then the result is useless
                return False

    def begin_answer(self, size: int) -> None:
        """An answer of this size is about to be pulled."""
        if size > self._answer_bytes:
            raise BadFrame(f"an answer larger than {self._answer_bytes >> 20} MB; raise answer_mb to allow more")
        stream = self.scratch_file()
        with self._lock:
            self._answer = stream

    def add_to_answer(self, data: bytes) -> None:
        with self._lock:
            if self._closed or self._answer is None:
                raise Unwanted
            self._answer.write(data)

    def answer_bulk(self, size: int) -> Bulk:
        """The pulled answer, to be read."""
        with self._lock:
            if self._closed or self._answer is None:
                raise Unwanted
            self._answer.flush()
            return FileBulk(self._answer.fileno(), size)

    def take_kept(self, stream: BinaryIO, size: int) -> None:
        """Put what the worker has kept so far into the scratch folder, for the next attempt."""
        with self._lock:
            if self._closed or not self.waiting.keeps_scratch:
                raise Unwanted
            unpack_folder(stream, size, self._tasks[0].scratch, self._run_as)

    def scratch_file(self) -> IO[bytes]:
        """A file without a name beside the run's scratch."""
        with self._lock:
            if self._closed:
                raise Unwanted
            return tempfile.TemporaryFile(dir=self._tasks[0].scratch)

    def finish(self, answer: RunAnswer) -> None:
        with contextlib.suppress(InvalidStateError):  # it is over already
            self.result.set_result(answer)

    def fail(self, error: BaseException) -> None:
        with contextlib.suppress(InvalidStateError):  # it is over already
            self.result.set_exception(error)

    def close(self) -> None:
        """The run is over: nothing of it is read or written any more."""
        with self._lock:
            self._closed = True
            if self._inputs is not None:
                os.close(self._inputs)
            for stream in (self._kept, self._answer):
                if stream is not None:
                    stream.close()


def read_inline_answer(message: Message, seconds: float) -> RunAnswer:
    """An answer that came with its announcement; BadFrame if it is not what was announced."""
    if hashlib.sha256(message.bulk).hexdigest() != message.text("sha256"):
        raise BadFrame("an answer with another hash than announced")
    return RunAnswer(message, InlineBulk(message.bulk), seconds)
