"""What the document_importer of Paperless-ngx demands of an export, by its public source (versions 2.14 and later).

It takes the whole manifest and every `*-manifest.json` below the folder, knows the fields of its models and no others,
and refuses what its tables cannot hold: numbers and contents twice, names that are too long, what refers to nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import date, datetime
from pathlib import Path
from typing import Any

_MATCHING = {"name", "match", "matching_algorithm", "is_insensitive", "owner"}
FIELDS = {
    "documents.correspondent": _MATCHING,
    "documents.documenttype": _MATCHING,
    "documents.tag": {*_MATCHING, "color", "is_inbox_tag"},
    "documents.customfield": {"created", "name", "data_type", "extra_data"},
    "documents.customfieldinstance": {"created", "document", "field", "value_text"},
    "documents.note": {"note", "created", "document", "user"},
    "documents.document": {
        *("correspondent", "storage_path", "title", "document_type", "content", "mime_type", "tags", "checksum"),
        *("archive_checksum", "created", "modified", "added", "filename", "archive_filename", "original_filename"),
        *("owner", "archive_serial_number"),
    },
}
REFERENCES = {
    "correspondent": "documents.correspondent",
    "document_type": "documents.documenttype",
    "document": "documents.document",
    "field": "documents.customfield",
}
LENGTHS = {"title": 128, "name": 128, "value_text": 128, "checksum": 32, "filename": 1024, "original_filename": 1024}
UNIQUE = ("checksum", "filename", "archive_serial_number")


def check_export(folder: Path) -> list[dict[str, Any]]:
    """Raise AssertionError where the importer would fail; return the documents' records."""
    paths = [folder / "manifest.json", *folder.glob("**/*-manifest.json")]
    records = [record for path in paths for record in json.loads(path.read_text("utf-8"))]
    assert isinstance(json.loads((folder / "metadata.json").read_text())["version"], str)
    keys = [(record["model"], record["pk"]) for record in records]
    assert len(set(keys)) == len(keys), "a number is used twice"
    for record in records:
        _check_record(record, set(keys))
    documents = [record for record in records if record["model"] == "documents.document"]
    for name in UNIQUE:
        values = [record["fields"][name] for record in documents if record["fields"][name] is not None]
        assert len(set(values)) == len(values), f"{name} is not unique"
    names = [(record["model"], record["fields"]["name"]) for record in records if "name" in record["fields"]]
    assert len(set(names)) == len(names), "a name is used twice"
    for record in documents:
        data = (folder / record["__exported_file_name__"]).read_bytes()
        assert hashlib.md5(data).hexdigest() == record["fields"]["checksum"]
    return documents


def _check_record(record: Mapping[str, Any], keys: set[tuple[str, int]]) -> None:
    model, fields = record["model"], record["fields"]
    assert set(fields) <= FIELDS[model], (model, set(fields) - FIELDS[model])
    assert isinstance(record["pk"], int)
    for name, length in LENGTHS.items():
        assert len(fields.get(name) or "") <= length, (model, name)
    for name, target in REFERENCES.items():
        assert fields.get(name) is None or (target, fields[name]) in keys, (model, name)
    if model == "documents.document":
        assert all(("documents.tag", tag) in keys for tag in fields["tags"])
        date.fromisoformat(fields["created"])
        datetime.fromisoformat(fields["added"])
        number = fields["archive_serial_number"]
        assert number is None or 0 <= number <= 0xFFFFFFFF
    if "name" in fields:
        assert fields["name"].strip()
