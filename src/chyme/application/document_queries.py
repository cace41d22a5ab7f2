"""Read-only queries about a vault: its status, the contents of a file, problems."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from datetime import datetime, timedelta
from sqlite3 import Connection
from typing import Any

from chyme.application import consistency_checks
from chyme.core.pipeline.document_state import PROCESSING_STATUS, STALE_SECONDS, displayed_state, steps_of
from chyme.core.pipeline.registry_rules import Rules
from chyme.core.store import artifacts as sqlar
from chyme.core.store import (
    digest_counts,
    digest_queue,
    digests,
    documents,
    events,
    files,
    text_places,
    vault_properties,
)
from chyme.core.store import outdated_digests as outdated
from chyme.core.store.sqlite.database import Database
from chyme.errors import DatabaseDamaged
from chyme.model import THUMBNAIL, Digest, File, Form, Status, Transcript, iso
from chyme.speech.people.tables import voices
from chyme.speech.transcripts.json_format import from_json
from chyme.understanding.description import find_misdescribed
from chyme.understanding.tables import edits


def preferred_content(db: Connection, rules: Rules, file_id: int, form: Form) -> str | None:
    """The content of the best output of a form that has any; of corrections only while they are completed."""
    rows = digests.of_file(db, file_id)
    for name in rules.preferred(form):
        row = rows.get(name)
        stale = row is not None and row.status is not Status.COMPLETED and rules.traits[name].corrects is not None
        if row is not None and not stale and (content := digests.content(db, file_id, name)):
            return content
    return None


class Documents:
    """Answers queries in the formats of the command line and HTTP."""

    def __init__(self, database: Database, rules: Rules, clock: Callable[[], datetime]) -> None:
        self._database = database
        self._rules = rules
        self._clock = clock

    def status(self) -> dict[str, Any]:
        """Return counts of files, digests and documents."""
        with self._database.snapshot() as db:
            present, vanished = files.counts(db)
            return {
                "files": present,
                "digests": digest_counts.by_status(db),
                "documents": documents.counts(db, self._stale_before()),
                "outdated": outdated.count(db, self._rules.recipes()),
                "vanished": vanished,
                "next_retry": digest_queue.next_retry(db),
                "work": [
                    {"path": path, "digester": name, "fraction": part}
                    for path, name, part in events.list_in_progress(db)
                ],
                "purge_waits": vault_properties.value_of(db, "purge-waits"),
            }

    def states(self) -> dict[str, int]:
        """Count the documents in each state; far quicker than the whole status."""
        return documents.counts(self._database.read(), self._stale_before())

    def outdated(self) -> int:
        """Count the digests made by older rules or models."""
        return outdated.count(self._database.read(), self._rules.recipes())

    def show(self, path: str) -> dict[str, Any]:
        """Return everything about one file."""
        with self._database.snapshot() as db:
            file = files.find(db, path)
            rows = digests.of_file(db, file.id)
            return {
                "file": self._file_json(file),
                "document": self._document_json(db, file),
                "steps": asdict(steps_of(rows.values())),
                "digests": [self._digest_json(db, file, rows[name]) for name in self._sort_outputs(rows)],
                "people": {
                    speaker: {"person_id": person.id, "name": person.name}
                    for speaker, person in voices.speakers_by_file(db, [file.id]).get(file.id, {}).items()
                },
            }

    def about(self, path: str) -> dict[str, Any]:
        """Return a file, its document and its edits, without its digests."""
        with self._database.snapshot() as db:
            file = files.find(db, path)
            return {
                "file": self._file_json(file),
                "document": self._document_json(db, file),
                "edits": edits.of_file(db, file.id),
            }

    def transcript(self, path: str) -> tuple[Transcript, dict[str, str]] | None:
        """Return the transcript of a file, corrected if possible, and the names of named speakers."""
        with self._database.snapshot() as db:
            file = files.find(db, path)
            content = preferred_content(db, self._rules, file.id, Form.TRANSCRIPT)
            people = voices.speakers_by_file(db, [file.id]).get(file.id, {})
        if content is None:
            return None
        return from_json(content), {speaker: person.name for speaker, person in people.items() if person.name}

    def artifact(self, name: str) -> bytes | None:
        """Return an artifact by its name in the archive; None if it does not exist, or its file is gone."""
        return sqlar.read_visible(self._database.read(), name)

    def artifacts(self, path: str) -> dict[str, bytes]:
        """Return all artifacts of a file: digester/filename → bytes."""
        with self._database.snapshot() as db:
            file = files.find(db, path)
            return {
                f"{digester}/{filename}": data
                for digester in digests.of_file(db, file.id)
                for filename, data in sqlar.of_digest(db, file.path, digester).items()
            }

    def file_at(self, path: str) -> File | None:
        """Return the file at this path, vanished or not."""
        return files.by_path(self._database.read(), path)

    def copies_of(self, content_hash: str, path: str, limit: int) -> list[str]:
        """Return the paths of other files with this content: of the first `limit` files that have it."""
        same_content = files.same_content(self._database.read(), content_hash, limit)
        return [copy.path for copy in same_content if copy.path != path and copy.vanished_at is None]

    def failures(self, since: str = "") -> list[Digest]:
        return digests.list_failures(self._database.read(), since=since)

    def problems(self) -> list[str]:
        """Describe inconsistencies of the database; empty if there are none."""
        try:
            found = self._database.write(consistency_checks.find_problems)
        except DatabaseDamaged as error:
            return [str(error)]
        if found and found[0].startswith(consistency_checks.DAMAGE):
            return [
                str(self._database.note_damage(found[0].removeprefix(consistency_checks.DAMAGE).splitlines()[-1])),
                *found,
            ]
        with self._database.snapshot() as db:
            misdescribed = find_misdescribed(db)
        return found + [
            f"documents that say something else than their digests and edits: {path}" for path in misdescribed
        ]

    def stale_since(self, before: str | None, limit: int) -> tuple[str, list[str]]:
        """Return the time for the next call, and the files that became stale since `before`."""
        now = self._stale_before()
        return now, documents.list_stalled(self._database.read(), before, now, limit) if before else []

    def _sort_outputs(self, rows: dict[str, Digest]) -> list[str]:
        order = {name: position for position, (name, _) in enumerate(self._rules.recipes())}
        return sorted(rows, key=lambda name: (order.get(name, len(order)), name))

    def _file_json(self, file: File) -> dict[str, Any]:
        fields = asdict(file)
        stamp = fields.pop("stamp")
        fields.pop("id")
        return {**fields, "size": stamp["size"], "mtime_ns": stamp["mtime_ns"]}

    def _document_json(self, db: Connection, file: File) -> dict[str, Any] | None:
        row = documents.of_file(db, file.id)
        if row is None:
            return None
        state = displayed_state(row.state, row.moved_at, self._stale_before())
        return {
            "title": row.title or file.name,
            "summary": row.summary,
            "date": row.date,
            "language": row.language,
            "tags": list(row.tags),
            "state": state,
            "processing_status": PROCESSING_STATUS[state],
            "reason": row.reason,
            "degraded": row.degraded,
            "pages": row.pages,
            "thumbnail": sqlar.name_of(file.path, row.face, THUMBNAIL) if row.face else None,
        }

    def _digest_json(self, db: Connection, file: File, row: Digest) -> dict[str, Any]:
        fields = row._asdict()
        for internal in ("id", "file_id", "file_path", "run_id", "input_hash"):
            fields.pop(internal)
        fields["content"] = digests.content(db, file.id, row.digester)
        fields["places"] = [
            {name: value for name, value in asdict(place).items() if value is not None}
            for place in text_places.of_digest(db, file.id, row.digester)
        ]
        fields["artifacts"] = sqlar.filenames(db, file.path, row.digester)
        return fields

    def _stale_before(self) -> str:
        return iso(self._clock() - timedelta(seconds=STALE_SECONDS))
