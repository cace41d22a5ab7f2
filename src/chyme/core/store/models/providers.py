"""The state of each model provider: paused by a person, left alone after failures, or ready."""

from __future__ import annotations

from dataclasses import asdict
from sqlite3 import Connection

from chyme.models.providers.availability import Provider


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
