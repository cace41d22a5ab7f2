"""Tells the NATS server of a cluster, if it runs on this machine, to read its configuration again."""

from __future__ import annotations

import contextlib
import os
import signal
from enum import StrEnum
from pathlib import Path

from chyme.workers.server_config import CONFIG, PID_FILE

_PROGRAM = "nats-server"


class Reload(StrEnum):
    """What became of the request."""

    REQUESTED = "requested"
    NOT_RUNNING = "not running here"
    NOT_PERMITTED = "not permitted"


def reload_server(folder: Path) -> Reload:
    """Have the server read its configuration again; it then disconnects everyone who was removed."""
    try:
        pid = int((folder / PID_FILE).read_text(encoding="ascii"))
        handle = os.pidfd_open(pid)  # stays with this process, even if it ends and another gets its number
    except (OSError, ValueError):
        return Reload.NOT_RUNNING
    try:
        if not _is_server(pid, folder / CONFIG):
            return Reload.NOT_RUNNING
        signal.pidfd_send_signal(handle, signal.SIGHUP)
    except ProcessLookupError:
        return Reload.NOT_RUNNING
    except PermissionError:
        return Reload.NOT_PERMITTED
    finally:
        os.close(handle)
    return Reload.REQUESTED


def _is_server(pid: int, config: Path) -> bool:
    """Say whether a process is a NATS server with this configuration: the PID file may be of one that was killed."""
    process = Path(f"/proc/{pid}")
    try:
        if (process / "comm").read_text().strip() != _PROGRAM:
            return False
        arguments = (process / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    folder = process / "cwd"
    for argument in arguments:
        named = Path(os.fsdecode(argument.rpartition(b"=")[2] if argument.startswith(b"-") else argument))
        with contextlib.suppress(OSError):
            if named.name and (folder / named).samefile(config):  # an absolute name replaces the folder
                return True
    return False
