"""Try again what went wrong with one document: as one job, however often somebody asks for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from sqlite3 import Connection

from chyme.core.pipeline.output_updates import update_document
from chyme.core.pipeline.registry_rules import Rules
from chyme.core.store import digests, documents, events, file_requests, files
from chyme.core.store.sqlite.database import Database
from chyme.errors import Category
from chyme.model import Again, Digest, File, Kind, Mode, Status

NEEDS_CLASSIFICATION = "needs-classification"


@dataclass(frozen=True, slots=True)
class Reprocessing:
    """What was asked for: a job, or nothing, because nobody reads this kind of file."""

    job_id: str | None
    skipped: bool = False

    def as_json(self) -> dict[str, object]:
        """The shape that HTTP promises."""
        return {"skipped": True} if self.skipped else {"success": True, "job_id": self.job_id}


def reprocess(
    database: Database, rules: Rules, vault: str, path: str, now: str, wake: Callable[[], None]
) -> Reprocessing:
    """Have one document made again, as far as it needs it. While that job waits or runs, asking again changes nothing;
    once it is done, it can be asked for again."""

    def ask(db: Connection) -> Reprocessing:
        file = files.find(db, path)
        rows, document = digests.of_file(db, file.id), documents.of_file(db, file.id)
        if _unsupported(rules, file, rows):
            return Reprocessing(None, skipped=True)
        state = document.state if document else "processing"
        kind, again = _job(rules, file, state)
        job_id = f"{kind}_{vault}_{path}"
        waiting = any(stored == again for _, stored in file_requests.of_file(db, file.id))
        # A document under way is neither completed nor waits for its classification, so no reset comes upon another.
        needed = again.mode is Mode.RESET or any(row.status is Status.FAILED for row in rows.values())
        if needed and not waiting:
            file_requests.add(db, file.id, again, now)
            events.record(db, now, "document", file.id, path, detail=f"asked for: {job_id}")
        elif not needed:
            update_document(db, rules, file, rows, now)  # nothing is left to make: its state may have stood still
        return Reprocessing(job_id)

    done = database.write(ask)
    wake()
    return done


def _job(rules: Rules, file: File, state: str) -> tuple[str, Again]:
    """What the job is called, and what it is: a new classification, another try at what failed, or everything anew."""
    if state == NEEDS_CLASSIFICATION:
        classifiers = rules.classifiers_of(file)
        if classifiers:
            return ("classify-img" if file.kind is Kind.IMAGE else "classify-doc"), Again(Mode.RESET, classifiers)
    return "process-doc", Again(Mode.RESET if state == "completed" else Mode.RETRY)


def _unsupported(rules: Rules, file: File, rows: dict[str, Digest]) -> bool:
    """Whether nobody reads this kind of file, so that trying again would change nothing."""
    primary = [rows[name] for name in rules.essential_for(file.kind) if name in rows]
    return file.kind is Kind.OTHER or any(
        row.status is Status.FAILED and row.error_category == Category.UNSUPPORTED_FILE_TYPE for row in primary
    )
