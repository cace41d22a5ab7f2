"""Run a parser apart: in a fork of this process that may run out of time or memory, and takes nothing along."""

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

MEMORY = 5 << 28  # on top of what the process already has mapped
CHUNK = 1 << 20
WALL_FACTOR = 5
PAGE = os.sysconf("SC_PAGE_SIZE")


def run_in_fork(work: Callable[[], bytes], seconds: float, most: int) -> bytes | None:
    """What `work` returns; None when it failed, took more than `seconds` of CPU time, too much memory, or made more
    than `most` bytes. The clock on the wall is only a net: on a loaded machine it tells nothing about the work.

    A fork, not a new program: it starts in a millisecond and needs no right to read Python's files again. The work
    must neither take locks of other threads nor touch what is open here.
    """
    ours, theirs = os.pipe2(os.O_CLOEXEC)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of any fork beside threads
        pid = os.fork()
    if pid == 0:
        _work_and_vanish(work, theirs, seconds)
    os.close(theirs)
    try:
        made = _all_of(ours, time.monotonic() + seconds * WALL_FACTOR, most)
    finally:
        os.close(ours)
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    return made


def _work_and_vanish(work: Callable[[], bytes], out: int, seconds: float) -> None:
    """An answer ends with a byte that says it is whole."""
    try:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(int(seconds * WALL_FACTOR) + 1)  # should nobody be there any more to end it
        _bound(resource.RLIMIT_CPU, math.ceil(seconds))
        _bound_memory()
        faulthandler.disable()  # running out of memory is one of its ways to end; nobody needs to hear of it
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        left = memoryview(work() + b"\n")
        while left:
            left = left[os.write(out, left) :]
    finally:
        os._exit(0)


def _bound_memory() -> None:
    with open("/proc/self/statm", "rb", buffering=0) as statm:
        _bound(resource.RLIMIT_AS, int(statm.read().split()[0]) * PAGE + MEMORY)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _bound(which: int, wanted: int) -> None:
    """Lower a limit to what is wanted; one that is lower already stays."""
    soft, hard = resource.getrlimit(which)
    resource.setrlimit(which, (min(limit for limit in (soft, hard, wanted) if limit != resource.RLIM_INFINITY), hard))


def _all_of(ours: int, deadline: float, most: int) -> bytes | None:
    heard = bytearray()
    while (left := deadline - time.monotonic()) > 0:
        if not select.select([ours], [], [], left)[0]:
            return None
        data = os.read(ours, CHUNK)
        if not data:
            return bytes(heard[:-1]) if heard.endswith(b"\n") else None
        heard += data
        if len(heard) > most + 1:
            return None
    return None
