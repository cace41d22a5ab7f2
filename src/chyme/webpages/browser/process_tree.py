"""Finds, measures and kills a process and all its descendants."""

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
    """One process, distinguishable from a later one with the same pid."""

    pid: int
    started: int  # in ticks since boot


def process_tree(pid: int) -> frozenset[Process]:
    """Return the process and its descendants that are alive."""
    found: set[Process] = set()
    pending = [pid]
    while pending:
        current = pending.pop()
        stat = _read_stat(current)
        if stat is not None:
            found.add(Process(current, int(stat[19])))
            pending += _children(current)
    return frozenset(found)


def private_memory(processes: Iterable[Process]) -> int:
    """Return the bytes that these processes hold and share with no file; memory shared by a fork counts for each."""
    return sum(_private_bytes(process.pid) for process in processes)


def adopt_orphans(wanted: bool) -> bool:
    """Set whether processes whose parent dies become our children, so that we can reap them; return the old setting."""
    libc = ctypes.CDLL(None)
    before = ctypes.c_int(0)
    libc.prctl(PR_GET_CHILD_SUBREAPER, ctypes.byref(before), 0, 0, 0)
    libc.prctl(PR_SET_CHILD_SUBREAPER, int(wanted), 0, 0, 0)
    return bool(before.value)


def kill_all(processes: Iterable[Process]) -> None:
    """Kill them, and return when they are gone; our children leave no zombies."""
    alive = [process for process in processes if not _is_gone(process)]
    for process in alive:
        with suppress(OSError):
            os.kill(process.pid, signal.SIGKILL)
    deadline = time.monotonic() + END_SECONDS
    while (alive := [process for process in alive if not _is_gone(process)]) and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)


def _is_gone(process: Process) -> bool:
    stat = _read_stat(process.pid)
    if stat is None or int(stat[19]) != process.started:
        return True
    with suppress(ChildProcessError):  # not our child, or not yet
        return os.waitpid(process.pid, os.WNOHANG)[0] == process.pid
    return stat[0] in (b"Z", b"X") and stat[1] == b"1"  # init reaps it


def _read_stat(pid: int) -> list[bytes] | None:
    """Return the fields of /proc/…/stat from the state on: state, parent … and, as the twentieth, the start time."""
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as stat:
            fields = stat.read().rpartition(b")")[2].split()
    except OSError:
        return None
    return fields if len(fields) > 19 else None


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


def _private_bytes(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/statm", "rb", buffering=0) as statm:
            _, resident, shared, *_ = map(int, statm.read().split())
    except (OSError, ValueError):
        return 0
    return (resident - shared) * PAGE
