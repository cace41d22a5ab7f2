"""Reads what the `document_exporter` of Paperless-ngx writes, as a folder or zip, in one manifest or many."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from chyme.errors import UsageError
from chyme.imports.entries import (
    ARCHIVE_NUMBER,
    CORRESPONDENT,
    DOCUMENT_TYPE,
    NOTE,
    STORAGE_PATH,
    Entry,
    Problem,
)
from chyme.imports.export_files import ExportFiles, safe_parts
from chyme.imports.json_stream import elements
from chyme.imports.tables.manifest_index import ManifestIndex
from chyme.imports.values import clean_text, values_of

MANIFEST = "manifest.json"
PART_OF_MANIFEST = "-manifest.json"
DOCUMENT, TAG = "documents.document", "documents.tag"
CORRESPONDENTS, TYPES, PATHS = "documents.correspondent", "documents.documenttype", "documents.storagepath"
NOTES, OLD_NOTES = "documents.note", "documents.comment"
FIELDS, FIELD_VALUES = "documents.customfield", "documents.customfieldinstance"
FILE_NAME, ARCHIVE_NAME = "__exported_file_name__", "__exported_archive_name__"
_NAMED = (TAG, CORRESPONDENTS, TYPES, PATHS, FIELDS)


def read_paperless(files: ExportFiles) -> Iterator[Entry | Problem]:
    """Read the export twice: first the names, notes and fields, then the documents, one at a time."""
    manifests = _find_manifests(files)
    prefix = manifests[0].removesuffix(MANIFEST)
    broken: dict[str, Problem] = {}
    with ManifestIndex() as index:
        for name in manifests:
            try:
                for record in _records(files, name):
                    _add_to_index(index, record)
            except UsageError as error:
                broken[name] = Problem(name, str(error))
        for name in manifests:
            try:
                for record in _records(files, name):
                    if record.get("model") == DOCUMENT:
                        yield _entry(files, index, prefix, record)
            except UsageError as error:
                broken.setdefault(name, Problem(name, str(error)))
        yield from broken.values()


def _find_manifests(files: ExportFiles) -> list[str]:
    names = [name for name in files.names() if name.endswith(MANIFEST)]
    mains = [name for name in names if name.rpartition("/")[2] == MANIFEST]
    if not mains:
        raise UsageError(
            "the export has no manifest.json; give the folder or zip that Paperless' document_exporter wrote"
        )
    main = min(mains, key=lambda name: (name.count("/"), name))
    prefix = main.removesuffix(MANIFEST)
    parts = [name for name in names if name.startswith(prefix) and name.endswith(PART_OF_MANIFEST)]
    return [main, *sorted(parts)]


def _records(files: ExportFiles, name: str) -> Iterator[dict[str, Any]]:
    with files.open(name) as stream:
        for key, record in elements(stream, name):
            if key == "" and isinstance(record, dict) and isinstance(record.get("fields"), dict):
                yield record


def _add_to_index(index: ManifestIndex, record: Mapping[str, Any]) -> None:
    model, fields = record.get("model"), record["fields"]
    if model in _NAMED:
        index.add_record(model, record.get("pk"), fields)
    elif model in (NOTES, OLD_NOTES, FIELD_VALUES):
        index.add_part(fields.get("document"), model, fields)


def _entry(files: ExportFiles, index: ManifestIndex, prefix: str, record: Mapping[str, Any]) -> Entry | Problem:
    fields, pk = record["fields"], record.get("pk")
    title = clean_text(fields.get("title"))
    label = f"document {clean_text(pk)} “{title[:80]}”"
    if fields.get("deleted_at"):
        return Problem(label, "is in the trash of Paperless", left_out=True)
    try:
        stored = _stored_name(files, prefix, record)
    except UsageError as error:
        return Problem(label, str(error))
    original = clean_text(fields.get("original_filename")).replace("\\", "/").rpartition("/")[2]
    name = original or stored.rpartition("/")[2]
    properties = _properties(index, fields, pk)
    tags = fields.get("tags")
    names = [index.record(TAG, tag).get("name") for tag in tags] if isinstance(tags, list) else []
    return Entry(
        source_id=clean_text(pk),
        label=label,
        name=name,
        content=partial(files.open, stored),
        values=values_of(title or None, fields.get("created"), names, properties),
        modified=files.modified(stored),
    )


def _stored_name(files: ExportFiles, prefix: str, record: Mapping[str, Any]) -> str:
    """The file of a document: the original, or its archived version if the original is not there."""
    problem = UsageError("has no file in the export; export without --data-only")
    for field in (FILE_NAME, ARCHIVE_NAME):
        name = record.get(field)
        if not isinstance(name, str) or not name:
            continue
        try:
            safe_parts(name)
            files.open(prefix + name).close()
        except UsageError as error:
            if field == FILE_NAME:
                problem = error
            continue
        return prefix + name
    raise problem


def _properties(index: ManifestIndex, fields: Mapping[str, Any], pk: object) -> dict[str, object]:
    found: dict[str, object] = {
        CORRESPONDENT: index.record(CORRESPONDENTS, fields.get("correspondent")).get("name"),
        DOCUMENT_TYPE: index.record(TYPES, fields.get("document_type")).get("name"),
        STORAGE_PATH: index.record(PATHS, fields.get("storage_path")).get("name"),
        ARCHIVE_NUMBER: fields.get("archive_serial_number"),
    }
    notes = []
    for model, part in index.parts(pk):
        if model == FIELD_VALUES:
            field = index.record(FIELDS, part.get("field"))
            name = clean_text(field.get("name"))
            if found.get(name) not in (None, ""):
                name = f"{name} (field)"
            found[name] = _field_value(field, part)
        else:
            notes.append(clean_text(part.get("note") or part.get("comment")))
    found[NOTE] = "\n\n".join(note for note in notes if note)
    return {name: value for name, value in found.items() if value not in (None, "")}


def _field_value(field: Mapping[str, Any], part: Mapping[str, Any]) -> object:
    """The value of a person's own field: whichever of the typed values is set."""
    value = next((part[name] for name in part if name.startswith("value_") and part[name] not in (None, "", [])), None)
    if field.get("data_type") == "select":
        extra = field.get("extra_data")
        options = extra.get("select_options") if isinstance(extra, dict) else None
        return _selected(options if isinstance(options, list) else [], value)
    if isinstance(value, list):
        return ", ".join(f"document {clean_text(item)}" for item in value)
    return value


def _selected(options: list[Any], value: object) -> object:
    """The label of a selected option: older versions write its position, newer ones its id."""
    for position, option in enumerate(options):
        if isinstance(option, dict) and option.get("id") == value:
            return option.get("label")
        if isinstance(option, str) and value == position and not isinstance(value, bool):
            return option
    return value
