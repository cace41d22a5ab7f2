"""What people ask about a vault: how it stands, what a file holds, what is wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from sqlite3 import Connection
from typing import Any

from chyme.application import consistency_checks
from chyme.core.pipeline.document_state import PROCESSING_STATUS, STALE_SECONDS, displayed_state, steps_of
from chyme.core.pipeline.registry_rules import Rules
from chyme.core.store import artifacts as sqlar
from chyme.core.store import digest_queue, digests, documents, events, files, text_places, vault_properties
from chyme.core.store import outdated_digests as outdated
from chyme.core.store.sqlite.database import Database
from chyme.errors import DatabaseDamaged, UsageError
from chyme.model import THUMBNAIL, Digest, File, Form, Status, Transcript, iso
from chyme.speech.people.tables import voices
from chyme.speech.transcripts.json_format import from_json
from chyme.understanding.description import find_misdescribed
from chyme.understanding.tables import edits


def completed_content(db: Connection, file_id: int, outputs: Sequence[str]) -> str | None:
    """The content of the first of these outputs that has any; of corrections only while they are completed."""
    rows = digests.of_file(db, file_id)
    for number, name in enumerate(outputs, 1):
        row = rows.get(name)
        if row is None or (row.status is not Status.COMPLETED and number < len(outputs)):
            continue
        if content := digests.content(db, file_id, name):
            return content
    return None


class Documents:
    """Read-only answers in the shapes that the command line and HTTP promise."""

    def __init__(self, database: Database, rules: Rules, clock: Callable[[], datetime]) -> None:
        self._database = database
        self._rules = rules
        self._clock = clock

    def status(self) -> dict[str, Any]:
        """Counts of files, digests and documents."""
        with self._database.snapshot() as db:
            present, vanished = files.counts(db)
            return {
                "files": present,
                "digests": digests.counts(db),
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
        """How many documents are in each state; far quicker than the whole status."""
        return documents.counts(self._database.read(), self._stale_before())

    def outdated(self) -> int:
        """How many digests were made by older rules or models."""
        return outdated.count(self._database.read(), self._rules.recipes())

    def show(self, path: str) -> dict[str, Any]:
        """Everything about one file."""
        with self._database.snapshot() as db:
            file = self.find(db, path)
            rows = digests.of_file(db, file.id)
            return {
                "file": self._file(file),
                "document": self._document(db, file),
                "steps": asdict(steps_of(rows.values())),
                "digests": [self._digest(db, file, rows[name]) for name in self._ordered(rows)],
                "people": {
                    speaker: {"person_id": person.id, "name": person.name}
                    for speaker, person in voices.speakers_by_file(db, [file.id]).get(file.id, {}).items()
                },
            }

    def about(self, path: str) -> dict[str, Any]:
        """What one file is, and what persons set about it, without its digests."""
        with self._database.snapshot() as db:
            file = self.find(db, path)
            return {
                "file": self._file(file),
                "document": self._document(db, file),
                "edits": edits.of_file(db, file.id),
            }

    def transcript(self, path: str) -> tuple[Transcript, dict[str, str]] | None:
        """Everything said in a file, corrected where that was done, and the names of those speakers who have one."""
        with self._database.snapshot() as db:
            file = self.find(db, path)
            content = completed_content(db, file.id, self._rules.preferred(Form.TRANSCRIPT))
            who = voices.speakers_by_file(db, [file.id]).get(file.id, {})
        if content is None:
            return None
        return from_json(content), {speaker: person.name for speaker, person in who.items() if person.name}

    def artifact(self, name: str) -> bytes | None:
        """A picture or other artifact by its name in the archive; None when there is none, or its file is gone."""
        return sqlar.read_visible(self._database.read(), name)

    def artifacts(self, path: str) -> dict[str, bytes]:
        """All artifacts of a file: digester/filename → bytes."""
        with self._database.snapshot() as db:
            file = self.find(db, path)
            return {
                f"{digester}/{filename}": data
                for digester in digests.of_file(db, file.id)
                for filename, data in sqlar.of_digest(db, file.path, digester).items()
            }

    def find(self, db: Connection, path: str) -> File:
        """The file at this path, or the sentence that says why not."""
        file = files.by_path(db, path)
        if file is None:
            raise UsageError(f"{path}: is not a file of this vault; 'chyme digest' takes in what is new")
        return file

    def failures(self, since: str = "") -> list[Digest]:
        return digests.list_failures(self._database.read(), since=since)

    def problems(self) -> list[str]:
        """Where the database contradicts itself; empty when all is well."""
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
            wrong = find_misdescribed(db)
        return found + [f"documents that say something else than their digests and edits: {path}" for path in wrong]

    def stale_since(self, before: str | None, at_most: int) -> tuple[str, list[str]]:
        """Files that became stale since this was asked last; and what to ask with the next time."""
        now = self._stale_before()
        return now, documents.list_stalled(self._database.read(), before, now, at_most) if before else []

    def _ordered(self, rows: dict[str, Digest]) -> list[str]:
        order = {name: at for at, (name, _) in enumerate(self._rules.recipes())}
        return sorted(rows, key=lambda name: (order.get(name, len(order)), name))

    def _file(self, file: File) -> dict[str, Any]:
        told = asdict(file)
        stamp = told.pop("stamp")
        told.pop("id")
        return {**told, "size": stamp["size"], "mtime_ns": stamp["mtime_ns"]}

    def _document(self, db: Connection, file: File) -> dict[str, Any] | None:
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

    def _digest(self, db: Connection, file: File, row: Digest) -> dict[str, Any]:
        told = row._asdict()
        for private in ("id", "file_id", "file_path", "run_id", "input_hash"):
            told.pop(private)
        told["content"] = digests.content(db, file.id, row.digester)
        told["places"] = [
            {name: value for name, value in asdict(place).items() if value is not None}
            for place in text_places.of_digest(db, file.id, row.digester)
        ]
        told["artifacts"] = sqlar.filenames(db, file.path, row.digester)
        return told

    def _stale_before(self) -> str:
        return iso(self._clock() - timedelta(seconds=STALE_SECONDS))
