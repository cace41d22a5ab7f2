"""The state of each model provider: paused by a person, left alone after failures, or ready."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from sqlite3 import Connection


@dataclass(frozen=True, slots=True)
class Provider:
    """The state of one provider, shared by all processes that call it."""

    name: str
    paused_at: str | None = None
    failures: int = 0  # in a row
    trips: int = 0  # how often in a row it was put to rest
    open: bool = False  # at rest, except for one question at a time
    until: str | None = None  # it is not called before this moment
    since: str | None = None  # when the first of the failures happened
    file_id: int | None = None  # the file whose question failed last
    category: str | None = None
    reason: str | None = None
    next_at: str | None = None  # when the next call may be made


def get(db: Connection, name: str) -> Provider:
    """A provider without a row is ready."""
    row = db.execute(
        """
        SELECT name, paused_at, failures, trips, open, until, since, file_id, category, reason, next_at
          FROM ai_providers WHERE name = ?
        """,
        (name,),
    ).fetchone()
    if row is None:
        return Provider(name)
    name, paused_at, failures, trips, is_open, *rest = row
    return Provider(name, paused_at, failures, trips, bool(is_open), *rest)


def put(db: Connection, provider: Provider) -> None:
    db.execute(
        """
        INSERT OR REPLACE INTO ai_providers
            (name, paused_at, failures, trips, open, until, since, file_id, category, reason, next_at)
        VALUES (:name, :paused_at, :failures, :trips, :open, :until, :since, :file_id, :category, :reason, :next_at)
        """,
        {**asdict(provider), "open": int(provider.open)},
    )
