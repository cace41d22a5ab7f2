"""The memory of processes: how much they use, and giving back what they do not."""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress
from typing import Literal

PAGE = os.sysconf("SC_PAGE_SIZE")
M_ARENA_MAX = -8  # in glibc's malloc.h


def read_memory(pid: int | Literal["self"]) -> tuple[int, int]:
    """Bytes of memory that a process uses, and how many of them belong to files; zeros when it is gone."""
    try:
        with open(f"/proc/{pid}/statm", "rb", buffering=0) as statm:  # runs after every task: must be quick
            fields = statm.read().split()
            return int(fields[1]) * PAGE, int(fields[2]) * PAGE
    except (OSError, IndexError):
        return 0, 0


def limit_heaps(count: int) -> None:
    """Let all threads of this process share so many heaps: with one for each, what all free is never used again."""
    with suppress(AttributeError):  # only glibc has it
        ctypes.CDLL(None).mallopt(M_ARENA_MAX, count)


def release_memory() -> None:
    """Return freed memory of this process to the system: a large network leaves up to 200 MB of it behind."""
    with suppress(AttributeError):  # only glibc has it
        ctypes.CDLL(None).malloc_trim(0)
