"""Making digests again: the one command behind reset, retry, redo, reprocess, digest again and jobs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from sqlite3 import Connection

from chyme.core.pipeline.output_updates import update_document
from chyme.core.pipeline.plan import with_siblings
from chyme.core.pipeline.registry_rules import Rules
from chyme.core.store import (
    artifacts,
    digests,
    documents,
    events,
    file_requests,
    files,
    outdated_digests,
    text_places,
)
from chyme.core.store.sqlite.database import Database
from chyme.model import Again, File, Mode

BATCH = 200  # files in one transaction


def request_again(database: Database, rules: Rules, file_ids: Sequence[int], again: Again, now: str) -> int:
    """Put digests of these files back into the queue. Returns how many, not counting those of a reset.

    A reset deletes content, so it is stored as a request that the file's present or next worker carries out.
    """
    count = 0
    for start in range(0, len(file_ids), BATCH):

        def request_some(db: Connection, some: Sequence[int] = tuple(file_ids[start : start + BATCH])) -> int:
            if again.mode is not Mode.RESET:
                return sum(make_again(db, rules, file_id, again, now) for file_id in some)
            for file_id in some:
                file_requests.add(db, file_id, again, now)
            return 0

        count += database.write(request_some)
    return count


def make_again(db: Connection, rules: Rules, file_id: int, again: Again, now: str) -> int:
    """Put digests of a file back into the queue. No other worker may have the file. Returns how many."""
    file = files.by_id(db, file_id)
    if file is None or file.vanished_at is not None:
        return 0
    known = set(rules.outputs).union(digester.name for digester in rules.registry)
    wanted = [name for name in again.only if name in known] if again.only is not None else rules.outputs
    outputs = with_siblings(rules.registry, wanted) if wanted else frozenset()
    match again.mode:
        case Mode.RESET:
            changed = reset(db, rules, file, outputs, again.priority, now)
            digests.mark_asked(db, file_id, changed)
            count = len(changed)
        case Mode.RETRY:
            count = digests.retry_failed(db, [file_id], outputs, now, again.priority) if outputs else 0
        case Mode.OUTDATED:
            count = outdated_digests.requeue(db, file_id, _outdated(db, rules, file_id, outputs), now)
    if count:
        update_document(db, rules, file, digests.of_file(db, file_id), now)
    return count


def reset(db: Connection, rules: Rules, file: File, outputs: Iterable[str], priority: int, now: str) -> list[str]:
    """Delete these outputs and put them back into the queue. Returns the requeued ones.

    Captures stay until they are replaced, and so does everything made from them.
    """
    kept = rules.kept_by_reset(digests.of_file(db, file.id))
    changed = digests.reset(db, file.id, outputs, priority, now, kept)
    deleted = [name for name in changed if name not in kept]
    for name in changed:
        if name in deleted:
            artifacts.remove(db, file.path, name)
            text_places.remove(db, file.id, name)
            documents.clear_thumbnail(db, file.id, name)
        events.record(db, now, "digest", file.id, file.path, name, "todo")
    for recorder in rules.recorders:
        recorder.reset(db, file, deleted, now)
    return changed


def _outdated(db: Connection, rules: Rules, file_id: int, chosen: Collection[str]) -> list[str]:
    """The outputs that an older recipe made, with all other outputs of the same digesters."""
    found = [
        name
        for name, recipe in rules.recipes()
        if name in chosen and outdated_digests.is_outdated(db, file_id, name, recipe)
    ]
    return sorted(with_siblings(rules.registry, found)) if found else []
