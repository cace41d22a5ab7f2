"""How long somebody has to wait who guessed wrong several times."""

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
MAX_KEYS = 10_000  # guessers; the oldest go first, so that nobody fills our memory


@dataclass(slots=True)
class _Guesses:
    wrong: int
    last: datetime
    until: datetime


class LoginThrottle:
    """Counts wrong guesses by key: an address, a name. Safe to ask from several threads."""

    def __init__(self, free: int, now: Callable[[], datetime]) -> None:
        self._free = free  # wrong guesses in a row that cost nothing
        self._now = now
        self._guesses: OrderedDict[str, _Guesses] = OrderedDict()
        self._guard = threading.Lock()

    def start_attempt(self, keys: Sequence[str], brief: Sequence[str] = ()) -> float:
        """Seconds still to wait; at 0 the guess may be made, and counts as wrong until `right` is told.

        Counted beforehand, a hundred guesses at once are no better than one after another. Keys that strangers share
        with somebody are `brief`: they wait for seconds only, or a stranger could keep that person out.
        """
        now = self._now()
        with self._guard:
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
        """The guess was right: what was wrong before is forgotten."""
        with self._guard:
            for key in keys:
                self._guesses.pop(key, None)

    def _count(self, key: str, now: datetime, longest: timedelta) -> None:
        before = self._guesses.pop(key, None)
        wrong = 1 if before is None or now - before.last > FORGOTTEN_AFTER else before.wrong + 1
        self._guesses[key] = _Guesses(wrong, now, now + min(longest, wait_after(wrong, self._free)))
        while len(self._guesses) > MAX_KEYS:
            self._guesses.popitem(last=False)


def wait_after(wrong: int, free: int) -> timedelta:
    """Nothing at first, then twice as long after every wrong guess."""
    if wrong < free:
        return timedelta(0)
    return min(LONGEST_WAIT, FIRST_WAIT * (1 << min(wrong - free, 20)))


def network_key(address: str) -> str:
    """One key for all addresses that one guesser commonly has: a network of IPv6 is one household."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return "from elsewhere"
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped is not None:
            return f"from {found.ipv4_mapped}"
        return f"from {ipaddress.ip_network((found, 64), strict=False)}"
    return f"from {found}"
