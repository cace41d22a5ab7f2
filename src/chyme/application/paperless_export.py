"""Exports documents in the form that the document_importer of Paperless-ngx reads."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from chyme.application.file_texts import join_texts, texts_of
from chyme.application.vault_export import BATCH, PARTIAL, ExportResult, explain_write_errors, prepare_folder
from chyme.core.files.permissions import make_private_folder, write_private
from chyme.core.files.vault_folder import Vault
from chyme.core.pipeline.registry_rules import Rules
from chyme.core.store import files
from chyme.core.store.documents import ExportRow, list_for_export
from chyme.core.store.sqlite.database import Database
from chyme.errors import UsageError
from chyme.imports import paperless
from chyme.imports.entries import ARCHIVE_NUMBER, CORRESPONDENT, DOCUMENT_TYPE, NOTE, OTHER_TAGS
from chyme.model import File, Kind
from chyme.understanding.tables import properties
from chyme.vault.file_names import safe_file_name

VERSION = "2.14.7"  # the shape of the records; the importer warns if it is of another version, and goes on
METADATA = "metadata.json"
ORIGINALS = "originals"
KINDS = frozenset({Kind.DOCUMENT, Kind.IMAGE, Kind.TEXT})  # Paperless manages no recordings, videos and links
MAX_TITLE = MAX_NAME = MAX_SHORT_VALUE = 128  # characters of its columns
MAX_ARCHIVE_NUMBER = 0xFFFFFFFF
PIECE = 1024 * 1024


@dataclass(frozen=True, slots=True)
class PaperlessExport:
    """Exports one vault. The texts that chyme read go along, so that Paperless need not read the files again."""

    vault: Vault
    database: Database
    rules: Rules

    def write(self, folder: Path, progress: Callable[[int], None] | None = None) -> ExportResult:
        """Write manifest, metadata and originals. Originals that an earlier export wrote are left alone."""
        target = prepare_folder(self.vault.root, folder)
        with explain_write_errors(folder):
            try:
                return self._write(target, progress)
            finally:
                for name in (PARTIAL, PARTIAL + "-documents"):
                    (target / name).unlink(missing_ok=True)

    def _write(self, target: Path, progress: Callable[[int], None] | None) -> ExportResult:
        if (target / ORIGINALS).is_symlink():
            raise UsageError(f"{target / ORIGINALS}: is a link that leads elsewhere; remove it and export again")
        make_private_folder(target / ORIGINALS)
        found = _Records()
        originals: set[str] = set()
        left_out = written = count = 0
        with write_private(target / (PARTIAL + "-documents")) as stream:  # the names they refer to come first
            for number, row in enumerate(self._rows(), 1):
                copied = self._copy_original(target, row, found) if row.kind in KINDS else None
                if copied is None:
                    left_out += 1
                    continue
                name, checksum, is_new = copied
                originals.add(name)
                written += is_new
                count += 1
                with self.database.snapshot() as db:
                    text = join_texts(tuple(texts_of(db, self.rules, row.file_id)))
                    more = properties.of_file(db, row.file_id)
                for record in found.document(row, name, checksum, text, more):
                    stream.write(_line(record))
                if progress is not None and number % 100 == 0:
                    progress(number)
        with write_private(target / PARTIAL) as manifest:
            _write_manifest(manifest, found, target / (PARTIAL + "-documents"))
        (target / PARTIAL).replace(target / paperless.MANIFEST)
        with write_private(target / PARTIAL) as stream:
            stream.write(json.dumps({"version": VERSION}).encode())
        (target / PARTIAL).replace(target / METADATA)
        for name in os.listdir(target / ORIGINALS):
            if f"{ORIGINALS}/{name}" not in originals:  # of files that are gone, or called otherwise now
                (target / ORIGINALS / name).unlink()
        return ExportResult(target, count, written + 2, count - written, left_out)

    def _rows(self) -> Iterator[ExportRow]:
        last = ""
        while batch := list_for_export(self.database.read(), last, BATCH):
            yield from batch
            last = batch[-1].path

    def _copy_original(self, target: Path, row: ExportRow, found: _Records) -> tuple[str, str, bool] | None:
        """Copy a file; return its name, its MD5 and whether it is new there. None if it is gone or a duplicate."""
        file = files.by_id(self.database.read(), row.file_id)
        if file is None:
            return None
        checksum = self._checksum(file)
        if checksum is None or checksum in found.checksums:  # Paperless takes no content twice
            return None
        found.checksums.add(checksum)
        safe = safe_file_name(file.name).replace(paperless.PART_OF_MANIFEST, "-manifest_.json")  # it is no manifest
        name = f"{ORIGINALS}/{row.file_id:07}-{safe}"
        path = target / name
        if not path.is_symlink() and path.is_file() and _md5(path) == checksum:
            return name, checksum, False
        try:
            source = os.fdopen(self.vault.open(file), "rb")
        except OSError:
            return None
        with source, write_private(target / PARTIAL) as copy:
            shutil.copyfileobj(source, copy, PIECE)
        os.utime(target / PARTIAL, ns=(file.stamp.mtime_ns, file.stamp.mtime_ns))
        (target / PARTIAL).replace(path)
        return name, _md5(path), True

    def _checksum(self, file: File) -> str | None:
        try:
            with os.fdopen(self.vault.open(file), "rb") as stream:
                return hashlib.file_digest(stream, _new_md5).hexdigest()
        except OSError:
            return None


@dataclass
class _Records:
    """The names that documents refer to, numbered as they appear."""

    names: dict[tuple[str, str], int] = field(default_factory=dict)  # (model, name) → number
    parts: int = 0  # notes and values of fields so far
    checksums: set[str] = field(default_factory=set)
    archive_numbers: set[int] = field(default_factory=set)

    def document(
        self, row: ExportRow, name: str, checksum: str, text: str, more: Mapping[str, str]
    ) -> Iterator[dict[str, Any]]:
        """Yield the record of a document, and those of its notes and fields."""
        rest = dict(more)
        number = rest.get(ARCHIVE_NUMBER, "")
        archive_number = int(number) if number.isascii() and number.isdigit() and len(number) <= 10 else None
        if archive_number is not None and archive_number <= MAX_ARCHIVE_NUMBER:
            if archive_number in self.archive_numbers:
                archive_number = None  # it is unique in Paperless; the second keeps it as a field
            else:
                self.archive_numbers.add(archive_number)
                del rest[ARCHIVE_NUMBER]
        else:
            archive_number = None
        title = row.title or row.path.rpartition("/")[2]
        tags = [*row.tags, *filter(None, rest.pop(OTHER_TAGS, "").split("; "))]
        fields: dict[str, Any] = {
            "correspondent": self._number(paperless.CORRESPONDENTS, rest.pop(CORRESPONDENT, "")),
            "storage_path": None,
            "title": title[:MAX_TITLE],
            "document_type": self._number(paperless.TYPES, rest.pop(DOCUMENT_TYPE, "")),
            "content": text,
            "mime_type": row.mime,
            "tags": [self._number(paperless.TAG, tag) for tag in dict.fromkeys(tags)],
            "checksum": checksum,
            "archive_checksum": None,
            "created": _whole_date(row.date) or row.created_at[:10],
            "modified": row.updated_at,
            "added": row.created_at,
            "filename": name.removeprefix(f"{ORIGINALS}/"),
            "archive_filename": None,
            "original_filename": row.path.rpartition("/")[2],
            "owner": None,
            "archive_serial_number": archive_number,
        }
        yield {"model": paperless.DOCUMENT, "pk": row.file_id, "fields": fields, paperless.FILE_NAME: name}
        notes = [rest.pop(NOTE)] if NOTE in rest else []
        if len(title) > MAX_TITLE:
            notes.append(title)
        for label, value in rest.items():
            if len(value) > MAX_SHORT_VALUE or "\n" in value:
                notes.append(f"{label}: {value}")
            else:
                yield self._part(
                    paperless.FIELD_VALUES,
                    {
                        "created": row.created_at,
                        "document": row.file_id,
                        "field": self._number(paperless.FIELDS, label),
                        "value_text": value,
                    },
                )
        for note in notes:
            yield self._part(
                paperless.NOTES, {"note": note, "created": row.created_at, "document": row.file_id, "user": None}
            )

    def named(self) -> Iterator[dict[str, Any]]:
        """Yield the records of correspondents, types, tags and fields."""
        for (model, name), number in self.names.items():
            if model == paperless.FIELDS:
                fields: dict[str, Any] = {"created": "2000-01-01T00:00:00Z", "name": name, "data_type": "string"}
            else:
                fields = {"name": name, "match": "", "matching_algorithm": 0, "is_insensitive": True, "owner": None}
            if model == paperless.TAG:
                fields |= {"color": "#a6cee3", "is_inbox_tag": False}
            yield {"model": model, "pk": number, "fields": fields}

    def _number(self, model: str, name: str) -> int | None:
        short = " ".join(name.split())[:MAX_NAME]
        if not short:
            return None
        return self.names.setdefault((model, short), len(self.names) + 1)

    def _part(self, model: str, fields: Mapping[str, Any]) -> dict[str, Any]:
        self.parts += 1
        return {"model": model, "pk": self.parts, "fields": fields}


def _write_manifest(manifest: IO[bytes], found: _Records, documents: Path) -> None:
    """Write one JSON list: the names, then the documents line by line."""
    separator = b"[\n"
    for record in found.named():
        manifest.write(separator + _line(record).rstrip(b"\n"))
        separator = b",\n"
    with documents.open("rb") as lines:
        for line in lines:
            manifest.write(separator + line.rstrip(b"\n"))
            separator = b",\n"
    manifest.write(b"[]\n" if separator == b"[\n" else b"\n]\n")


def _line(record: Mapping[str, Any]) -> bytes:
    return (json.dumps(record, ensure_ascii=False) + "\n").encode("utf-8", "replace")


def _whole_date(date: str | None) -> str | None:
    """A day for every date: Paperless knows no months and years alone."""
    return None if date is None else (date + "-01-01")[:10] if len(date) == 4 else (date + "-01")[:10]


def _new_md5() -> Any:
    return hashlib.md5(usedforsecurity=False)  # the checksum that Paperless compares


def _md5(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, _new_md5).hexdigest()
