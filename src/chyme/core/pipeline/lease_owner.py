"""Identifies the process that holds a lease, and checks whether it is still alive."""

from __future__ import annotations

import os
import socket
from pathlib import Path


def this_process() -> str:
    """Host, boot, process namespace, process id and its start time: unique to this process."""
    pid = os.getpid()
    return "|".join((socket.gethostname(), _boot_id(), _namespace(), str(pid), _start_time(pid) or "?"))


def is_dead(owner: str) -> bool:
    """True only if the owner ran on this host, in this boot and namespace, and has certainly ended."""
    parts = owner.split("|")
    if len(parts) != 5 or not parts[3].isdigit() or parts[4] == "?":
        return False
    host, boot, namespace, pid, started = parts
    if (host, boot, namespace) != (socket.gethostname(), _boot_id(), _namespace()) or not boot:
        return False
    return _start_time(int(pid)) != started


def _boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def _namespace() -> str:
    try:
        return str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return ""


def _start_time(pid: int) -> str | None:
    """The start of the process in clock ticks since boot; None if it does not exist or is a zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return None
    return None if fields[0] in (b"Z", b"X") else fields[19].decode()
