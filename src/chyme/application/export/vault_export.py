"""Write documents, digests and edits as plain files, for any other program to read."""

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
from chyme.core.store import export_rows as rows
from chyme.core.store.export_rows import ExportRow
from chyme.errors import DiskFull, UsageError, VaultError
from chyme.model import iso
from chyme.speech.people.edits import as_json as person_json
from chyme.understanding.tables import edits
from chyme.understanding.tags.vault_tags import as_json as tag_json

MARK = "export.json"  # by this an earlier export is known
FILES = "files"
TABLE, PEOPLE, TAGS, SPEND = "documents.csv", "people.json", "tags.json", "spend.json"
PARTIAL = ".partial"
AT_ONCE = 500
EVER = 36_500  # days
COLUMNS = ("path", "title", "date", "kind", "mime", "language", "tags", "state", "pages", "size", "added", "summary")


@dataclass(frozen=True, slots=True)
class ExportResult:
    """What was written."""

    folder: Path
    files: int
    written: int  # of the plain files
    unchanged: int


def export_vault(
    app: App,
    folder: Path,
    *,
    artifacts: bool = False,
    spend: bool = False,
    progress: Callable[[int], None] | None = None,
) -> ExportResult:
    """Every file is exported by itself, so that it can be interrupted, and goes on where it was when done again."""
    target = _place_for(app, folder)
    export = _Export(app, target, artifacts)
    try:
        for count, row in enumerate(_rows(app), 1):
            export.file(row)
            if progress is not None and count % 100 == 0:
                progress(count)
        export.lists(spend)
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
    """All documents as CSV, line by line."""
    line = _Line()
    writer = csv.writer(line)
    writer.writerow(COLUMNS)
    yield line.text
    for row in _rows(app):
        writer.writerow(_cells(row))
        yield line.text


class _Line:
    text = ""

    def write(self, text: str) -> int:
        self.text = text
        return len(text)


def _cells(row: ExportRow) -> list[str]:
    told = (
        *(row.path, row.title or row.path.rpartition("/")[2], row.date or "", row.kind, row.mime, row.language or ""),
        *("; ".join(row.tags), row.state, "" if row.pages is None else str(row.pages), str(row.size)),
        *(row.created_at, row.summary or ""),
    )
    return [escape_formula(cell) for cell in told]


def _rows(app: App) -> Iterator[ExportRow]:
    """Some at a time: who exports for an hour holds up nobody, and no more is in memory than that."""
    last = ""
    while found := rows.list_after(app.database.read(), last, AT_ONCE):
        yield from found
        last = found[-1].path


def _place_for(app: App, folder: Path) -> Path:
    target = folder.absolute().resolve()
    if target == app.vault.root or target.is_relative_to(app.vault.root):
        raise UsageError(f"{folder}: is inside the vault, where all of it would be digested; export elsewhere")
    if target.is_dir() and not (target / MARK).is_file() and any(target.iterdir()):
        raise UsageError(f"{folder}: is not empty, and no earlier export; choose a new folder")
    try:
        make_private_folder(target)
        told = {"chyme": __version__, "vault": app.vault.root.name, "exported_at": iso(now())}
        with write_private(target / MARK) as stream:
            stream.write((json.dumps(told, indent=1) + "\n").encode())
    except OSError as error:
        raise VaultError(f"{folder}: cannot be written ({error.strerror})") from error
    return target


class _Export:
    """One round through all files."""

    def __init__(self, app: App, folder: Path, artifacts: bool) -> None:
        self._app = app
        self._folder = folder
        self._artifacts = artifacts
        self.count = self.written = self.unchanged = 0

    def file(self, row: ExportRow) -> None:
        """The text with its front matter, everything known as JSON, and artifacts where wanted."""
        with self._app.database.snapshot() as db:
            text = join_texts(tuple(texts_of(db, row.file_id)))
            set_by_hand = edits.of_file(db, row.file_id)
        try:
            told = self._app.documents.show(row.path)
        except UsageError:
            return  # it was purged while we were at others
        name = f"{FILES}/{export_path(row.path)}"
        self._put(name + TEXT, (_front_matter(row) + text + "\n").encode("utf-8", "replace"))
        if self._artifacts:
            for artifact, data in self._app.documents.artifacts(row.path).items():
                self._put(f"{name}{ARTIFACTS}/{artifact.replace('/', '-')}", data)
        self._put(name + DATA, _json({**told, "edits": set_by_hand}))
        self.count += 1

    def lists(self, spend: bool) -> None:
        """What belongs to no single file."""
        with self._partial() as stream:
            for line in csv_lines(self._app):
                stream.write(line.encode("utf-8", "replace"))
        (self._folder / PARTIAL).replace(self._folder / TABLE)
        people = [
            {**person_json(shown.person), "voices": [asdict(voice) for voice in shown.voices]}
            for shown in (self._app.people.show(str(one.id)) for one in self._app.people.list_people())
        ]
        self._put(PEOPLE, _json({"people": people}))
        tags = self._app.tags.list_all()
        self._put(
            TAGS,
            _json({"tags": [tag_json(tag) for tag in tags.tags], "banned": tags.banned, "becomes": tags.becomes}),
        )
        if spend:
            days = [asdict(one) for one in self._app.spending.call_totals("day", EVER)]
            models = [asdict(one) for one in self._app.spending.call_totals("model", EVER)]
            self._put(SPEND, _json({"by_day": days, "by_model": models}))

    def _partial(self) -> AbstractContextManager[IO[bytes]]:
        return write_private(self._folder / PARTIAL)

    def _put(self, name: str, data: bytes) -> None:
        """Write a file whole or not at all; one that says the same already is left alone."""
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
        with self._partial() as stream:
            stream.write(data)
        (self._folder / PARTIAL).replace(target)
        self.written += 1


def _front_matter(row: ExportRow) -> str:
    """YAML, of which JSON is a part: no text can end a value early."""
    told: dict[str, Any] = {
        "path": row.path,
        "title": row.title or row.path.rpartition("/")[2],
        "date": row.date,
        "language": row.language,
        "tags": list(row.tags),
        "summary": row.summary,
    }
    lines = [
        f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in told.items() if value not in (None, [])
    ]
    return "\n".join(["---", *lines, "---", "", ""])


def _json(value: object) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=1, default=str) + "\n").encode("utf-8", "replace")
