"""Making digests again: the one command behind reset, retry, redo, reprocess, digest again and jobs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from sqlite3 import Connection

from chyme.core.pipeline.output_updates import update_document
from chyme.core.pipeline.plan import with_siblings
from chyme.core.pipeline.registry_rules import Rules
from chyme.core.store import (
    artifacts,
    digest_resets,
    digests,
    documents,
    events,
    file_requests,
    files,
    outdated_digests,
    text_places,
)
from chyme.core.store.sqlite.database import Database
from chyme.errors import Category
from chyme.model import Again, Digest, File, Kind, Mode, Status

BATCH = 200  # files in one transaction
NEEDS_CLASSIFICATION = "needs-classification"


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
            digest_resets.mark_asked(db, file_id, changed)
            count = len(changed)
        case Mode.RETRY:
            count = digest_resets.retry_failed(db, [file_id], outputs, now, again.priority) if outputs else 0
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
    changed = digest_resets.reset(db, file.id, outputs, priority, now, kept)
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


@dataclass(frozen=True, slots=True)
class OutdatedDigester:
    """The files for which one digester would run again, and what that costs."""

    digester: str
    file_ids: tuple[int, ...]
    calls: int  # of a model, at least: a bad answer is followed by a second call
    seconds: float  # one after the other, estimated from their last durations


def find_outdated(
    database: Database, rules: Rules, paths: Sequence[str], names: Collection[str], private: Callable[[str], bool]
) -> list[OutdatedDigester]:
    """What is out of date at or below these paths, made by these digesters; empty means all."""
    wanted = with_siblings(rules.registry, names) if names else frozenset(rules.outputs)
    recipes = [(name, recipe) for name, recipe in rules.recipes() if name in wanted]
    found = []
    with database.snapshot() as db:
        by_name: dict[str, set[int]] = {}
        durations: dict[str, float] = {}
        for path in paths or ("",):
            for outdated in outdated_digests.by_output(db, recipes, path):
                by_name.setdefault(outdated.name, set()).update(outdated.file_ids)
                durations[outdated.name] = max(durations.get(outdated.name, 0.0), outdated.milliseconds)
        for digester in rules.registry:
            ids = sorted({file_id for name in digester.outputs for file_id in by_name.get(name, ())})
            if not ids:
                continue
            duration = max(durations.get(name, 0.0) for name in digester.outputs)
            asking = [file for file in (files.by_id(db, id_) for id_ in ids) if file and digester.asks(file)]
            calls = sum(not private(file.path) for file in asking)
            found.append(OutdatedDigester(digester.name, tuple(ids), calls, len(ids) * duration / 1000))
    return found


@dataclass(frozen=True, slots=True)
class Reprocessing:
    """The requested job, or none, because no digester reads this kind of file."""

    job_id: str | None
    skipped: bool = False

    def as_json(self) -> dict[str, object]:
        """The JSON of the HTTP API."""
        return {"skipped": True} if self.skipped else {"success": True, "job_id": self.job_id}


def reprocess(
    database: Database, rules: Rules, vault: str, path: str, now: str, wake: Callable[[], None]
) -> Reprocessing:
    """Make one document again, as far as it needs it. While that job waits or runs, another request changes nothing."""

    def request(db: Connection) -> Reprocessing:
        file = files.find(db, path)
        rows, document = digests.of_file(db, file.id), documents.of_file(db, file.id)
        if _is_unsupported(rules, file, rows):
            return Reprocessing(None, skipped=True)
        state = document.state if document else "processing"
        kind, again = _job(rules, file, state)
        job_id = f"{kind}_{vault}_{path}"
        waiting = any(stored == again for _, stored in file_requests.of_file(db, file.id))
        # A document in progress is neither completed nor needs classification, so no second reset is added to a first.
        needed = again.mode is Mode.RESET or any(row.status is Status.FAILED for row in rows.values())
        if needed and not waiting:
            file_requests.add(db, file.id, again, now)
            events.record(db, now, "document", file.id, path, detail=f"asked for: {job_id}")
        elif not needed:
            update_document(db, rules, file, rows, now)  # nothing is left to make, but its state may be out of date
        return Reprocessing(job_id)

    reprocessing = database.write(request)
    wake()
    return reprocessing


def _job(rules: Rules, file: File, state: str) -> tuple[str, Again]:
    """The kind of job and what it does: classify again, retry what failed, or make everything again."""
    if state == NEEDS_CLASSIFICATION:
        classifiers = rules.classifiers_of(file)
        if classifiers:
            return ("classify-img" if file.kind is Kind.IMAGE else "classify-doc"), Again(Mode.RESET, classifiers)
    return "process-doc", Again(Mode.RESET if state == "completed" else Mode.RETRY)


def _is_unsupported(rules: Rules, file: File, rows: dict[str, Digest]) -> bool:
    """Whether no digester reads this kind of file, so that a retry would change nothing."""
    primary = [rows[name] for name in rules.essential_for(file.kind) if name in rows]
    return file.kind is Kind.OTHER or any(
        row.status is Status.FAILED and row.error_category == Category.UNSUPPORTED_FILE_TYPE for row in primary
    )
