"""Wait for what other threads and processes bring about."""

from __future__ import annotations

import time
from collections.abc import Callable

AMPLE = 300.0  # seconds: a loaded machine takes a multiple of what a quiet one does, and only a hang takes longer


def wait_until(true: Callable[[], object], seconds: float = AMPLE) -> None:
    """Return as soon as `true` holds. The deadline is a net for hangs, not a measurement."""
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, f"not true after {seconds:g} seconds"
        time.sleep(0.02)
