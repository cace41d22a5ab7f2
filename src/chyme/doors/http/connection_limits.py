"""How many HTTP connections may be open at once, and how long a client may take."""

from __future__ import annotations

from dataclasses import dataclass

MAX_CONNECTIONS = 1000  # connections: enough for a household or a team, and not too much for its memory
MIN_CONNECTIONS = 16
DESCRIPTORS_OF_SERVER = 128  # the log, pipes to child processes, sockets of the network guard
DESCRIPTORS_OF_VAULT = 128  # database connections of threads, inotify, locks, caches


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
