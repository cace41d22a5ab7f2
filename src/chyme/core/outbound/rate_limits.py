"""Limits how often chyme connects to one host."""

from __future__ import annotations

import threading
from collections.abc import Callable

from chyme.errors import RateLimited

MAX_HOSTS = 4096
LONGEST_HOLD = 86400.0  # a host that asks for more is tried again after a day


class HostRateLimiter:
    """Spaces out connections to one host, and avoids hosts that asked for a pause. Thread-safe."""

    def __init__(
        self, delay: float, max_wait: float, clock: Callable[[], float], sleep: Callable[[float], None]
    ) -> None:
        self._delay = delay
        self._max_wait = max_wait
        self._clock = clock
        self._sleep = sleep
        self._next_turn: dict[str, float] = {}  # when the host may be contacted again
        self._paused_until: dict[str, float] = {}  # when the pause that the host asked for ends
        self._lock = threading.Lock()

    def take_turn(self, host: str) -> None:
        """Wait for this caller's turn; raises RateLimited, which costs no attempt, where that would take long."""
        with self._lock:
            now = self._clock()
            remaining = self._paused_until.get(host, now) - now
            if remaining > 0:
                raise RateLimited(
                    f"{host} asked for a pause of {remaining:.0f} s more", retry_after=remaining, tried=False
                )
            wait = max(0.0, self._next_turn.get(host, now) - now)
            if wait > self._max_wait:
                cause = f"{host} is contacted every {self._delay:g} s, and other requests are before this one"
                raise RateLimited(cause, retry_after=wait, tried=False)
            if self._delay > 0:
                _store_time(self._next_turn, host, now + wait + self._delay, now)
        if wait > 0:
            self._sleep(wait)

    def hold(self, host: str, seconds: float) -> None:
        with self._lock:
            now = self._clock()
            until = now + min(max(seconds, 0.0), LONGEST_HOLD)
            _store_time(self._paused_until, host, max(until, self._paused_until.get(host, now)), now)


def _store_time(times: dict[str, float], host: str, until: float, now: float) -> None:
    """Store the time and drop the past ones; among too many, drop those that end first."""
    times[host] = until
    if len(times) <= MAX_HOSTS:
        return
    for old in [name for name, time in times.items() if time <= now]:
        del times[old]
    while len(times) > MAX_HOSTS:
        del times[min(times, key=times.__getitem__)]
