"""Digests made without their model: why, which provider they wait for, and how they are requeued."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection
from sqlite3 import Connection

from chyme.core.pipeline.document_state import KEPT_SUFFIX

WITHOUT_MODEL_PREFIX = "without its model: "  # an interim result: not reused for other files, and made again
PRIVATE = "private"  # the recipe of what no model may see: made locally, on purpose

# Failures of a provider: affected digests are made again when it is back, without using up an attempt.
_PROVIDER_FAULTS = [
    f"{WITHOUT_MODEL_PREFIX}{category}{suffix}"
    for category in ("network", "rate_limit", "ai_quota", "timeout", "unavailable")
    for suffix in ("", KEPT_SUFFIX)
]
_BUDGET_REACHED = [f"{WITHOUT_MODEL_PREFIX}budget{suffix}" for suffix in ("", KEPT_SUFFIX)]
# Made again when a person resumes the provider.
_WHEN_RESUMED = [*_BUDGET_REACHED, *(recipe for recipe in _PROVIDER_FAULTS if "unavailable" in recipe)]
_AMONG_FILES = "(:among IS NULL OR file_id IN (SELECT value FROM json_each(:among)))"


def keep_model_content(
    db: Connection, file_id: int, digester: str, input_hash: str, duration_ms: int | None, now: str
) -> None:
    """Keep what a model made before, because it cannot be asked now: completed as before. `record_reason` says why."""
    db.execute(
        """
        UPDATE digests
           SET status = 'completed', settled = 1, input_hash = :input, duration_ms = coalesce(:ms, duration_ms),
               error = NULL, error_category = NULL, retry_at = NULL, run_id = NULL, deadline = NULL,
               interruptions = 0, priority = 1, updated_at = :now
         WHERE file_id = :file AND digester = :name AND status = 'in-progress'
        """,
        {"input": input_hash, "ms": duration_ms, "now": now, "file": file_id, "name": digester},
    )


def record_reason(
    db: Connection,
    file_id: int,
    digester: str,
    recipe: str,
    provider: str | None,
    note: str,
    attempts: int,
    retry_at: str | None,
) -> None:
    """Record that a completed digest was made without its model: why, which provider, and when to try again."""
    db.execute(
        """
        UPDATE digests
           SET recipe = :recipe, provider = :provider, error = :note, attempts = :attempts, retry_at = :retry
         WHERE file_id = :file AND digester = :name AND status = 'completed'
        """,
        {"recipe": recipe, "provider": provider, "note": note, "attempts": attempts, "retry": retry_at,
         "file": file_id, "name": digester},
    )  # fmt: skip


def requeue_failed(db: Connection, provider: str, since: str, max_attempts: int, now: str) -> int:
    """A provider is back: reset the attempts of what it failed at since then and requeue it. Return how many.

    A question that used up its attempts by itself is left alone; digests that need the provider are not.
    """
    return db.execute(
        """
        UPDATE digests SET attempts = 0, settled = iif(status = 'failed', 0, settled), retry_at = :now
         WHERE provider = :provider
           AND ((status = 'completed' AND attempts < :most AND recipe IN (SELECT value FROM json_each(:faults)))
                OR (status = 'failed' AND error_category IN ('network', 'rate_limit', 'ai_quota', 'unavailable')))
           AND (updated_at >= :since OR retry_at IS NOT NULL)
        """,
        {
            "provider": provider,
            "since": since,
            "most": max_attempts,
            "now": now,
            "faults": json.dumps(_PROVIDER_FAULTS),
        },
    ).rowcount


def requeue_waiting(db: Connection, provider: str, now: str) -> int:
    """Make everything due now that waits for its time, a budget or the end of a pause. Return how many."""
    return db.execute(
        """
        UPDATE digests SET retry_at = :now
         WHERE provider = :provider
           AND (retry_at IS NOT NULL OR recipe IN (SELECT value FROM json_each(:recipes))
                OR error_category IN ('budget', 'unavailable'))
        """,
        {"provider": provider, "now": now, "recipes": json.dumps(_WHEN_RESUMED)},
    ).rowcount


def renew_budget(db: Connection, provider: str, now: str) -> int:
    """The budget changed: make everything due now that waits for it. Return how many."""
    return db.execute(
        """
        UPDATE digests SET retry_at = :now
         WHERE provider = :provider
           AND (recipe IN (SELECT value FROM json_each(:recipes)) OR error_category = 'budget')
        """,
        {"provider": provider, "now": now, "recipes": json.dumps(_BUDGET_REACHED)},
    ).rowcount


def requeue_all(db: Connection, provider: str, now: str) -> int:
    """The provider was replaced or removed: make everything due now that was made without it. Return how many."""
    return db.execute(
        """
        UPDATE digests SET attempts = 0, settled = iif(status = 'failed', 0, settled), retry_at = :now
         WHERE provider = :provider
        """,
        {"provider": provider, "now": now},
    ).rowcount


def list_awaited_providers(db: Connection) -> list[str]:
    """The providers that some digest waits for, configured or not."""
    rows = db.execute(
        "SELECT DISTINCT provider FROM digests INDEXED BY digests_without_model WHERE provider IS NOT NULL"
    )
    return [row[0] for row in rows]


def count_waiting(db: Connection, provider: str) -> tuple[int, int]:
    """How many digests wait for this provider, or were made without it, and how many of them wait for a person."""
    row = db.execute(
        """
        SELECT count(*), count(*) FILTER (WHERE retry_at IS NULL
                                            AND coalesce(recipe, '') NOT IN (SELECT value FROM json_each(:recipes))
                                            AND coalesce(error_category, '') NOT IN ('budget', 'unavailable'))
          FROM digests WHERE provider = :provider AND held = 0
        """,
        {"provider": provider, "recipes": json.dumps(_WHEN_RESUMED)},
    ).fetchone()
    return row[0], row[1]


def _as_json(among: Collection[int] | None) -> str | None:
    return None if among is None else json.dumps(list(among))


def list_due_providers(db: Connection, now: str, among: Collection[int] | None = None) -> list[str]:
    """The providers that some settled digest, of these files or of any, could use now."""
    rows = db.execute(
        f"""
        SELECT DISTINCT provider FROM digests INDEXED BY digests_without_model
         WHERE provider IS NOT NULL AND retry_at <= :now AND settled = 1 AND held = 0 AND {_AMONG_FILES}
        """,
        {"now": now, "among": _as_json(among)},
    )
    return [row[0] for row in rows]


def requeue_due(
    db: Connection, provider: str, now: str, limit: int, among: Collection[int] | None = None
) -> dict[int, int]:
    """Requeue at most `limit` digests whose model may be asked now, those with fewest attempts first.

    Return their files, and the number of digests of each.
    """
    rows = db.execute(
        f"""
        UPDATE digests
           SET status = 'todo', settled = 0, error = NULL, error_category = NULL, provider = NULL, retry_at = NULL,
               priority = 2, updated_at = :now
         WHERE id IN (SELECT id FROM digests INDEXED BY digests_without_model
                       WHERE provider = :provider AND retry_at <= :now AND settled = 1 AND held = 0 AND {_AMONG_FILES}
                       ORDER BY attempts, retry_at LIMIT :most)
        RETURNING file_id
        """,
        {"provider": provider, "now": now, "most": limit, "among": _as_json(among)},
    ).fetchall()
    return dict(Counter(row[0] for row in rows))


def requeue_siblings(db: Connection, file_id: int, outputs: Collection[str], now: str) -> int:
    """Also requeue those of these outputs that wait for the same model: one attempt makes all of them."""
    return db.execute(
        """
        UPDATE digests INDEXED BY digests_of_file
           SET status = 'todo', settled = 0, error = NULL, error_category = NULL, provider = NULL, retry_at = NULL,
               priority = 2, updated_at = :now
         WHERE file_id = :file AND digester IN (SELECT value FROM json_each(:names))
           AND status = 'completed' AND provider IS NOT NULL AND retry_at IS NOT NULL
        """,
        {"now": now, "file": file_id, "names": json.dumps(list(outputs))},
    ).rowcount


def waiting_until(db: Connection, moment: str, among: Collection[int] | None = None) -> list[tuple[str, int, str]]:
    """(provider, digests, earliest time) of what was made without a model and is due before this moment."""
    rows = db.execute(
        f"""
        SELECT provider, count(*), min(retry_at) FROM digests INDEXED BY digests_without_model
         WHERE provider IS NOT NULL AND settled = 1 AND held = 0 AND retry_at <= :moment AND {_AMONG_FILES}
         GROUP BY provider
        """,
        {"moment": moment, "among": _as_json(among)},
    )
    return [(row[0], row[1], row[2]) for row in rows]
