"""The processes below one: who they are, what they hold, and that none of them stays."""

from __future__ import annotations

import ctypes
import os
import signal
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import NamedTuple

PAGE = os.sysconf("SC_PAGE_SIZE")
PR_SET_CHILD_SUBREAPER = 36
PR_GET_CHILD_SUBREAPER = 37
POLL_SECONDS = 0.005
END_SECONDS = 5.0


class Process(NamedTuple):
    """One process, told apart from a later one of the same number."""

    pid: int
    started: int  # in ticks since the machine started


def process_tree(pid: int) -> frozenset[Process]:
    """The process and all below it, as far as they live."""
    found: set[Process] = set()
    ahead = [pid]
    while ahead:
        one = ahead.pop()
        told = _stat(one)
        if told is not None:
            found.add(Process(one, int(told[19])))
            ahead += _children(one)
    return frozenset(found)


def private_memory(processes: Iterable[Process]) -> int:
    """Bytes that these processes hold and share with no file; what was forked from one of them counts for each."""
    return sum(_private(process.pid) for process in processes)


def adopt_orphans(wanted: bool) -> bool:
    """Whether processes whose parent dies become ours, so that we can lay them to rest. Returns what was so before."""
    libc = ctypes.CDLL(None)
    before = ctypes.c_int(0)
    libc.prctl(PR_GET_CHILD_SUBREAPER, ctypes.byref(before), 0, 0, 0)
    libc.prctl(PR_SET_CHILD_SUBREAPER, int(wanted), 0, 0, 0)
    return bool(before.value)


def kill_all(processes: Iterable[Process]) -> None:
    """Kill them, and return when they are gone; those that are ours leave no zombie."""
    left = [process for process in processes if not _is_gone(process)]
    for process in left:
        with suppress(OSError):
            os.kill(process.pid, signal.SIGKILL)
    deadline = time.monotonic() + END_SECONDS
    while (left := [process for process in left if not _is_gone(process)]) and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)


def _is_gone(process: Process) -> bool:
    told = _stat(process.pid)
    if told is None or int(told[19]) != process.started:
        return True
    with suppress(ChildProcessError):  # it is not ours, or not yet
        return os.waitpid(process.pid, os.WNOHANG)[0] == process.pid
    return told[0] in (b"Z", b"X") and told[1] == b"1"  # the system's first process lays it to rest


def _stat(pid: int) -> list[bytes] | None:
    """What /proc tells from the state on: state, parent … and, as the twentieth, when it started."""
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as stat:
            told = stat.read().rpartition(b")")[2].split()
    except OSError:
        return None
    return told if len(told) > 19 else None


def _children(pid: int) -> list[int]:
    found: list[int] = []
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return found
    for thread in threads:
        with suppress(OSError), open(f"/proc/{pid}/task/{thread}/children", "rb", buffering=0) as children:
            found += map(int, children.read().split())
    return found


def _private(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/statm", "rb", buffering=0) as statm:
            _, resident, shared, *_ = map(int, statm.read().split())
    except (OSError, ValueError):
        return 0
    return (resident - shared) * PAGE
