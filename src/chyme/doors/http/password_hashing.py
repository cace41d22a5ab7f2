"""Hashes and compares passwords beside the server's other work, few at once."""

from __future__ import annotations

from functools import partial
from typing import TypeVar

from anyio import CapacityLimiter, to_thread

T = TypeVar("T")

AT_ONCE = 2  # passwords hashed at the same time: each takes a core and 64 MB
QUEUE = 20  # waiting sign-ins; more are refused: a flood must not fill the memory


class PasswordHasher:
    """Runs work that hashes passwords in threads."""

    def __init__(self) -> None:
        self._limiter: CapacityLimiter | None = None

    async def run(self, work: partial[T]) -> T:
        if self._limiter is None:
            self._limiter = CapacityLimiter(AT_ONCE)  # belongs to the running event loop
        return await to_thread.run_sync(work, limiter=self._limiter)

    @property
    def is_full(self) -> bool:
        return self._limiter is not None and self._limiter.statistics().tasks_waiting >= QUEUE
