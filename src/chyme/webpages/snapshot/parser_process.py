"""Runs a parser in a fork of this process, which may run out of time or memory without harming this one."""

from __future__ import annotations

import faulthandler
import math
import os
import resource
import select
import signal
import time
import warnings
from collections.abc import Callable
from contextlib import suppress

MEMORY_BYTES = 5 << 28  # on top of what the process has mapped already
CHUNK = 1 << 20
WALL_FACTOR = 5
PAGE = os.sysconf("SC_PAGE_SIZE")


def run_in_fork(work: Callable[[], bytes], seconds: float, max_bytes: int) -> bytes | None:
    """Return what `work` returns; None if it fails, takes more than `seconds` of CPU time or too much memory, or
    returns more than `max_bytes`. The wall clock is only a safety net: on a loaded machine it says nothing about the
    work.

    A fork and not a new program, because it starts in a millisecond and needs no right to read Python's files again.
    The work must neither take locks of other threads nor touch open files of this process.
    """
    read_end, write_end = os.pipe2(os.O_CLOEXEC)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn about forks with threads
        pid = os.fork()
    if pid == 0:
        _run_and_exit(work, write_end, seconds)
    os.close(write_end)
    try:
        result = _read_result(read_end, time.monotonic() + seconds * WALL_FACTOR, max_bytes)
    finally:
        os.close(read_end)
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    return result


def _run_and_exit(work: Callable[[], bytes], out: int, seconds: float) -> None:
    """Write the result, with a last byte that says it is complete."""
    try:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(int(seconds * WALL_FACTOR) + 1)  # in case the parent is gone and cannot end it
        _lower_limit(resource.RLIMIT_CPU, math.ceil(seconds))
        _limit_memory()
        faulthandler.disable()  # running out of memory is an expected end: report nothing
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        remaining = memoryview(work() + b"\n")
        while remaining:
            remaining = remaining[os.write(out, remaining) :]
    finally:
        os._exit(0)


def _limit_memory() -> None:
    with open("/proc/self/statm", "rb", buffering=0) as statm:
        _lower_limit(resource.RLIMIT_AS, int(statm.read().split()[0]) * PAGE + MEMORY_BYTES)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _lower_limit(which: int, wanted: int) -> None:
    """Lower a limit to the wanted value; a limit that is lower already stays."""
    soft, hard = resource.getrlimit(which)
    resource.setrlimit(which, (min(limit for limit in (soft, hard, wanted) if limit != resource.RLIM_INFINITY), hard))


def _read_result(read_end: int, deadline: float, max_bytes: int) -> bytes | None:
    result = bytearray()
    while (left := deadline - time.monotonic()) > 0:
        if not select.select([read_end], [], [], left)[0]:
            return None
        data = os.read(read_end, CHUNK)
        if not data:
            return bytes(result[:-1]) if result.endswith(b"\n") else None
        result += data
        if len(result) > max_bytes + 1:
            return None
    return None
