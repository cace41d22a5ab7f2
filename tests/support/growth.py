"""Measure how the cost of work grows with its input, in CPU time, which a loaded machine hardly changes."""

from __future__ import annotations

import time
from collections.abc import Callable

PART = 5
TOLERANCE = 3  # a linear algorithm passes with this factor to spare; a quadratic one takes PART times more than linear
NOISE_SECONDS = 0.02  # a shorter measurement counts as this
ATTEMPTS = 3


def cpu_seconds(work: Callable[[], object]) -> float:
    """The CPU time of this process that `work` takes."""
    began = time.process_time()
    work()
    return time.process_time() - began


def grows_linearly(work: Callable[[int], object], size: int) -> bool:
    """Whether `work(size)` costs about PART times what `work(size // PART)` costs, or less.

    Caches, garbage collection and other processes on the same core disturb a measurement, so one good run is enough.
    """

    def once() -> bool:
        part = max(cpu_seconds(lambda: work(size // PART)), NOISE_SECONDS)
        return cpu_seconds(lambda: work(size)) < TOLERANCE * PART * part

    return any(once() for _ in range(ATTEMPTS))
