"""The parent's side of one child process: sending tasks, and reading and interpreting the answers."""

from __future__ import annotations

import errno
import logging
import os
import pwd
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from chyme.core.children import task_errors
from chyme.core.children.frames import (
    ANSWER,
    INPUT,
    MAX_INLINE,
    BadFrame,
    Bulk,
    Frame,
    InlineBulk,
    open_answer,
    pack,
    remove_spill_file,
    write_spill_file,
)
from chyme.core.children.isolation import Isolation
from chyme.core.children.process import Process
from chyme.core.children.serialization import decode_outputs, encode_file, encode_input
from chyme.core.children.task import Answer, Task
from chyme.core.children.template import Stock, Template
from chyme.core.outbound.connection_server import ConnectionServer
from chyme.errors import ChymeError, DiskFull, EngineUnavailable
from chyme.model import Limits, Output

MODULE = "chyme.core.children.main"
PROGRESS_SECONDS = 0.05
NEARLY_FULL = 32 << 20
MAX_LOGGED = 8000

T = TypeVar("T")

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ChildConfig:
    """The configuration every child gets when it starts, and the limit on its answers."""

    entry: str  # "module:function", imported only in the child
    config: Mapping[str, object]
    import_from: tuple[str, ...]
    run_as: tuple[int, int]  # user and group to switch to when chyme itself is root
    scratch_bytes: int
    answer_bytes: int
    start_seconds: float


class ChildNotStarted(Exception):
    """The child did not become ready."""

    def __init__(self, cause: str, *, hopeless: bool) -> None:
        super().__init__(cause)
        self.hopeless = hopeless  # the child's own code failed; a second try would end the same way


class TaskNotTaken(Exception):
    """The child was gone before it took the task, so the task is not to blame."""


