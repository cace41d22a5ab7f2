"""Requested digests that are not settled yet, and what each of them waits for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from chyme.model import Digest, Status


@dataclass(frozen=True, slots=True)
class PendingDigest:
    """A digest that will still change."""

    digester: str  # the output's name
    status: str
    reason: str  # what it waits for, or how it failed last
    retry_at: str | None
    provider: str | None  # the provider whose model it waits for


def is_active(row: Digest) -> bool:
    """Whether a digest is queued or running, so that waiting for it makes sense."""
    return row.status in (Status.TODO, Status.IN_PROGRESS)


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
