"""Caches counts that take a moment to compute and are requested all the time."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

from chyme.errors import ChymeError

log = logging.getLogger(__name__)

T = TypeVar("T")

MAX_SHARE = 0.02  # of the time may be spent counting
QUICK_SECONDS = 0.03  # callers wait so long; what takes longer is counted in the background
MAX_LIFETIME = 60.0  # seconds that a value is used: counting may have been slow only once
TOO_OLD = 10  # lifetimes; an older value is not returned, and the caller waits


class CountCache(Generic[T]):
    """Counts again at most every `seconds`, and less often if counting takes long."""

    def __init__(self, count: Callable[[], T], seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._count = count
        self._seconds = seconds
        self._clock = clock
        self._guard = threading.Lock()
        self._counting = False
        self._last: tuple[T, float, float] | None = None  # value, time, and how long counting took

    def __call__(self) -> T:
        """Return the value: fresh if counting is quick, otherwise a few seconds old."""
        with self._guard:
            if self._last is None:
                return self._recount()
            value, counted_at, seconds = self._last
            lifetime = max(self._seconds, min(seconds / MAX_SHARE, MAX_LIFETIME))
            age = self._clock() - counted_at
            if age < lifetime:
                return value
            if seconds <= QUICK_SECONDS or age > TOO_OLD * lifetime:
                return self._recount()
            if not self._counting:
                self._counting = True
                threading.Thread(target=self._recount_in_background, name="chyme-count", daemon=True).start()
            return value

    def _recount(self) -> T:
        began = self._clock()
        value = self._count()
        ended = self._clock()
        self._last = (value, ended, ended - began)
        return value

    def _recount_in_background(self) -> None:
        try:
            self._recount()
        except ChymeError as error:
            log.info("figures could not be counted: %s", error)
        except Exception:  # the vault may have been closed meanwhile; the last value stays
            log.debug("figures could not be counted", exc_info=True)
        finally:
            self._counting = False
