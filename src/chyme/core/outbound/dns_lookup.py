"""Looks up host names with a time limit."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future

MAX_LOOKUPS = 16

Resolve = Callable[[str], Sequence[str]]


def look_up(name: str) -> list[str]:
    """The addresses of a name, in the order in which the system would try them."""
    found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    addresses = [
        f"{address[0]}%{address[3]}" if len(address) == 4 and address[3] else str(address[0]) for *_, address in found
    ]
    return list(dict.fromkeys(addresses))


class DnsResolver:
    """Limits how many threads wait for the system's look-up, which can hang and cannot be stopped. Callers wait only
    until their time limit."""

    def __init__(self, resolve: Resolve = look_up, at_once: int = MAX_LOOKUPS) -> None:
        self._resolve = resolve
        self._slots = threading.BoundedSemaphore(at_once)

    def resolve(self, name: str, seconds: float) -> Sequence[str]:
        """What the look-up returns or raises; TimeoutError when it takes longer."""
        deadline = time.monotonic() + seconds
        if not self._slots.acquire(timeout=max(0.0, seconds)):
            raise TimeoutError
        answer: Future[Sequence[str]] = Future()

        def ask() -> None:
            try:
                found = self._resolve(name)
            except Exception as error:
                self._slots.release()
                answer.set_exception(error)
            else:
                self._slots.release()
                answer.set_result(found)

        try:
            threading.Thread(target=ask, name="chyme-look-up", daemon=True).start()
        except BaseException:
            self._slots.release()
            raise
        return answer.result(max(0.0, deadline - time.monotonic()))
