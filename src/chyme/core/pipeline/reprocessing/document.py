"""Reprocesses one document as one job, no matter how often it is requested."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from sqlite3 import Connection

from chyme.core.pipeline.output_updates import update_document
from chyme.core.pipeline.registry_rules import Rules
from chyme.core.store import digests, documents, events, file_requests, files
from chyme.core.store.sqlite.database import Database
from chyme.errors import Category, UsageError
from chyme.model import Again, Digest, File, Kind, Mode, Status

NEEDS_CLASSIFICATION = "needs-classification"


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
        file = files.by_path(db, path)
        if file is None:
            raise UsageError(f"{path}: is not a file of this vault; 'chyme digest' takes in what is new")
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
