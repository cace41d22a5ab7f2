"""All open HTTP connections: how many there may be, which are closed to make room, and which took too long."""

from __future__ import annotations

import logging
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from chyme.accounts.login_throttle import network_key
from chyme.doors.http.request_origin import Network, is_trusted_proxy

log = logging.getLogger(__name__)

LOG_SECONDS = 60.0  # between two lines, however many connections are closed
STALLED_SECONDS = 5.0  # without progress, after which a request under way may be closed to make room
ACCEPTS_AT_ONCE = 16  # per wake-up of the listener: so many descriptors may be open before they are counted
MAX_CONNECTIONS = 1000  # connections: enough for a household or a team, and not too much for its memory
MIN_CONNECTIONS = 16
DESCRIPTORS_OF_SERVER = 128  # the log, pipes to child processes, sockets of the network guard
DESCRIPTORS_OF_VAULT = 128  # database connections of threads, inotify, locks, caches


class Reason(StrEnum):
    """Why a connection was closed by the server."""

    MAKE_ROOM = "make_room"
    REFUSED = "refused"
    HEAD_TIMEOUT = "head_timeout"
    BODY_TIMEOUT = "body_timeout"
    READ_TIMEOUT = "read_timeout"
    NOT_HTTP = "not_http"
    NOT_ACCEPTED = "not_accepted"


REASON_TEXTS = {
    Reason.MAKE_ROOM: "closed to make room for newer ones",
    Reason.REFUSED: "refused",
    Reason.NOT_HTTP: "closed because they sent something that is not HTTP",
    Reason.NOT_ACCEPTED: "not accepted for lack of file descriptors",
}


class Connection(Protocol):
    """One open connection. `since`: when it began to wait for a request, or for the rest of its head."""

    address: str
    since: float

    def check_progress(self, now: float) -> Reason | None:
        """Return why it must be closed now; None if it need not be."""

    def stalled_for(self, now: float) -> float:
        """Return for how many seconds the client has neither sent nor read what it should."""

    def drop(self, reason: Reason) -> None:
        """Close it at once."""


