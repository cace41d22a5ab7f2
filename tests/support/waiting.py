"""Wait for the effects of other threads and processes."""

from __future__ import annotations

import time
from collections.abc import Callable

AMPLE = 300.0  # seconds: far more than a loaded machine needs, so that only a hang takes longer


def wait_until(true: Callable[[], object], seconds: float = AMPLE) -> None:
    """Return as soon as `true()` is true. The deadline only catches hangs; it measures nothing."""
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, f"not true after {seconds:g} seconds"
        time.sleep(0.02)
