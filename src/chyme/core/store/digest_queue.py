"""Which digests are due, and how abandoned ones return to the queue.

These queries run all the time, so each is answered from a partial index, however many digests there are.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from sqlite3 import Connection

from chyme.core.store.digests import AGAIN, KEPT_WAITING, LANE_SPACING, LAST
from chyme.core.store.remaining_work import count_begun
from chyme.model import Lane


@dataclass(frozen=True, slots=True)
class DueFile:
    """A file with something to do. `alone`: chyme died more than once while working on it. `last`: only the rest of
    something that is in use already."""

    file_id: int
    alone: bool
    last: bool = False


def list_due(
    db: Connection, now: str, limit: int, busy: Collection[int] = (), lane: Lane = Lane.ORDINARY
) -> list[DueFile]:
    """The next files with something to do in this lane: requested by a person, then new, then again; small before
    large; then retries."""
    values = {"now": now, "limit": limit + len(busy), **_weight_range(lane)}
    rows = db.execute(
        """
        SELECT file_id, (SELECT max(interruptions) FROM digests d WHERE d.file_id = digests.file_id), priority
          FROM digests INDEXED BY digests_todo
         WHERE status = 'todo' AND held = 0 AND weight BETWEEN :lightest AND :heaviest
           AND NOT EXISTS (SELECT 1 FROM processing_locks l WHERE l.file_id = digests.file_id AND l.lease_until > :now)
         GROUP BY priority, weight, file_id ORDER BY priority, weight, file_id LIMIT :limit
        """,
        values,
    )
    found: dict[int, DueFile] = {}
    for file_id, interruptions, priority in rows:
        if file_id not in busy:
            found.setdefault(file_id, _due_file(file_id, interruptions, priority))
    if len(found) < limit:
        rows = db.execute(
            """
            SELECT file_id, (SELECT max(interruptions) FROM digests d WHERE d.file_id = digests.file_id)
              FROM digests INDEXED BY digests_retry
             WHERE status = 'failed' AND settled = 0 AND retry_at IS NOT NULL AND held = 0 AND retry_at <= :now
               AND weight BETWEEN :lightest AND :heaviest
               AND NOT EXISTS (SELECT 1 FROM processing_locks l
                                WHERE l.file_id = digests.file_id AND l.lease_until > :now)
             ORDER BY retry_at LIMIT :limit
            """,
            values,
        )
        for file_id, interruptions in rows:
            if file_id not in busy:
                found.setdefault(file_id, _due_file(file_id, interruptions))
    return list(found.values())[:limit]


def _due_file(file_id: int, interruptions: int, priority: int = AGAIN) -> DueFile:
    alone = interruptions >= 2
    return DueFile(file_id, alone, priority >= LAST and not alone)


def list_due_among(
    db: Connection,
    now: str,
    file_ids: Collection[int],
    limit: int,
    busy: Collection[int] = (),
    lane: Lane = Lane.ORDINARY,
) -> list[DueFile]:
    """The next of these files to work on, as in `list_due`."""
    rows = db.execute(
        """
        SELECT file_id, max(interruptions), min(priority), min(weight) FROM digests
         WHERE file_id IN (SELECT value FROM json_each(:ids)) AND held = 0 AND weight BETWEEN :lightest AND :heaviest
           AND (status = 'todo' OR (status = 'failed' AND settled = 0 AND retry_at <= :now))
           AND NOT EXISTS (SELECT 1 FROM processing_locks l WHERE l.file_id = digests.file_id AND l.lease_until > :now)
         GROUP BY file_id ORDER BY 3, 4, 1 LIMIT :limit
        """,
        {
            "ids": json.dumps([id_ for id_ in file_ids if id_ not in busy]),
            "now": now,
            "limit": limit,
            **_weight_range(lane),
        },
    )
    return [_due_file(file_id, interruptions, priority) for file_id, interruptions, priority, _ in rows]


def _weight_range(lane: Lane) -> dict[str, int]:
    return {"lightest": lane * LANE_SPACING, "heaviest": (lane + 1) * LANE_SPACING - 1}


def change_lane(db: Connection, digester: str, lane: int) -> int:
    """Move this output to another lane: a model was configured or removed. Returns how many digests."""
    return db.execute(
        """
        UPDATE digests INDEXED BY digests_by_status SET weight = weight % :band + :lane * :band
         WHERE status IN ('todo', 'in-progress', 'completed', 'skipped', 'failed') AND digester = :name
           AND weight / :band <> :lane
        """,
        {"name": digester, "lane": lane, "band": LANE_SPACING},  # lists every status, since the index begins with it
    ).rowcount


def count_unfinished(db: Connection) -> tuple[int, int, int]:
    """How many digests of files on disk are todo, in progress, and failed with a retry to come."""
    todo = db.execute("SELECT count(*) FROM digests INDEXED BY digests_todo WHERE status = 'todo' AND held = 0")
    return todo.fetchone()[0], *count_begun(db)


def count_unfinished_among(db: Connection, file_ids: Collection[int]) -> tuple[int, int, int]:
    """The same as `count_unfinished`, for these files."""
    row = db.execute(
        """
        SELECT count(*) FILTER (WHERE status = 'todo'), count(*) FILTER (WHERE status = 'in-progress'),
               count(*) FILTER (WHERE status = 'failed' AND settled = 0 AND retry_at IS NOT NULL)
          FROM digests WHERE file_id IN (SELECT value FROM json_each(?)) AND held = 0
        """,
        (json.dumps(list(file_ids)),),
    ).fetchone()
    return row[0], row[1], row[2]


def next_retry(db: Connection) -> str | None:
    """When the next failed digest will be tried again."""
    row = db.execute(
        """
        SELECT min(retry_at) FROM digests INDEXED BY digests_retry
         WHERE status = 'failed' AND settled = 0 AND retry_at IS NOT NULL AND held = 0
        """
    ).fetchone()
    return row[0] if row else None


def push_back(db: Connection, file_id: int) -> None:
    """This file had its turn: queue the rest of it after everything new."""
    db.execute("UPDATE digests SET priority = max(priority, 2) WHERE file_id = ? AND status = 'todo'", (file_id,))


def hold(db: Connection, file_id: int, held: bool) -> None:
    """Exclude a vanished file's digests from the queue, or include them again."""
    db.execute("UPDATE digests SET held = ? WHERE file_id = ? AND held <> ?", (int(held), file_id, int(held)))