class Child(Process):
    """A process that digests one task after the other."""

    def __init__(
        self,
        config: ChildConfig,
        connection_server: ConnectionServer | None = None,
        template: Template | None = None,
        stock: Stock | None = None,
    ) -> None:
        self._outside_seconds: float | None = None  # how long it waits for connections
        if connection_server is None:
            super().__init__(MODULE, (), template, stock)
        else:
            with connection_server.add_child() as child_socket:
                self._outside_seconds = connection_server.seconds
                super().__init__(MODULE, [child_socket.fileno()], template, stock)
        self._config = config
        self.memory_setting = ""  # what error messages tell people to raise; belongs to the task
        self._task_number = 0
        self._owner: tuple[int, int] | None = None
        self._outputs: dict[str, tuple[str, ...]] = {}
        self.isolation = Isolation(False, "", "")
        self.tasks = 0
        self.leanest: int | None = None  # the least memory it used after a task
        self.shared_bytes = 0  # of the template's memory, as far as it has not written to it

    def wait_until_ready(self) -> None:
        """Wait until the child is ready; raises ChildNotStarted."""
        config = self._config
        hello: dict[str, object] = {
            "entry": config.entry,
            "config": dict(config.config),
            "import_from": list(config.import_from),
            "run_as": list(config.run_as),
            "scratch_bytes": config.scratch_bytes,
            "parent": os.getpid(),
            "outside_seconds": self._outside_seconds,
        }
        deadline = time.monotonic() + config.start_seconds
        try:
            self.send(pack(hello), (), deadline)
            frame = self.receive(deadline)
        except TimeoutError as error:
            raise ChildNotStarted(f"not ready after {config.start_seconds:g} s", hopeless=False) from error
        except (ConnectionError, BadFrame):
            frame = None
        if frame is None:
            ending = task_errors.describe_exit(self.end())
            log.warning("a child ended while it was starting (%s):\n%s", ending, self.last_output())
            raise ChildNotStarted(ending, hopeless=False)
        # The child has not seen any file yet, so this frame can be trusted.
        header = cast("dict[str, Any]", frame.header)
        if header["kind"] != "ready":
            log.debug("children cannot start:\n%s", header["stack"])
            raise ChildNotStarted(f"{config.entry}: {header['cause']}", hopeless=True)
        self._outputs = {name: tuple(names) for name, names in header["outputs"].items()}
        self._owner = None if header["uid"] == os.geteuid() else (header["uid"], header["gid"])
        self.isolation = Isolation(header["network_off"], _user_name(header["uid"]), header["how"])
        self.shared_bytes = self.anonymous() if self.is_copy else 0

    def ask(self, task: Task, limits: Limits, on_progress: Callable[[float], None] | None) -> list[Output]:
        """Return the task's outputs; raises DigestError or TaskNotTaken. Ends a child that can no longer be trusted."""
        declared = self._declared_outputs(task)
        with self._open_scratch_folders([task]) as folders:
            frame = self._exchange([task], limits, folders, on_progress)
            if frame.header.get("kind") != "result":
                raise self._error_from_frame(frame.header, task, limits, folders[0])
            outputs = frame.header.get("outputs")
            return self._read_frame(frame, task, folders[0], lambda bulk: decode_outputs(outputs, declared, bulk))

    def ask_many(self, tasks: Sequence[Task], limits: Limits) -> list[Answer]:
        """Return the result of each task of one digester, in order. An exception, as from `ask`, concerns all tasks: it
        is unknown which task caused it."""
        declared = self._declared_outputs(tasks[0])
        with self._open_scratch_folders(tasks) as folders:
            frame = self._exchange(tasks, limits, folders, None)
            if frame.header.get("kind") != "results":
                raise self._error_from_frame(frame.header, tasks[0], limits, folders[0])
            answers = frame.header.get("answers")
            return self._read_frame(
                frame, tasks[0], folders[0], lambda bulk: _decode_answers(answers, tasks, declared, bulk)
            )

    def _declared_outputs(self, task: Task) -> tuple[str, ...]:
        declared = self._outputs.get(task.digester)
        if declared is None:
            raise EngineUnavailable(f"{task.file.path}: {self._config.entry} has no digester {task.digester}")
        return declared

    @contextmanager
    def _open_scratch_folders(self, tasks: Sequence[Task]) -> Iterator[list[int]]:
        """Open the tasks' scratch folders and give them to the child's user."""
        folders: list[int] = []
        with ExitStack() as stack:
            for task in tasks:
                folder = os.open(task.scratch, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
                stack.callback(os.close, folder)
                if self._owner and os.fstat(folder).st_uid != self._owner[0]:
                    os.fchown(folder, *self._owner)
                folders.append(folder)
            remove_spill_file(folders[0], ANSWER)
            try:
                yield folders
            finally:
                self.tasks += len(tasks)

    def _exchange(
        self,
        tasks: Sequence[Task],
        limits: Limits,
        folders: Sequence[int],
        on_progress: Callable[[float], None] | None,
    ) -> Frame:
        """Send the tasks and wait for the frame that answers them."""
        task = tasks[0]
        self._task_number += 1
        taken, reported_at = False, 0.0
        try:
            self._send_tasks(tasks, limits, folders)
            deadline = time.monotonic() + limits.wall_seconds
            while (frame := self.receive(deadline)) is not None:
                kind, is_current = frame.header.get("kind"), frame.header.get("id") == self._task_number
                if kind == "progress":
                    now = time.monotonic()
                    if is_current and on_progress and now - reported_at > PROGRESS_SECONDS:
                        reported_at = now
                        _report_progress(frame.header.get("fraction"), on_progress)
                elif kind == "taken" and is_current and not taken:
                    taken, deadline = True, time.monotonic() + limits.wall_seconds
                elif taken and is_current:
                    return frame
                else:
                    raise BadFrame("an unexpected message")
        except TimeoutError as error:
            self._give_up(task)
            raise task_errors.timeout_error(task, limits) from error
        except BadFrame as error:
            self._give_up(task)
            raise task_errors.protocol_error(task, str(error)) from error
        except ConnectionError:
            pass  # the child is gone, as when the stream ends
        if not taken:
            raise TaskNotTaken
        raise task_errors.crash_error(self._give_up(task), task, limits, self.memory_setting)

    def _send_tasks(self, tasks: Sequence[Task], limits: Limits, folders: Sequence[int]) -> None:
        bulk: list[bytes] = []
        rows: list[object] = []
        fds: list[int] = []
        for task, folder in zip(tasks, folders, strict=True):
            rows.append(
                [
                    encode_file(task.file),
                    task.fd is not None,
                    [encode_input(upstream, bulk) for upstream in task.inputs],
                ]
            )
            fds += [folder] if task.fd is None else [folder, task.fd]
        size = sum(map(len, bulk))
        header: dict[str, object] = {
            "id": self._task_number,
            "digester": tasks[0].digester,
            "tasks": rows,
            "limits": [limits.wall_seconds, limits.cpu_seconds, limits.memory_bytes],
            "spilled": None if size <= MAX_INLINE else size,
        }
        deadline = time.monotonic() + limits.wall_seconds
        if size <= MAX_INLINE:
            self.send(pack(header, b"".join(bulk)), fds, deadline)
            return
        spilled = _write_unnamed_file(bulk, tasks[0], folders[0])
        try:
            self.send(pack(header), [*fds, spilled], deadline)
        finally:
            os.close(spilled)

    def _error_from_frame(self, header: Mapping[str, object], task: Task, limits: Limits, scratch: int) -> ChymeError:
        """The error for a frame that is not a result."""
        match header.get("kind"):
            case "error":
                return task_errors.rebuild_error(task, header)
            case "exception":
                log.debug("%s: %s raised\n%s", task.file.path, task.digester, str(header.get("stack"))[:MAX_LOGGED])
                return task_errors.exception_error(task, header.get("type"))
            case "memory":
                self._give_up(task)
                return task_errors.memory_limit_error(task, limits, self.memory_setting)
            case "wrote too much":
                return task_errors.scratch_limit_error(task, self._config.scratch_bytes)
            case "full":
                return _disk_full_error(task, scratch, self._config.scratch_bytes, header.get("quota") is True)
            case _:
                self._give_up(task)
                return task_errors.protocol_error(task, "an unknown kind of message")

    def _read_frame(self, frame: Frame, task: Task, scratch: int, read: Callable[[Bulk], T]) -> T:
        """Return the frame's content as checked by `read`."""
        spilled = frame.header.get("spilled")
        try:
            if spilled is None:
                return read(InlineBulk(frame.bulk))
            allowed = self._config.answer_bytes
            if type(spilled) is not int or not 0 <= spilled <= allowed:
                raise BadFrame(f"it is larger than {allowed >> 20} MB; raise answer_mb to allow more")
            with open_answer(scratch, spilled) as bulk:
                return read(bulk)
        except BadFrame as error:
            self._give_up(task)
            raise task_errors.protocol_error(task, str(error)) from error
        except OSError as error:
            self._give_up(task)
            raise task_errors.protocol_error(task, f"it cannot be read ({error.strerror})") from error

    def _give_up(self, task: Task) -> int:
        code = self.end()
        log.debug("%s: the child running %s was ended:\n%s", task.file.path, task.digester, self.last_output())
        return code


def _decode_answers(rows: object, tasks: Sequence[Task], declared: tuple[str, ...], bulk: Bulk) -> list[Answer]:
    if not isinstance(rows, list) or len(rows) != len(tasks):
        raise BadFrame("it does not answer every task")
    return [
        task_errors.rebuild_error(task, row) if isinstance(row, dict) else decode_outputs(row, declared, bulk)
        for task, row in zip(tasks, rows, strict=True)
    ]


def _write_unnamed_file(bulk: list[bytes], task: Task, scratch: int) -> int:
    """Write the inputs to an open file without a name, so that nothing stays behind."""
    remove_spill_file(scratch, INPUT)
    try:
        fd = write_spill_file(bulk, scratch, INPUT)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull(f"{task.file.path}: no room left in {task.scratch}; free some space") from error
        raise
    remove_spill_file(scratch, INPUT)
    return fd


def spill_inputs(bulk: list[bytes], task: Task) -> int:
    """Write large inputs of a task to an open file without a name, on the disk of its scratch folder."""
    folder = os.open(task.scratch, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        return _write_unnamed_file(bulk, task, folder)
    finally:
        os.close(folder)


def _disk_full_error(task: Task, scratch: int, allowed: int, quota: bool) -> ChymeError:
    """A child's report of a full disk is believed if what it may write would not fit, or if no inodes are left.

    Files it wrote may be gone by now. A quota cannot be checked from here.
    """
    disk = os.fstatvfs(scratch)
    no_inodes_left = disk.f_files > 0 and disk.f_favail == 0
    if quota or no_inodes_left or disk.f_bavail * disk.f_frsize < max(NEARLY_FULL, allowed):
        return DiskFull(f"{task.file.path}: no room left for {task.digester} in {task.scratch}; free some space")
    return task_errors.exception_error(task, "OSError")


def _report_progress(fraction: object, on_progress: Callable[[float], None]) -> None:
    if isinstance(fraction, int | float) and 0 <= fraction <= 1:
        try:
            on_progress(float(fraction))
        except Exception:
            log.warning("the progress callback failed", exc_info=True)


def _user_name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
