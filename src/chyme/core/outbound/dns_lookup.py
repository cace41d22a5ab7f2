"""Looking up names, for no longer than somebody waits."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future

AT_ONCE = 16

Resolve = Callable[[str], Sequence[str]]


def look_up(name: str) -> list[str]:
    """The addresses of a name, in the order in which the system would try them."""
    found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    told = [f"{at[0]}%{at[3]}" if len(at) == 4 and at[3] else str(at[0]) for *_, at in found]
    return list(dict.fromkeys(told))


class DnsResolver:
    """The system's look-up can hang and cannot be ended: a few threads at most wait for it, and nobody else does."""

    def __init__(self, resolve: Resolve = look_up, at_once: int = AT_ONCE) -> None:
        self._resolve = resolve
        self._places = threading.BoundedSemaphore(at_once)

    def resolve(self, name: str, seconds: float) -> Sequence[str]:
        """What the look-up returns or raises; TimeoutError when it takes longer."""
        deadline = time.monotonic() + seconds
        if not self._places.acquire(timeout=max(0.0, seconds)):
            raise TimeoutError
        answer: Future[Sequence[str]] = Future()

        def ask() -> None:
            try:
                found = self._resolve(name)
            except Exception as error:
                self._places.release()
                answer.set_exception(error)
            else:
                self._places.release()
                answer.set_result(found)

        try:
            threading.Thread(target=ask, name="chyme-look-up", daemon=True).start()
        except BaseException:
            self._places.release()
            raise
        return answer.result(max(0.0, deadline - time.monotonic()))
