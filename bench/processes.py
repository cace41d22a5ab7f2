"""What processes use, read from /proc: CPU, memory, threads and children."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass
from pathlib import Path

TICK = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class Used:
    """One process at one moment."""

    pid: int
    parent: int
    user: float
    system: float
    buried: float  # CPU of children that have ended and were waited for
    resident: int

    @property
    def cpu(self) -> float:
        """Of the process itself; living and buried children are counted elsewhere."""
        return self.user + self.system


def used_by(pid: int) -> Used | None:
    """What a process has used so far; None when it is gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()
    user, system, buried_user, buried_system = (int(fields[at]) / TICK for at in (11, 12, 13, 14))
    return Used(pid, int(fields[1]), user, system, buried_user + buried_system, int(fields[21]) * PAGE)


def family_of(pid: int) -> list[Used]:
    """All living descendants of a process."""
    found: list[Used] = []
    waiting = [pid]
    while waiting:
        current = waiting.pop()
        for child in _children(current):
            used = used_by(child)
            if used is not None:
                found.append(used)
                waiting.append(child)
    return found


def _children(pid: int) -> list[int]:
    found: list[int] = []
    try:
        tasks = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return found
    for task in tasks:
        try:
            found += map(int, Path(f"/proc/{pid}/task/{task}/children").read_text().split())
        except OSError:
            continue
    return found


def private_bytes(pid: int) -> int:
    """Private memory that no file stands behind."""
    total, anonymous = 0, False
    try:
        lines = Path(f"/proc/{pid}/smaps").read_text(errors="replace").splitlines()
    except OSError:
        return 0
    for line in lines:
        head, _, rest = line.partition(" ")
        if not head.endswith(":"):
            fields = rest.split(None, 4)
            name = fields[4] if len(fields) > 4 else ""
            anonymous = not name.startswith("/") or name.startswith("/dev/zero")
        elif anonymous and head in ("Private_Clean:", "Private_Dirty:"):
            total += int(rest.split()[0]) * 1024
    return total


def thread_seconds() -> dict[str, float]:
    """CPU of each thread of this process, by name (numbers at the end are left out)."""
    names = {thread.native_id: thread.name.rstrip("0123456789_-") for thread in threading.enumerate()}
    spent: dict[str, float] = {}
    for task in os.listdir("/proc/self/task"):
        fields = Path(f"/proc/self/task/{task}/stat").read_text(errors="replace").rpartition(")")[2].split()
        name = names.get(int(task), "other")
        spent[name] = spent.get(name, 0.0) + (int(fields[11]) + int(fields[12])) / TICK
    return spent
