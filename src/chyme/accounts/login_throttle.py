"""Makes clients wait after several wrong guesses."""

from __future__ import annotations

import ipaddress
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

FIRST_WAIT = timedelta(seconds=5)
LONGEST_WAIT = timedelta(minutes=15)
BRIEF_WAIT = timedelta(seconds=30)
FORGOTTEN_AFTER = timedelta(hours=1)
MAX_KEYS = 10_000  # the oldest go first, so that guessers cannot fill the memory


@dataclass(slots=True)
class _Guesses:
    wrong: int
    last: datetime
    until: datetime


class LoginThrottle:
    """Counts wrong guesses by key: an address, a name. Thread-safe."""

    def __init__(self, free: int, now: Callable[[], datetime]) -> None:
        self._free = free  # wrong guesses in a row without a wait
        self._now = now
        self._guesses: OrderedDict[str, _Guesses] = OrderedDict()
        self._lock = threading.Lock()

    def start_attempt(self, keys: Sequence[str], brief: Sequence[str] = ()) -> float:
        """Seconds still to wait; at 0 the guess may be made, and counts as wrong until `record_success`.

        Counting beforehand makes a hundred guesses at once no better than one after another. Keys that strangers share
        with a user are `brief`: they wait for seconds only, because otherwise a stranger could lock that user out.
        """
        now = self._now()
        with self._lock:
            known = [self._guesses[key] for key in (*keys, *brief) if key in self._guesses]
            waits = [(guesses.until - now).total_seconds() for guesses in known]
            longest = max([0.0, *waits])
            if longest <= 0:
                for key in keys:
                    self._count(key, now, LONGEST_WAIT)
                for key in brief:
                    self._count(key, now, BRIEF_WAIT)
            return longest

    def record_success(self, keys: Sequence[str]) -> None:
        """The guess was right: forget earlier wrong ones."""
        with self._lock:
            for key in keys:
                self._guesses.pop(key, None)

    def _count(self, key: str, now: datetime, longest: timedelta) -> None:
        previous = self._guesses.pop(key, None)
        wrong = 1 if previous is None or now - previous.last > FORGOTTEN_AFTER else previous.wrong + 1
        self._guesses[key] = _Guesses(wrong, now, now + min(longest, wait_after(wrong, self._free)))
        while len(self._guesses) > MAX_KEYS:
            self._guesses.popitem(last=False)


def wait_after(wrong: int, free: int) -> timedelta:
    """No wait at first, then twice as long after every wrong guess."""
    if wrong < free:
        return timedelta(0)
    return min(LONGEST_WAIT, FIRST_WAIT * (1 << min(wrong - free, 20)))


def network_key(address: str) -> str:
    """One key for all addresses that one guesser commonly has: a /64 network of IPv6 is one household."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return "from elsewhere"
    if isinstance(parsed, ipaddress.IPv6Address):
        if parsed.ipv4_mapped is not None:
            return f"from {parsed.ipv4_mapped}"
        return f"from {ipaddress.ip_network((parsed, 64), strict=False)}"
    return f"from {parsed}"
