"""Translates the end of a child, or the failure it reports, into an error of the task."""

from __future__ import annotations

import math
import signal
from collections.abc import Mapping

from chyme.core.children.task import Task
from chyme.errors import BY_CATEGORY, Category, ChildCrashed, DigestError, LimitReached, RateLimited, TimedOut
from chyme.model import Limits

MEGABYTE = 1 << 20
MAX_MESSAGE = 2000
LONG_WAIT = 7 * 86400.0  # no provider asks for more than a week
MEMORY_SIGNALS = (signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGTRAP)


def timeout_error(task: Task, limits: Limits) -> DigestError:
    return TimedOut(f"{task.file.path}: {task.digester} took longer than {limits.wall_seconds:g} s and was stopped")


def memory_limit_error(task: Task, limits: Limits, setting: str) -> DigestError:
    megabytes = limits.memory_bytes // MEGABYTE
    return ChildCrashed(
        f"{task.file.path}: {task.digester} needed more than {megabytes} MB of memory; raise {setting} to allow more"
    )


def scratch_limit_error(task: Task, scratch_bytes: int) -> DigestError:
    megabytes = scratch_bytes // MEGABYTE
    return LimitReached(
        f"{task.file.path}: {task.digester} wanted to write more than {megabytes} MB; raise scratch_mb to allow more"
    )


def crash_error(code: int, task: Task, limits: Limits, setting: str) -> DigestError:
    """The error for a child that ended in the middle of a task. `code` is negative for a signal."""
    subject = f"{task.file.path}: the process running {task.digester}"
    if code >= 0:
        return ChildCrashed(f"{subject} ended by itself ({describe_exit(code)})")
    if -code == signal.SIGXCPU:
        return TimedOut(f"{task.file.path}: {task.digester} used more than {limits.cpu_seconds:g} s of CPU time")
    name = describe_exit(code)
    if -code in MEMORY_SIGNALS:
        megabytes = limits.memory_bytes // MEGABYTE
        return ChildCrashed(
            f"{subject} crashed ({name}); the file may be broken, or {megabytes} MB of memory were too little: "
            f"raise {setting} to allow more"
        )
    if -code == signal.SIGKILL:
        return ChildCrashed(f"{subject} was killed ({name}); perhaps the machine ran out of memory")
    return ChildCrashed(f"{subject} was ended by {name}")


def describe_exit(code: int) -> str:
    """How a process ended, in two words."""
    return f"exit code {code}" if code >= 0 else _signal_name(-code)


def protocol_error(task: Task, reason: str) -> DigestError:
    return ChildCrashed(f"{task.file.path}: {task.digester} gave an answer that makes no sense: {reason}")


def exception_error(task: Task, exception: object) -> DigestError:
    known = isinstance(exception, str) and exception.isidentifier() and len(exception) <= 100
    return ChildCrashed(f"{task.file.path}: {task.digester} failed unexpectedly ({exception if known else 'error'})")


def rebuild_error(task: Task, header: Mapping[str, object]) -> DigestError:
    """Rebuild the DigestError that a child reports, from its category alone."""
    message = header.get("message")
    text = message[:MAX_MESSAGE].encode("utf-8", "replace").decode() if isinstance(message, str) else ""
    try:
        error_class = BY_CATEGORY[Category(str(header.get("category")))]
    except (ValueError, KeyError):
        error_class = ChildCrashed
    retry_after = _parse_wait(header.get("retry_after"))
    # Only a pause costs nothing.
    free = header.get("tried") is False and error_class is RateLimited and retry_after is not None
    return error_class(text or f"{task.file.path}: {task.digester} failed", retry_after=retry_after, tried=not free)


def _parse_wait(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return min(max(float(value), 0.0), LONG_WAIT)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
