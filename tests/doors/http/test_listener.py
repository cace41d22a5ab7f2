"""The server before its first answer."""

from __future__ import annotations

import socket
from contextlib import closing

from waiting import AMPLE

from chyme.doors.http.server import open_listener


def test_a_client_that_connects_before_the_server_answers_is_not_refused() -> None:
    with closing(open_listener("127.0.0.1", 0)) as listener:
        at = listener.getsockname()
        socket.create_connection(at, timeout=AMPLE).close()
