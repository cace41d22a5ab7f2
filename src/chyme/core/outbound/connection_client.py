"""A child's access to the outside: it asks the guard, and receives open connections."""

from __future__ import annotations

import math
import os
import socket
from typing import cast

from chyme.core.outbound.policy import HIGHEST_PORT
from chyme.core.outbound.rate_limits import LONGEST_HOLD
from chyme.core.outbound.socket_messages import KIND, MAX_BYTES, message_of, receive, send
from chyme.errors import BY_CATEGORY, AddressRefused, Category, DigestError, NetworkFailed, TimedOut

MAX_HOST_LENGTH = 255  # of a host, each up to twelve bytes long
CONNECTION_SECONDS = 10.0  # the initial timeout of a connection


class ConnectionClient:
    """The child's end of the line to the guard. `connect` and `hold` may be called from many threads at once."""

    def __init__(self, fd: int, seconds: float) -> None:
        self._sock = socket.socket(fileno=fd)
        self._sock.set_inheritable(False)  # programs that this process starts get no access to the guard
        self._sock.settimeout(seconds)
        self._seconds = seconds  # the guard answers sooner, unless something is wrong

    def connect(self, host: str, port: int, polite: bool = False) -> socket.socket:
        """Like Guard.connect: the same connections, the same errors."""
        if len(host) > MAX_HOST_LENGTH or not 0 < port <= HIGHEST_PORT:
            raise AddressRefused("a host with a name this long, or a port of this number, cannot exist")
        fd = self._ask({"ask": "connect", "host": host, "port": port, "polite": polite}, f"{host}:{port}")
        if fd is None:
            raise NetworkFailed(f"{host}:{port}: the guard gave no connection")
        sock = socket.socket(fileno=fd)
        sock.settimeout(CONNECTION_SECONDS)
        return sock

    def hold(self, host: str, seconds: float) -> None:
        """Like Guard.hold."""
        if len(host) > MAX_HOST_LENGTH or not math.isfinite(seconds):
            return
        seconds = min(max(0.0, seconds), LONGEST_HOLD)
        fd = self._ask({"ask": "hold", "host": host, "seconds": seconds}, host)
        if fd is not None:
            os.close(fd)

    def close(self) -> None:
        self._sock.close()

    def _ask(self, message: dict[str, object], where: str) -> int | None:
        """Return the descriptor that came with the guard's answer, or raise the error in the answer."""
        own_end, guard_end = socket.socketpair(socket.AF_UNIX, KIND)
        with own_end:
            try:
                with guard_end:
                    send(self._sock, message, [guard_end.fileno()])
                own_end.settimeout(self._seconds)
                data, fds, _ = receive(own_end, MAX_BYTES, 1)
            except TimeoutError as error:
                raise TimedOut(f"{where}: the guard did not answer within {self._seconds:g} s") from error
            except (OSError, ValueError) as error:
                raise NetworkFailed(f"{where}: the guard could not be asked") from error
        answer = message_of(data)
        if answer is None:
            raise NetworkFailed(f"{where}: the guard did not answer")
        if "category" in answer:
            raise _error_from_answer(answer)
        return fds[0] if fds else None


def _error_from_answer(answer: dict[str, object]) -> DigestError:
    error_class = AddressRefused if answer["refused"] else BY_CATEGORY[Category(str(answer["category"]))]
    retry_after = cast("float | None", answer["retry_after"])
    return error_class(str(answer["message"]), retry_after=retry_after, tried=bool(answer["tried"]))
