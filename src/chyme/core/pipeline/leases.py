"""Leases held by this process: who owns a lease, whether that process is still alive, and renewing them."""

from __future__ import annotations

import logging
import os
import socket
import threading
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from sqlite3 import Connection

from chyme.core.pipeline.transitions import LEASE
from chyme.core.store import digest_queue, leases
from chyme.core.store.sqlite.database import Database
from chyme.errors import VaultError, VaultGone
from chyme.model import Lease, iso

log = logging.getLogger(__name__)

RENEW_SECONDS = 10.0


class LeaseRenewer:
    """One thread renews all leases of this process.

    An attempt that waits for a free child keeps its lease; a running one loses it 30 s after its deadline, so that
    a hung worker does not keep its file.
    """

    def __init__(self, database: Database, clock: Callable[[], datetime]) -> None:
        self._database = database
        self._clock = clock
        self._deadlines: dict[Lease, datetime | None] = {}
        self._guard = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="chyme-leases", daemon=True)
        self._thread.start()

    def add(self, lease: Lease, deadline: datetime | None = None) -> None:
        """Renew this lease until 30 s after the deadline; without one (it waits for a child), for as long as needed."""
        with self._guard:
            self._deadlines[lease] = deadline

    def remove(self, lease: Lease) -> None:
        with self._guard:
            self._deadlines.pop(lease, None)

    def close(self) -> None:
        self._stop.set()
        self._thread.join()

    def renew(self) -> None:
        """Extend every lease whose attempt may still be running."""
        now = self._clock()
        with self._guard:
            deadlines = list(self._deadlines.items())
        if not deadlines:
            return

        def extend_all(db: Connection) -> None:
            for lease, deadline in deadlines:
                leases.extend(db, lease, iso(min(now, deadline or now) + LEASE))
                if deadline is None:
                    digest_queue.postpone(db, lease.file_id, iso(now + LEASE))

        self._database.write(extend_all)

    def _run(self) -> None:
        while not self._stop.wait(RENEW_SECONDS):
            try:
                self.renew()
            except VaultGone:
                continue
            except VaultError as error:
                self._database.log_failure(log, "leases could not be renewed", error)


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
