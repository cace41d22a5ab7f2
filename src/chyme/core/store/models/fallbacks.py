"""Digests made without their model: why, which provider they wait for, and how they are made again."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection
from sqlite3 import Connection

from chyme.core.pipeline.document_state import KEPT_SUFFIX

WITHOUT_MODEL_PREFIX = (
    "without its model: "  # before a category: how it was made meanwhile; nobody's donor, and made again
)
PRIVATE = "private"  # the recipe of what no model may see: made here, on purpose

# Failures of a provider: what they kept from being made is made when it is back, and costs no attempt.
_ITS_FAULT = [
    f"{WITHOUT_MODEL_PREFIX}{category}{kept}"
    for category in ("network", "rate_limit", "ai_quota", "timeout", "unavailable")
    for kept in ("", KEPT_SUFFIX)
]
_MONEY = [f"{WITHOUT_MODEL_PREFIX}budget{kept}" for kept in ("", KEPT_SUFFIX)]
_WHEN_LET = [*_MONEY, *(one for one in _ITS_FAULT if "unavailable" in one)]  # made again when a person lets it go on
_AMONG = "(:among IS NULL OR file_id IN (SELECT value FROM json_each(:among)))"


def keep_model_content(
    db: Connection, file_id: int, digester: str, input_hash: str, duration_ms: int | None, now: str
) -> None:
    """What a model made before stays, because it cannot be asked now: completed as it was. `record_reason` says why."""
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
    """A digest just completed was made without its model: why, whose, and when that may be tried again."""
    db.execute(
        """
        UPDATE digests
           SET recipe = :recipe, provider = :provider, error = :note, attempts = :attempts, retry_at = :retry
         WHERE file_id = :file AND digester = :name AND status = 'completed'
        """,
        {"recipe": recipe, "provider": provider, "note": note, "attempts": attempts, "retry": retry_at,
         "file": file_id, "name": digester},
    )  # fmt: skip


def requeue_failed(db: Connection, provider: str, since: str, most: int, now: str) -> int:
    """A provider is back: what it failed at since then gets its attempts back and its turn. Returns how many.

    A question that used up its attempts by itself is left alone; digests that cannot do without are not.
    """
    return db.execute(
        """
        UPDATE digests SET attempts = 0, settled = iif(status = 'failed', 0, settled), retry_at = :now
         WHERE provider = :provider
           AND ((status = 'completed' AND attempts < :most AND recipe IN (SELECT value FROM json_each(:faults)))
                OR (status = 'failed' AND error_category IN ('network', 'rate_limit', 'ai_quota', 'unavailable')))
           AND (updated_at >= :since OR retry_at IS NOT NULL)
        """,
        {"provider": provider, "since": since, "most": most, "now": now, "faults": json.dumps(_ITS_FAULT)},
    ).rowcount


def requeue_waiting(db: Connection, provider: str, now: str) -> int:
    """What waits for its time, for a budget or for a pause to end is due now. Returns how many."""
    return db.execute(
        """
        UPDATE digests SET retry_at = :now
         WHERE provider = :provider
           AND (retry_at IS NOT NULL OR recipe IN (SELECT value FROM json_each(:recipes))
                OR error_category IN ('budget', 'unavailable'))
        """,
        {
            "provider": provider,
            "now": now,
            "recipes": json.dumps(_WHEN_LET),
        },
    ).rowcount


def renew_budget(db: Connection, provider: str, now: str) -> int:
    """The budget is another one: what waits for it is due now. Returns how many."""
    return db.execute(
        """
        UPDATE digests SET retry_at = :now
         WHERE provider = :provider
           AND (recipe IN (SELECT value FROM json_each(:recipes)) OR error_category = 'budget')
        """,
        {"provider": provider, "now": now, "recipes": json.dumps(_MONEY)},
    ).rowcount


def requeue_all(db: Connection, provider: str, now: str) -> int:
    """The provider is another one, or none: whatever was made without the old one is due now. Returns how many."""
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
        {"provider": provider, "recipes": json.dumps(_WHEN_LET)},
    ).fetchone()
    return row[0], row[1]


def _listed(among: Collection[int] | None) -> str | None:
    return None if among is None else json.dumps(list(among))


def list_due_providers(db: Connection, now: str, among: Collection[int] | None = None) -> list[str]:
    """The providers that some settled digest, of these files or of any, could ask now."""
    rows = db.execute(
        f"""
        SELECT DISTINCT provider FROM digests INDEXED BY digests_without_model
         WHERE provider IS NOT NULL AND retry_at <= :now AND settled = 1 AND held = 0 AND {_AMONG}
        """,
        {"now": now, "among": _listed(among)},
    )
    return [row[0] for row in rows]


def requeue_due(
    db: Connection, provider: str, now: str, most: int, among: Collection[int] | None = None
) -> dict[int, int]:
    """Make again at most so many digests whose model may be asked now, those tried least first.

    Returns their files, and how many of each.
    """
    rows = db.execute(
        f"""
        UPDATE digests
           SET status = 'todo', settled = 0, error = NULL, error_category = NULL, provider = NULL, retry_at = NULL,
               priority = 2, updated_at = :now
         WHERE id IN (SELECT id FROM digests INDEXED BY digests_without_model
                       WHERE provider = :provider AND retry_at <= :now AND settled = 1 AND held = 0 AND {_AMONG}
                       ORDER BY attempts, retry_at LIMIT :most)
        RETURNING file_id
        """,
        {"provider": provider, "now": now, "most": most, "among": _listed(among)},
    ).fetchall()
    return dict(Counter(row[0] for row in rows))


def requeue_siblings(db: Connection, file_id: int, outputs: Collection[str], now: str) -> int:
    """Make again also those of these outputs that wait for the same model: one attempt makes all of them."""
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
    """(provider, digests, when the first) of what was made without a model and is made again before this moment."""
    rows = db.execute(
        f"""
        SELECT provider, count(*), min(retry_at) FROM digests INDEXED BY digests_without_model
         WHERE provider IS NOT NULL AND settled = 1 AND held = 0 AND retry_at <= :moment AND {_AMONG}
         GROUP BY provider
        """,
        {"moment": moment, "among": _listed(among)},
    )
    return [(row[0], row[1], row[2]) for row in rows]
