"""Skips pending outputs of removed digesters, and requeues them when their digester is back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from sqlite3 import Connection

from chyme.core.pipeline import output_updates
from chyme.core.pipeline.registry_rules import Rules
from chyme.core.store import digests, events, files, removed_digesters
from chyme.core.store.sqlite.database import Database
from chyme.model import Status, iso

BATCH = 500  # digests in one transaction


def skip_removed_outputs(database: Database, rules: Rules, now: datetime) -> int:
    """Skip pending outputs that no registered digester makes. Returns how many digests."""
    removed = removed_digesters.find_removed_outputs(database.read(), rules.outputs)
    if not removed:
        return 0
    database.write(lambda db: [removed_digesters.stop_waiting(db, name) for name in removed])
    return _in_batches(
        database,
        rules,
        removed,
        removed_digesters.skip_pending,
        Status.SKIPPED,
        removed_digesters.NO_DIGESTER,
        iso(now),
    )


def requeue_restored_outputs(database: Database, rules: Rules, now: datetime) -> int:
    """Requeue outputs that were skipped while their digester was missing. Returns how many digests."""
    return _in_batches(database, rules, rules.outputs, removed_digesters.requeue_skipped, Status.TODO, None, iso(now))


def _in_batches(
    database: Database,
    rules: Rules,
    outputs: Sequence[str],
    change: Callable[[Connection, str, str, int], list[int]],
    status: Status,
    detail: str | None,
    now: str,
) -> int:
    def change_some(db: Connection) -> int:
        for name in outputs:
            if changed := change(db, name, now, BATCH):
                for file_id in changed:
                    _update_dependents(db, rules, file_id, name, status, detail, now)
                return len(changed)
        return 0

    total = 0
    while changed := database.write(change_some):
        total += changed
    return total


def _update_dependents(
    db: Connection, rules: Rules, file_id: int, name: str, status: Status, detail: str | None, now: str
) -> None:
    """Record an event, wake what waits for the digest, and update the document."""
    file = files.by_id(db, file_id)
    if file is None:
        return
    events.record(db, now, "digest", file_id, file.path, name, status, detail)
    if status is Status.SKIPPED:
        output_updates.requeue_readers(db, rules, file, name, False, now)
    output_updates.update_document(db, rules, file, digests.of_file(db, file_id), now)