def postpone(db: Connection, file_id: int, deadline: str) -> None:
    """Extend the deadline of an attempt that has not really begun yet, because it waits for a child."""
    db.execute(
        "UPDATE digests SET deadline = max(deadline, ?) WHERE file_id = ? AND status = 'in-progress'",
        (deadline, file_id),
    )


def list_abandoned(db: Connection, now: str, overdue: str) -> list[tuple[int, str]]:
    """(file, output) in progress without a live lease, or long past their deadline."""
    rows = db.execute(
        """
        SELECT file_id, digester FROM digests INDEXED BY digests_running
         WHERE status = 'in-progress'
           AND (deadline < :overdue
                OR NOT EXISTS (SELECT 1 FROM processing_locks l
                                WHERE l.file_id = digests.file_id AND l.lease_until > :now))
        """,
        {"now": now, "overdue": overdue},
    )
    return [(row[0], row[1]) for row in rows]


def give_back(db: Connection, file_id: int, digester: str, now: str) -> bool:
    """Return a digest whose worker vanished to the queue. True if it has no tries left instead."""
    row = db.execute(
        """
        UPDATE digests
           SET status = 'todo', run_id = NULL, deadline = NULL, interruptions = interruptions + 1,
               attempts = attempts - (interruptions < 2), updated_at = ?
         WHERE file_id = ? AND digester = ? AND status = 'in-progress'
        RETURNING attempts, interruptions
        """,
        (now, file_id, digester),  # chyme's own death costs no attempt, until it has died twice with this file
    ).fetchone()
    if row is None:
        return False
    attempts, interruptions = row
    db.execute(
        "UPDATE digests SET priority = max(priority, ?) WHERE file_id = ? AND status = 'todo'",
        (3 if interruptions >= 2 else 2, file_id),  # the whole file: its other digests would bring it back too soon
    )
    return bool(interruptions > 2 and attempts >= 3)


def fail_interrupted(db: Connection, file_id: int, digester: str, message: str, now: str) -> None:
    """Fail a digest that was running each time chyme died; it is not tried again."""
    db.execute(
        """
        UPDATE digests
           SET status = 'failed', settled = 1, error = ?, error_category = 'crash', content_hash = NULL, updated_at = ?
         WHERE file_id = ? AND digester = ? AND status = 'todo'
        """,
        (message, now, file_id, digester),
    )


def wake_waiting(db: Connection) -> int:
    """Queue everything that waits for something a scan may have found."""
    return db.execute(
        """
        UPDATE digests SET status = 'todo', error = NULL, error_category = NULL, provider = NULL
         WHERE status = 'failed' AND error_category = 'dependency' AND held = 0
        """
    ).rowcount


def wake_unavailable(db: Connection, digester: str, recipe: str, now: str) -> int:
    """The engine has changed since these failed: try again, without counting an attempt."""
    return db.execute(
        """
        UPDATE digests
           SET status = 'todo', settled = 0, attempts = 0, error = NULL, error_category = NULL, provider = NULL,
               priority = 2, updated_at = ?
         WHERE digester = ?
           AND ((status = 'failed' AND error_category = 'unavailable' AND recipe IS NOT ?)
                OR (status = 'completed' AND recipe = ?))
        """,
        (now, digester, recipe, KEPT_WAITING),
    ).rowcount


def count_under_way(db: Connection, lane: Lane, limit: int) -> int:
    """How many digests of this lane are todo or in progress; counted no further than `limit`."""
    row = db.execute(
        """
        SELECT count(*) FROM (
            SELECT 1 FROM digests INDEXED BY digests_todo
             WHERE status = 'todo' AND held = 0 AND weight BETWEEN :lightest AND :heaviest
            UNION ALL
            SELECT 1 FROM digests INDEXED BY digests_running
             WHERE status = 'in-progress' AND weight BETWEEN :lightest AND :heaviest
             LIMIT :most)
        """,
        {"most": limit, **_weight_range(lane)},
    ).fetchone()
    return int(row[0])


def without_ordinary_work(db: Connection, file_ids: Collection[int]) -> set[int]:
    """Those of these files with which the ordinary lane has nothing to do any more."""
    rows = db.execute(
        """
        SELECT wanted.value FROM json_each(:files) AS wanted
         WHERE NOT EXISTS (SELECT 1 FROM digests INDEXED BY digests_of_file
                            WHERE file_id = wanted.value AND status = 'todo' AND weight < :lane)
        """,
        {"files": json.dumps(list(file_ids)), "lane": LANE_SPACING},
    )
    return {file_id for (file_id,) in rows}
