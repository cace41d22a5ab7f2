"""New secrets on their way to the page that shows them: each is shown once, soon, and only in one session."""

from __future__ import annotations

import time
from typing import Generic, TypeVar

from chyme.accounts.permissions import Visitor

T = TypeVar("T")

KEPT_SECONDS = 60.0  # so long a new secret waits for the browser that created it


class ShownOnce(Generic[T]):
    """One value for each session, which its next page takes: so a reload does not create a second one."""

    def __init__(self) -> None:
        self._values: dict[int | None, tuple[float, T]] = {}

    def put(self, visitor: Visitor, value: T) -> None:
        oldest = time.monotonic() - KEPT_SECONDS
        self._values = {session: entry for session, entry in self._values.items() if entry[0] > oldest}
        self._values[visitor.session_id] = (time.monotonic(), value)

    def take(self, visitor: Visitor) -> T | None:
        created_at, value = self._values.pop(visitor.session_id, (0.0, None))
        return value if time.monotonic() - created_at < KEPT_SECONDS else None
