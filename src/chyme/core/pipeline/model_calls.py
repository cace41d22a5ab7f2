"""What the pipeline needs from the ledger of model calls: budgets, pauses and rests after failures."""

from __future__ import annotations

from collections.abc import Callable, Collection
from sqlite3 import Connection
from typing import Protocol

from chyme.digester import Calls
from chyme.errors import DigestError
from chyme.model import File


class AttemptCalls(Calls, Protocol):
    """The calls of one attempt at one digest."""

    def require_available(self, provider: str) -> None:
        """Raise what `begin` would raise, without making a call."""

    def retry_terms(self, provider: str, error: DigestError) -> tuple[float | None, bool]:
        """When to try again after this failure, and whether the attempt counts."""


class ModelCalls(Protocol):
    """Budgets, pauses and rests of all providers, for all attempts."""

    def calls_for(self, file: File, digester: str, run_id: str) -> AttemptCalls: ...

    def is_private(self, file: File, provider: str | None) -> bool:
        """Whether this provider must not see the file."""

    def wake(self, moved: Callable[[Connection, int], None], among: Collection[int] | None = None) -> int:
        """Requeue what was made without a model that may be asked now. Returns how many digests."""
