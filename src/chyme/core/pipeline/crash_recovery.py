"""Returns the work of dead workers to the queue."""

from __future__ import annotations

from datetime import datetime, timedelta
from sqlite3 import Connection

from chyme.core.pipeline import output_updates
from chyme.core.pipeline.digest_state import Verdict
from chyme.core.pipeline.leases import is_dead
from chyme.core.pipeline.registry_rules import Rules
from chyme.core.store import digest_queue, digests, events, files, leases
from chyme.core.store.models import calls
from chyme.core.store.sqlite.database import Database
from chyme.errors import Category
from chyme.model import Status, iso

OVERDUE = timedelta(minutes=10)
EVENTS_KEPT = timedelta(days=1)


def recover(database: Database, rules: Rules, now: datetime) -> int:
    """Free the leases of dead owners at once and other leases when they expire, and requeue their digests.

    Safe to call at any time, from any process. Returns how many digests were requeued.
    """
    dead = [owner for owner in leases.owners(database.read()) if is_dead(owner)]

    def give_back(db: Connection) -> int:
        for owner in dead:
            leases.free_owner(db, owner)
        abandoned = digest_queue.list_abandoned(db, iso(now), iso(now - OVERDUE))
        for file_id, name in abandoned:
            if digest_queue.give_back(db, file_id, name, iso(now)):
                _give_up(db, rules, file_id, name, iso(now))
        leases.free_expired(db, iso(now))
        calls.mark_lost(db)
        events.prune(db, iso(now - EVENTS_KEPT))
        return len(abandoned)

    return database.write(give_back)


def _give_up(db: Connection, rules: Rules, file_id: int, name: str, now: str) -> None:
    file = files.by_id(db, file_id)
    if file is None:
        return
    message = f"{file.path}: chyme died each time {name} worked on it; look at the file, then use 'chyme reset'"
    if rules.has_capture(name, digests.of_file(db, file_id)):
        failure = Verdict(Status.FAILED, True, 0, message, Category.CRASH)
        output_updates.keep_capture(db, rules, file, name, failure, None, now)
    else:
        digest_queue.fail_interrupted(db, file_id, name, message, now)
        output_updates.requeue_readers(db, rules, file, name, True, now)
        events.record(db, now, "digest", file_id, file.path, name, "failed", message)
    output_updates.update_document(db, rules, file, digests.of_file(db, file_id), now)