class Connections:
    """Counts connections and closes those that take too long. Used by the event loop's thread only.

    A connection *waits* while no complete request head has come, and after its response. Waiting connections are
    closed, the oldest first, when there are too many. Next come requests whose client has not moved for
    STALLED_SECONDS. Requests that make progress, event streams among them, are never closed to make room.
    """

    def __init__(
        self,
        limits: ConnectionLimits,
        proxies: Sequence[Network] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.limits = limits
        self.clock = clock
        self.closed: Counter[Reason] = Counter()
        self._proxies = proxies
        self._open: dict[str, set[Connection]] = {}
        self._total = 0
        self._waiting: OrderedDict[Connection, None] = OrderedDict()
        self._waiting_of: dict[str, OrderedDict[Connection, None]] = {}
        self._stalled: deque[Connection] = deque()
        self._stalled_of: dict[str, deque[Connection]] = {}
        self._unreported: Counter[Reason] = Counter()
        self._culprits: Counter[str] = Counter()
        self._reported_at = -LOG_SECONDS

    def __len__(self) -> int:
        return self._total

    def admit(self, connection: Connection) -> bool:
        """Count a new connection, after making room for it. False if there is no room; then it is not counted."""
        address = connection.address
        if len(self._open.get(address, ())) >= self._limit_of(address) and not self._make_room(
            self._waiting_of.get(address), self._stalled_of.get(address)
        ):
            return self._refuse(address)
        if self._total >= self.limits.total and not self._make_room(self._waiting, self._stalled):
            return self._refuse(address)
        self._open.setdefault(address, set()).add(connection)
        self._total += 1
        self.mark_waiting(connection)
        return True

    def mark_waiting(self, connection: Connection) -> None:
        """Mark that the connection begins to wait, or to wait again: it becomes the youngest waiting one."""
        connection.since = self.clock()
        own = self._waiting_of.setdefault(connection.address, OrderedDict())
        for queue in (self._waiting, own):
            queue[connection] = None
            queue.move_to_end(connection)

    def mark_working(self, connection: Connection) -> None:
        """Mark that a complete head has come: the connection no longer waits."""
        self._waiting.pop(connection, None)
        own = self._waiting_of.get(connection.address)
        if own is not None:
            own.pop(connection, None)
            if not own:
                del self._waiting_of[connection.address]

    def leave(self, connection: Connection) -> None:
        """Forget a closed connection. May be called again."""
        self.mark_working(connection)
        own = self._open.get(connection.address)
        if own is not None and connection in own:
            own.remove(connection)
            self._total -= 1
            if not own:
                del self._open[connection.address]

    def record_close(self, reason: Reason, address: str) -> None:
        """Count why a connection was closed; reasons that matter to people are logged, once a minute."""
        self.closed[reason] += 1
        if reason in REASON_TEXTS:
            self._unreported[reason] += 1
            if len(self._culprits) < self.limits.total or address in self._culprits:
                self._culprits[address] += 1

    def free_descriptors(self) -> None:
        """Close some waiting connections of any address, because the process has no descriptor left."""
        self.record_close(Reason.NOT_ACCEPTED, "")
        for _ in range(ACCEPTS_AT_ONCE):
            if not self._make_room(self._waiting, self._stalled):
                return

    def check(self) -> None:
        """Close connections that took too long, find stalled ones, and report. Call this every second."""
        now = self.clock()
        self._stalled, self._stalled_of = deque(), {}
        for connection in [connection for of_address in self._open.values() for connection in of_address]:
            reason = connection.check_progress(now)
            if reason is not None:
                self._drop(connection, reason)
            elif connection not in self._waiting and connection.stalled_for(now) >= STALLED_SECONDS:
                self._stalled.append(connection)
                self._stalled_of.setdefault(connection.address, deque()).append(connection)
        self._report(now)

    def _limit_of(self, address: str) -> int:
        # many clients share the address of a proxy
        trusted = is_trusted_proxy(address.removeprefix("from "), self._proxies)
        return self.limits.total if trusted else self.limits.per_address

    def _make_room(self, waiting: OrderedDict[Connection, None] | None, stalled: deque[Connection] | None) -> bool:
        if waiting:
            self._drop(next(iter(waiting)), Reason.MAKE_ROOM)
            return True
        while stalled:
            connection = stalled.popleft()
            still_open = connection in self._open.get(connection.address, ())
            if still_open and connection.stalled_for(self.clock()) >= STALLED_SECONDS:
                self._drop(connection, Reason.MAKE_ROOM)
                return True
        return False

    def _refuse(self, address: str) -> bool:
        self.record_close(Reason.REFUSED, address)
        return False

    def _drop(self, connection: Connection, reason: Reason) -> None:
        self.leave(connection)
        self.record_close(reason, connection.address)
        connection.drop(reason)

    def _report(self, now: float) -> None:
        if not self._unreported or now - self._reported_at < LOG_SECONDS:
            return
        counts = ", ".join(f"{count} {REASON_TEXTS[reason]}" for reason, count in self._unreported.items())
        address, _ = self._culprits.most_common(1)[0]
        log.warning(
            "connections: %s; most %s; limits: connections=%d, connections_per_address=%d",
            *(counts, address or "from elsewhere", self.limits.total, self.limits.per_address),
        )
        self._unreported.clear()
        self._culprits.clear()
        self._reported_at = now


def address_key(client: tuple[str, int] | None) -> str:
    """Return one key for all connections of a client; an IPv6 /64 network counts as one."""
    return network_key(client[0] if client is not None else "")


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """What the server allows its clients."""

    total: int
    per_address: int
    head_seconds: float  # for a complete request head, counted from its first byte or from the connect
    stall_seconds: float  # for the next part of a body, or for reading the next part of a response


def limit_connections(
    descriptors: int, vaults: int, total: int, per_address: int, head_seconds: float, stall_seconds: float
) -> ConnectionLimits:
    """Limits that stay below the descriptor limit of the process. 0 for `total` or `per_address` means the default.

    A connection counts twice: it may have a file open that it sends or receives. One address gets half of all
    connections by default, so that a single client cannot keep all others out.
    """
    available = (descriptors - DESCRIPTORS_OF_SERVER - DESCRIPTORS_OF_VAULT * vaults) // 2
    total = max(MIN_CONNECTIONS, min(total or MAX_CONNECTIONS, available))
    return ConnectionLimits(total, min(total, per_address or total // 2), head_seconds, stall_seconds)
