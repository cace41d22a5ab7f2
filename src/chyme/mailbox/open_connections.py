"""The connections to mail servers in use, so that they can be cut when chyme ends."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chyme.mailbox.imap_connection import ImapConnection


class OpenConnections:
    """Those of one mailbox."""

    def __init__(self) -> None:
        self._connections: set[ImapConnection] = set()
        self._guard = threading.Lock()
        self.closed = False

    @contextlib.contextmanager
    def hold(self, connection: ImapConnection) -> Iterator[None]:
        with self._guard:
            self._connections.add(connection)
        try:
            yield
        finally:
            with self._guard:
                self._connections.discard(connection)

    def close(self) -> None:
        """Cut all connections: reading from one fails at once."""
        self.closed = True
        with self._guard:
            for connection in self._connections:
                with contextlib.suppress(OSError):
                    connection.sock.shutdown(2)
