"""How often one host is called upon."""

from __future__ import annotations

import threading
from collections.abc import Callable

from chyme.errors import RateLimited

MOST_HOSTS = 4096
LONGEST_HOLD = 86400.0  # a host that asks for more is asked again after a day


class HostRateLimiter:
    """Keeps calls on one host a while apart, and away from hosts that asked for a pause. For many threads."""

    def __init__(
        self, delay: float, patience: float, clock: Callable[[], float], sleep: Callable[[float], None]
    ) -> None:
        self._delay = delay
        self._patience = patience
        self._clock = clock
        self._sleep = sleep
        self._next: dict[str, float] = {}  # when the host may be called upon again
        self._held: dict[str, float] = {}  # until when it asked to be left alone
        self._lock = threading.Lock()

    def take_turn(self, host: str) -> None:
        """Wait until it is this caller's turn; RateLimited, at no cost, where that would take long."""
        with self._lock:
            now = self._clock()
            left = self._held.get(host, now) - now
            if left > 0:
                raise RateLimited(f"{host} asked for a pause of {left:.0f} s more", retry_after=left, tried=False)
            wait = max(0.0, self._next.get(host, now) - now)
            if wait > self._patience:
                cause = f"{host} is called upon every {self._delay:g} s, and others are before us"
                raise RateLimited(cause, retry_after=wait, tried=False)
            if self._delay > 0:
                _note(self._next, host, now + wait + self._delay, now)
        if wait > 0:
            self._sleep(wait)

    def hold(self, host: str, seconds: float) -> None:
        with self._lock:
            now = self._clock()
            until = now + min(max(seconds, 0.0), LONGEST_HOLD)
            _note(self._held, host, max(until, self._held.get(host, now)), now)


def _note(times: dict[str, float], host: str, until: float, now: float) -> None:
    """Note it, and forget what is over; among too many, whatever is over first."""
    times[host] = until
    if len(times) <= MOST_HOSTS:
        return
    for old in [name for name, time in times.items() if time <= now]:
        del times[old]
    while len(times) > MOST_HOSTS:
        del times[min(times, key=times.__getitem__)]
