"""Exports documents, digests and edits as plain files that any program can read."""

from __future__ import annotations

import contextlib
import csv
import errno
import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from chyme import __version__
from chyme.application.document_queries import Documents
from chyme.application.file_texts import join_texts, texts_of
from chyme.application.spending import Spending
from chyme.core.clock import now
from chyme.core.files.permissions import make_private_folder, tighten_file, write_private
from chyme.core.pipeline.registry_rules import Rules
from chyme.core.store.documents import ExportRow, list_for_export
from chyme.core.store.sqlite.database import Database
from chyme.errors import DiskFull, UsageError, VaultError
from chyme.model import iso
from chyme.speech.people.edits import People
from chyme.speech.people.edits import as_json as person_json
from chyme.understanding.tables import edits, properties
from chyme.understanding.tags.rename_merge_ban import VaultTags
from chyme.understanding.tags.rename_merge_ban import as_json as tag_json

MARK = "export.json"  # marks the folder of an earlier export
FILES = "files"
TABLE, PEOPLE, TAGS, SPEND = "documents.csv", "people.json", "tags.json", "spend.json"
PARTIAL = ".partial"
BATCH = 500
ALL_DAYS = 36_500
TEXT, DATA, ARTIFACTS = ".md", ".json", ".artifacts"
MAX_BYTES = 255 - len(ARTIFACTS)  # of a name, so that an extension fits

_EXPORT_EXTENSION = re.compile(r"(?:\.md|\.json|\.artifacts)_*\Z")
_UNSAFE = re.compile("[\x00-\x1f\x7f]")
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
COLUMNS = ("path", "title", "date", "kind", "mime", "language", "tags", "state", "pages", "size", "added", "summary")


@dataclass(frozen=True, slots=True)
class ExportResult:
    """What was written."""

    folder: Path
    files: int
    written: int  # number of plain files
    unchanged: int
    left_out: int = 0  # files that this format cannot hold


@dataclass(frozen=True, slots=True)
class VaultExport:
    """Exports one vault."""

    root: Path
    database: Database
    rules: Rules
    documents: Documents
    people: People
    tags: VaultTags
    spending: Spending

    def write(
        self,
        folder: Path,
        *,
        artifacts: bool = False,
        spend: bool = False,
        progress: Callable[[int], None] | None = None,
    ) -> ExportResult:
        """Export each file separately, so that an interrupted export continues where it was when it is run again."""
        target = prepare_folder(self.root, folder)
        files = _ExportFolder(target)
        count = 0
        with explain_write_errors(folder):
            try:
                for number, row in enumerate(self._rows(), 1):
                    count += self._write_document(files, row, artifacts)
                    if progress is not None and number % 100 == 0:
                        progress(number)
                self._write_tables(files, spend)
            finally:
                (target / PARTIAL).unlink(missing_ok=True)
        return ExportResult(target, count, files.written, files.unchanged)

    def csv_lines(self) -> Iterator[str]:
        """Yield all documents as CSV, line by line."""
        line = _LineBuffer()
        writer = csv.writer(line)
        writer.writerow(COLUMNS)
        yield line.text
        for row in self._rows():
            writer.writerow(_cells(row))
            yield line.text

    def _rows(self) -> Iterator[ExportRow]:
        """Read rows in batches: a long export neither blocks other work nor fills the memory."""
        last = ""
        while found := list_for_export(self.database.read(), last, BATCH):
            yield from found
            last = found[-1].path

    def _write_document(self, files: _ExportFolder, row: ExportRow, artifacts: bool) -> bool:
        """Write the text with front matter, everything known as JSON, and artifacts if requested.

        Return whether the file still exists.
        """
        with self.database.snapshot() as db:
            text = join_texts(tuple(texts_of(db, self.rules, row.file_id)))
            set_by_hand, more = edits.of_file(db, row.file_id), properties.of_file(db, row.file_id)
        try:
            record = self.documents.show(row.path)
        except UsageError:
            return False  # it was purged meanwhile
        name = f"{FILES}/{export_path(row.path)}"
        files.write(name + TEXT, (_front_matter(row) + text + "\n").encode("utf-8", "replace"))
        if artifacts:
            for artifact, data in self.documents.artifacts(row.path).items():
                files.write(f"{name}{ARTIFACTS}/{artifact.replace('/', '-')}", data)
        files.write(name + DATA, _json({**record, "edits": set_by_hand, "properties": more}))
        return True

    def _write_tables(self, files: _ExportFolder, spend: bool) -> None:
        """Write the tables that do not belong to a single file."""
        files.write_lines(TABLE, self.csv_lines())
        people = [
            {**person_json(shown.person), "voices": [asdict(voice) for voice in shown.voices]}
            for shown in (self.people.show(str(person.id)) for person in self.people.list_people())
        ]
        files.write(PEOPLE, _json({"people": people}))
        tags = self.tags.list_all()
        files.write(
            TAGS,
            _json({"tags": [tag_json(tag) for tag in tags.tags], "banned": tags.banned, "becomes": tags.becomes}),
        )
        if spend:
            days = [asdict(totals) for totals in self.spending.call_totals("day", ALL_DAYS)]
            models = [asdict(totals) for totals in self.spending.call_totals("model", ALL_DAYS)]
            files.write(SPEND, _json({"by_day": days, "by_model": models}))


