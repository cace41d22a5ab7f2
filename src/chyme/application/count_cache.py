"""Figures that take a moment to count, for people and programs who ask for them all the time."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

from chyme.errors import ChymeError

log = logging.getLogger(__name__)

T = TypeVar("T")

SHARE = 0.02  # of the time may go into counting
QUICK = 0.03  # seconds that whoever asks may wait; what takes longer is counted while they have the last figure
OLDEST = 60.0  # seconds that a figure lasts at most: it may have taken long only once
TOO_OLD = 10  # times as old as it should be: nobody asked for long, and now has to wait


class CountCache(Generic[T]):
    """Counts again at most every `seconds`, and more seldom where it takes long."""

    def __init__(self, count: Callable[[], T], seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._count = count
        self._seconds = seconds
        self._clock = clock
        self._guard = threading.Lock()
        self._counting = False
        self._last: tuple[T, float, float] | None = None  # what, when, and how long it took

    def __call__(self) -> T:
        """The figure: fresh where it is counted in a moment, else a few seconds old."""
        with self._guard:
            if self._last is None:
                return self._anew()
            value, at, took = self._last
            lasts = max(self._seconds, min(took / SHARE, OLDEST))
            age = self._clock() - at
            if age < lasts:
                return value
            if took <= QUICK or age > TOO_OLD * lasts:
                return self._anew()
            if not self._counting:
                self._counting = True
                threading.Thread(target=self._behind, name="chyme-count", daemon=True).start()
            return value

    def _anew(self) -> T:
        began = self._clock()
        value = self._count()
        ended = self._clock()
        self._last = (value, ended, ended - began)
        return value

    def _behind(self) -> None:
        try:
            self._anew()
        except ChymeError as error:
            log.info("figures could not be counted: %s", error)
        except Exception:  # the vault may have been closed meanwhile; the last figure stays
            log.debug("figures could not be counted", exc_info=True)
        finally:
            self._counting = False
