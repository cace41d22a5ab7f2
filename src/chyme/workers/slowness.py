"""How slow this machine is, so that its time limits can be stretched."""

from __future__ import annotations

import hashlib
import time

REFERENCE_SECONDS = 0.05  # what the same work takes on a core of a server of 2023
ROUNDS = 3
MAX_SLOWNESS = 20.0


def measure_slowness() -> float:
    """1 on a machine that is as fast as the one that limits were set on, or faster; 2 on one half as fast."""
    took = min(_measure() for _ in range(ROUNDS))
    return round(min(max(took / REFERENCE_SECONDS, 1.0), MAX_SLOWNESS), 2)


def _measure() -> float:
    """Seconds for a bit of everything: Python, hashing, products of numbers."""
    import numpy

    numbers = numpy.ones((256, 256))
    data = b"chyme" * 200_000
    began = time.perf_counter()
    for _ in range(10):
        numbers = numbers @ numbers / 256
    hashlib.sha256(data).hexdigest()
    sum(i * i for i in range(600_000))
    return time.perf_counter() - began
