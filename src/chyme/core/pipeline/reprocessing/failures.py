"""Retries failures that a person chose."""

from __future__ import annotations

from collections.abc import Sequence
from sqlite3 import Connection

from chyme.core.pipeline.again import make_again
from chyme.core.pipeline.registry_rules import Rules
from chyme.core.store import digests, failed_digests
from chyme.core.store.failed_digests import Failure
from chyme.core.store.sqlite.database import Database
from chyme.model import Again, Mode

BATCH = 200
FEW = 20  # up to so many failures, a person may wait for the result


def retry_failures(database: Database, rules: Rules, chosen: Sequence[Failure], now: str) -> int:
    """Retry these failures with new attempts; a few come first, many wait in the queue. Returns how many digests."""
    priority = digests.PERSON if len(chosen) <= FEW else digests.AGAIN
    count = 0
    for start in range(0, len(chosen), BATCH):

        def retry_some(db: Connection, batch: Sequence[Failure] = tuple(chosen[start : start + BATCH])) -> int:
            unchanged = failed_digests.find_unchanged(db, batch)
            outputs: dict[int, list[str]] = {}
            for failure in unchanged:
                outputs.setdefault(failure.file_id, []).append(failure.output)
            for file_id, names in outputs.items():
                make_again(db, rules, file_id, Again(Mode.RETRY, tuple(names), priority), now)
            return len(unchanged)

        count += database.write(retry_some)
    return count
