"""Have many files digested again, each in one transaction, behind whatever a person waits for."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from sqlite3 import Connection

from chyme.core.pipeline.output_updates import update_document
from chyme.core.pipeline.plan import with_siblings
from chyme.core.pipeline.registry_rules import Rules
from chyme.core.pipeline.transitions import reset
from chyme.core.store import digests, failed_digests, files, outdated_digests
from chyme.core.store.failed_digests import Failure
from chyme.core.store.sqlite.database import Database

BATCH = 200
FEW = 20  # as many failures as a person may wait for


def requeue_outputs(
    db: Connection, rules: Rules, file_id: int, mode: str, names: Sequence[str] | None, now: str
) -> int:
    """Make these outputs (None: all) of a file again. `mode`: reset, retry or outdated. Returns how many digests."""
    file = files.by_id(db, file_id)
    if file is None or file.vanished_at is not None:
        return 0
    known = set(rules.outputs)
    chosen = with_siblings(rules.registry, [name for name in names if name in known]) if names else frozenset(known)
    if mode == "reset":
        changed = reset(db, rules, file, chosen, digests.AGAIN, now)
        digests.mark_asked(db, file_id, changed)
        count = len(changed)
    elif mode == "retry":
        count = digests.retry_failed(db, [file_id], chosen, now, digests.AGAIN) if chosen else 0
    else:
        count = outdated_digests.requeue(db, file_id, _outdated(db, rules, file_id, chosen), now)
    if count:
        update_document(db, rules, file, digests.of_file(db, file_id), now)
    return count


def _outdated(db: Connection, rules: Rules, file_id: int, chosen: Collection[str]) -> list[str]:
    """Those of the outputs that an older recipe made, with all others of the same digesters."""
    found = [
        name
        for name, recipe in rules.recipes()
        if name in chosen and outdated_digests.is_outdated(db, file_id, name, recipe)
    ]
    return sorted(with_siblings(rules.registry, found)) if found else []


def retry_failures(database: Database, rules: Rules, chosen: Sequence[Failure], now: str) -> int:
    """Give these failures their attempts back; a few come at once, many wait their turn. Returns how many digests."""
    priority = digests.PERSON if len(chosen) <= FEW else digests.AGAIN
    count = 0
    for start in range(0, len(chosen), BATCH):

        def retry_some(db: Connection, some: Sequence[Failure] = tuple(chosen[start : start + BATCH])) -> int:
            changed = failed_digests.retry(db, some, priority, now)
            outputs: dict[int, list[str]] = {}
            for one in some:
                outputs.setdefault(one.file_id, []).append(one.output)
            for file_id in dict.fromkeys(changed):
                siblings = with_siblings(rules.registry, outputs[file_id]).difference(outputs[file_id])
                if siblings:  # an attempt makes all outputs of a digester, whatever each of them failed with
                    digests.retry_failed(db, [file_id], siblings, now, priority)
                file = files.by_id(db, file_id)
                if file is not None:
                    update_document(db, rules, file, digests.of_file(db, file_id), now)
            return len(changed)

        count += database.write(retry_some)
    return count
