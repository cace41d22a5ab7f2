"""How long a digester takes for a file of some type: what is quick does not travel."""

from __future__ import annotations

import threading

WEIGHT = 0.2  # of the newest attempt
MAX_SECONDS = 86_400.0
MAX_KINDS = 5_000  # of digesters with types of files


class Estimates:
    """The mean of recent attempts, newest first. Any thread may use it."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._seconds: dict[tuple[str, str], float] = {}

    def seconds(self, digester: str, mime: str) -> float | None:
        """How long such an attempt takes; None if none was made yet."""
        with self._guard:
            return self._seconds.get((digester, mime))

    def learn(self, digester: str, mime: str, seconds: float) -> None:
        """Record how long an attempt took, here or elsewhere."""
        seconds = min(max(seconds, 0.0), MAX_SECONDS)
        key = (digester, mime)
        with self._guard:
            before = self._seconds.get(key)
            if before is None and len(self._seconds) >= MAX_KINDS:
                return
            self._seconds[key] = seconds if before is None else before + WEIGHT * (seconds - before)
