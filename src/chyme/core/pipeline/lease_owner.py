"""Who holds a lease, and whether that process still lives."""

from __future__ import annotations

import os
import socket
from pathlib import Path


def this_process() -> str:
    """Host, boot, process namespace, process and its start: nobody else has the same."""
    pid = os.getpid()
    return "|".join((socket.gethostname(), _boot(), _namespace(), str(pid), _started(pid) or "?"))


def is_dead(owner: str) -> bool:
    """True only when the owner ran on this host, in this boot, and is certainly gone."""
    parts = owner.split("|")
    if len(parts) != 5 or not parts[3].isdigit() or parts[4] == "?":
        return False
    host, boot, namespace, pid, started = parts
    if (host, boot, namespace) != (socket.gethostname(), _boot(), _namespace()) or not boot:
        return False
    return _started(int(pid)) != started


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def _namespace() -> str:
    try:
        return str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return ""


def _started(pid: int) -> str | None:
    """The process's start in clock ticks since boot; None when there is no such process (or only its zombie)."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return None
    return None if fields[0] in (b"Z", b"X") else fields[19].decode()