def prepare_folder(root: Path, folder: Path) -> Path:
    """Make the folder of an export and mark it. Refuses folders with anything but an earlier export in them."""
    target = folder.absolute().resolve()
    if target.is_relative_to(root):
        raise UsageError(f"{folder}: is inside the vault, where all of it would be digested; export elsewhere")
    if target.is_dir() and not (target / MARK).is_file() and any(target.iterdir()):
        raise UsageError(f"{folder}: is not empty, and no earlier export; choose a new folder")
    try:
        make_private_folder(target)
        fields = {"chyme": __version__, "vault": root.name, "exported_at": iso(now())}
        with write_private(target / MARK) as stream:
            stream.write((json.dumps(fields, indent=1) + "\n").encode())
    except OSError as error:
        raise VaultError(f"{folder}: cannot be written ({error.strerror})") from error
    return target


@contextlib.contextmanager
def explain_write_errors(folder: Path) -> Iterator[None]:
    """Turn errors of the disk into readable ones."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull(
                f"{folder}: there is no room left; make room and export again, it goes on from there"
            ) from error
        raise VaultError(f"{error.filename or folder}: cannot be written ({error.strerror})") from error


class _ExportFolder:
    """The folder of an export. Files are written atomically."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.written = self.unchanged = 0

    def write_lines(self, name: str, lines: Iterator[str]) -> None:
        with write_private(self._folder / PARTIAL) as stream:
            for line in lines:
                stream.write(line.encode("utf-8", "replace"))
        (self._folder / PARTIAL).replace(self._folder / name)

    def write(self, name: str, data: bytes) -> None:
        """Write a file; one with the same content is left alone."""
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
        with write_private(self._folder / PARTIAL) as stream:
            stream.write(data)
        (self._folder / PARTIAL).replace(target)
        self.written += 1


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


def escape_formula(text: str) -> str:
    """Put an apostrophe before a text that begins like a formula: a spreadsheet must not evaluate it."""
    return f"'{text}" if text.startswith(FORMULA) or text.lstrip().startswith(FORMULA[:4]) else text


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


def export_path(path: str) -> str:
    """Return the path of a file's exports, without their extensions.

    A folder called like an export (`a.md/` beside the file `a`) gets an underscore, as one name cannot be both.
    """
    *folders, name = path.split("/")
    return "/".join([*map(_folder_name, folders), _shorten(_safe(name))])


def _folder_name(name: str) -> str:
    safe = _safe(name)
    return _shorten(safe + "_" if _EXPORT_EXTENSION.search(safe) else safe)


def _safe(name: str) -> str:
    """Remove control characters, and refuse `.` and `..`; a hash makes changed names unique."""
    if name in ("", ".", "..") or _UNSAFE.search(name):
        return f"{_UNSAFE.sub('_', name).strip('.')}~{_hash(name)}"
    return name


def _shorten(name: str) -> str:
    data = name.encode("utf-8", "surrogateescape")
    if len(data) <= MAX_BYTES:
        return name
    return f"{data[: MAX_BYTES - 17].decode('utf-8', 'ignore')}~{_hash(name)}"


def _hash(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", "surrogateescape")).hexdigest()[:16]
