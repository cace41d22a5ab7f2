"""Exports documents, digests and edits as plain files that any program can read."""

from __future__ import annotations

import csv
import errno
import json
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

from chyme import __version__
from chyme.application.app import App
from chyme.application.export.file_names import ARTIFACTS, DATA, TEXT, export_path
from chyme.application.export.spreadsheet_cells import escape_formula
from chyme.application.file_texts import join_texts, texts_of
from chyme.core.clock import now
from chyme.core.files.permissions import make_private_folder, tighten_file, write_private
from chyme.core.store.documents import ExportRow, list_for_export
from chyme.errors import DiskFull, UsageError, VaultError
from chyme.model import iso
from chyme.speech.people.edits import as_json as person_json
from chyme.understanding.tables import edits
from chyme.understanding.tags.vault_tags import as_json as tag_json

MARK = "export.json"  # marks the folder of an earlier export
FILES = "files"
TABLE, PEOPLE, TAGS, SPEND = "documents.csv", "people.json", "tags.json", "spend.json"
PARTIAL = ".partial"
BATCH = 500
ALL_DAYS = 36_500
COLUMNS = ("path", "title", "date", "kind", "mime", "language", "tags", "state", "pages", "size", "added", "summary")


@dataclass(frozen=True, slots=True)
class ExportResult:
    """What was written."""

    folder: Path
    files: int
    written: int  # number of plain files
    unchanged: int


def export_vault(
    app: App,
    folder: Path,
    *,
    artifacts: bool = False,
    spend: bool = False,
    progress: Callable[[int], None] | None = None,
) -> ExportResult:
    """Export each file separately, so that an interrupted export continues where it was when it is run again."""
    target = _prepare_folder(app, folder)
    export = _Export(app, target, artifacts)
    try:
        for count, row in enumerate(_rows(app), 1):
            export.write_document(row)
            if progress is not None and count % 100 == 0:
                progress(count)
        export.write_tables(spend)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull(
                f"{folder}: there is no room left; make room and export again, it goes on from there"
            ) from error
        raise VaultError(f"{error.filename or folder}: cannot be written ({error.strerror})") from error
    finally:
        (target / PARTIAL).unlink(missing_ok=True)
    return ExportResult(target, export.count, export.written, export.unchanged)


def csv_lines(app: App) -> Iterator[str]:
    """Yield all documents as CSV, line by line."""
    line = _LineBuffer()
    writer = csv.writer(line)
    writer.writerow(COLUMNS)
    yield line.text
    for row in _rows(app):
        writer.writerow(_cells(row))
        yield line.text


class _LineBuffer:
    text = ""

    def write(self, text: str) -> int:
        self.text = text
        return len(text)


def _cells(row: ExportRow) -> list[str]:
    cells = (
        *(row.path, row.title or row.path.rpartition("/")[2], row.date or "", row.kind, row.mime, row.language or ""),
        *("; ".join(row.tags), row.state, "" if row.pages is None else str(row.pages), str(row.size)),
        *(row.created_at, row.summary or ""),
    )
    return [escape_formula(cell) for cell in cells]


def _rows(app: App) -> Iterator[ExportRow]:
    """Read rows in batches: a long export neither blocks other work nor fills the memory."""
    last = ""
    while found := list_for_export(app.database.read(), last, BATCH):
        yield from found
        last = found[-1].path


def _prepare_folder(app: App, folder: Path) -> Path:
    target = folder.absolute().resolve()
    if target == app.vault.root or target.is_relative_to(app.vault.root):
        raise UsageError(f"{folder}: is inside the vault, where all of it would be digested; export elsewhere")
    if target.is_dir() and not (target / MARK).is_file() and any(target.iterdir()):
        raise UsageError(f"{folder}: is not empty, and no earlier export; choose a new folder")
    try:
        make_private_folder(target)
        fields = {"chyme": __version__, "vault": app.vault.root.name, "exported_at": iso(now())}
        with write_private(target / MARK) as stream:
            stream.write((json.dumps(fields, indent=1) + "\n").encode())
    except OSError as error:
        raise VaultError(f"{folder}: cannot be written ({error.strerror})") from error
    return target


class _Export:
    """One export of all files."""

    def __init__(self, app: App, folder: Path, artifacts: bool) -> None:
        self._app = app
        self._folder = folder
        self._artifacts = artifacts
        self.count = self.written = self.unchanged = 0

    def write_document(self, row: ExportRow) -> None:
        """Write the text with front matter, everything known as JSON, and artifacts if requested."""
        with self._app.database.snapshot() as db:
            text = join_texts(tuple(texts_of(db, self._app.rules, row.file_id)))
            set_by_hand = edits.of_file(db, row.file_id)
        try:
            record = self._app.documents.show(row.path)
        except UsageError:
            return  # it was purged meanwhile
        name = f"{FILES}/{export_path(row.path)}"
        self._write_file(name + TEXT, (_front_matter(row) + text + "\n").encode("utf-8", "replace"))
        if self._artifacts:
            for artifact, data in self._app.documents.artifacts(row.path).items():
                self._write_file(f"{name}{ARTIFACTS}/{artifact.replace('/', '-')}", data)
        self._write_file(name + DATA, _json({**record, "edits": set_by_hand}))
        self.count += 1

    def write_tables(self, spend: bool) -> None:
        """Write the tables that do not belong to a single file."""
        with self._open_partial() as stream:
            for line in csv_lines(self._app):
                stream.write(line.encode("utf-8", "replace"))
        (self._folder / PARTIAL).replace(self._folder / TABLE)
        people = [
            {**person_json(shown.person), "voices": [asdict(voice) for voice in shown.voices]}
            for shown in (self._app.people.show(str(person.id)) for person in self._app.people.list_people())
        ]
        self._write_file(PEOPLE, _json({"people": people}))
        tags = self._app.tags.list_all()
        self._write_file(
            TAGS,
            _json({"tags": [tag_json(tag) for tag in tags.tags], "banned": tags.banned, "becomes": tags.becomes}),
        )
        if spend:
            days = [asdict(totals) for totals in self._app.spending.call_totals("day", ALL_DAYS)]
            models = [asdict(totals) for totals in self._app.spending.call_totals("model", ALL_DAYS)]
            self._write_file(SPEND, _json({"by_day": days, "by_model": models}))

    def _open_partial(self) -> AbstractContextManager[IO[bytes]]:
        return write_private(self._folder / PARTIAL)

    def _write_file(self, name: str, data: bytes) -> None:
        """Write a file atomically; a file with the same content is left alone."""
        target = self._folder / name
        parent = target.parent
        if os.path.realpath(parent) != os.fspath(parent):
            raise UsageError(f"{parent}: is a link that leads elsewhere; remove it and export again")
        make_private_folder(parent)
        try:
            if target.stat().st_size == len(data) and not target.is_symlink() and target.read_bytes() == data:
                tighten_file(target)
                self.unchanged += 1
                return
        except FileNotFoundError:
            pass
        with self._open_partial() as stream:
            stream.write(data)
        (self._folder / PARTIAL).replace(target)
        self.written += 1


def _front_matter(row: ExportRow) -> str:
    """Return YAML with JSON values, which is valid YAML: no text can end a value early."""
    fields: dict[str, Any] = {
        "path": row.path,
        "title": row.title or row.path.rpartition("/")[2],
        "date": row.date,
        "language": row.language,
        "tags": list(row.tags),
        "summary": row.summary,
    }
    lines = [
        f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in fields.items() if value not in (None, [])
    ]
    return "\n".join(["---", *lines, "---", "", ""])


def _json(value: object) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=1, default=str) + "\n").encode("utf-8", "replace")
