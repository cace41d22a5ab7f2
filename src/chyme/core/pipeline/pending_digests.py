"""Requested digests that are not settled yet, and what each of them waits for."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass

from chyme.core.store import digests, file_requests
from chyme.core.store.sqlite.database import Database
from chyme.model import Digest, Status

POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class PendingDigest:
    """A digest that will still change."""

    digester: str  # the output's name
    status: str
    reason: str  # what it waits for, or how it failed last
    retry_at: str | None
    provider: str | None  # the provider whose model it waits for


def await_settled(
    database: Database, file_id: int, outputs: frozenset[str], patience: float, stopping: threading.Event
) -> list[PendingDigest]:
    """Wait until no request for the file is left and none of these outputs is queued or running.

    Gives up when nothing of the file has been running for `patience` seconds. Returns what is not settled.
    """
    deadline = time.monotonic() + patience
    while True:
        db = database.read()
        rows = digests.of_file(db, file_id)
        chosen = [row for name, row in rows.items() if name in outputs]
        active = any(row.status in (Status.TODO, Status.IN_PROGRESS) for row in chosen)
        waiting = bool(file_requests.of_file(db, file_id)) or active
        if not waiting or time.monotonic() > deadline or stopping.is_set():
            return list_pending(chosen)
        if any(row.status is Status.IN_PROGRESS for row in rows.values()):
            deadline = time.monotonic() + patience
        time.sleep(POLL_SECONDS)


def list_pending(rows: Iterable[Digest]) -> list[PendingDigest]:
    """The digests that are not settled, or were made without their model."""
    return [
        PendingDigest(row.digester, str(row.status), _reason(row), row.retry_at, row.provider)
        for row in rows
        if not row.settled or row.provider is not None
    ]


def _reason(row: Digest) -> str:
    if row.status is Status.TODO:
        return "waits for its turn"
    if row.status is Status.IN_PROGRESS:
        return "is being made"
    return row.error or "waits for its model"
