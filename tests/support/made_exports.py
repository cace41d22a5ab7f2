"""Exports of other programs, made up in their exact shape."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

BOOKMARKS = """<!DOCTYPE NETSCAPE-Bookmark-file-1>
<!-- made up -->
<META HTTP-EQUIV="Content-Type" CONTENT="text/html; charset=UTF-8">
<TITLE>Bookmarks</TITLE>
<H1>Bookmarks</H1>
<DL><p>
    <DT><H3 ADD_DATE="1700000000" PERSONAL_TOOLBAR_FOLDER="true">Work</H3>
    <DL><p>
    <DT><A HREF="https://example.org/sourdough" ADD_DATE="1700000000" TAGS="Baking,slow food">Bake &amp; eat</A>
        <DD>With rye.
        <DT><H3>../escape</H3>
        <DL><p>
            <DT><A HREF="https://example.org/ants" ADD_DATE="1700086400">Ants</A>
        </DL><p>
    </DL><p>
    <DT><A HREF="javascript:alert(1)">A script</A>
    <DT><A HREF="place:sort=8">Most visited</A>
</DL><p>
"""


def named(model: str, pk: int, name: str, **more: Any) -> dict[str, Any]:
    """A correspondent, tag, type … of Paperless."""
    fields = {"name": name, "match": "", "matching_algorithm": 0, "is_insensitive": True, "owner": None, **more}
    return {"model": f"documents.{model}", "pk": pk, "fields": fields}


def document(pk: int, data: bytes, file_name: str, **more: Any) -> dict[str, Any]:
    """A document of Paperless."""
    fields = {
        "correspondent": None,
        "storage_path": None,
        "title": f"Document {pk}",
        "document_type": None,
        "content": "what Paperless read " * 20,
        "mime_type": "text/plain",
        "tags": [],
        "checksum": hashlib.md5(data).hexdigest(),
        "archive_checksum": None,
        "created": "2023-05-04",
        "modified": "2024-01-01T10:00:00Z",
        "added": "2024-01-01T09:00:00Z",
        "filename": file_name,
        "archive_filename": None,
        "original_filename": file_name,
        "owner": 3,
        "archive_serial_number": None,
        **more,
    }
    return {
        "model": "documents.document",
        "pk": pk,
        "fields": fields,
        "__exported_file_name__": file_name,
        "__exported_thumbnail_name__": f"{file_name}-thumbnail.webp",
    }


def write_paperless(
    folder: Path, records: Sequence[Mapping[str, Any]], files: Mapping[str, bytes], *, split: bool = False
) -> Path:
    """A folder as document_exporter writes it: notes and fields before the documents, or (split) beside each."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    main = list(records)
    if split:
        owner = {"documents.document": None, "documents.note": "document", "documents.customfieldinstance": "document"}
        for record in [record for record in records if record["model"] == "documents.document"]:
            parts = [
                part
                for part in records
                if part is record or (owner.get(part["model"]) and part["fields"]["document"] == record["pk"])
            ]
            name = f"{record['__exported_file_name__'].rpartition('.')[0]}-manifest.json"
            (folder / "json").mkdir(exist_ok=True)
            (folder / "json" / Path(name).name).write_text(json.dumps(parts, indent=2))
        main = [record for record in records if record["model"] not in owner]
    (folder / "manifest.json").write_text(json.dumps(main, indent=2, ensure_ascii=False))
    (folder / "metadata.json").write_text('{"version": "2.14.7"}')
    return folder


def household(folder: Path, *, split: bool = False) -> Path:
    """Two letters with all that Paperless knows about them."""
    power, insurance = b"Your meter reads 4711.\n", b"The roof is insured.\n"
    records = [
        named("correspondent", 1, "Stadtwerke der Freien und Hansestadt Lübeck"),
        named("tag", 1, "Strom", color="#a6cee3", is_inbox_tag=False),
        named("tag", 2, "A tag with far more words than chyme allows", color="#a6cee3", is_inbox_tag=False),
        named("documenttype", 1, "Invoice"),
        named("storagepath", 1, "By year", path="{{created_year}}/{{title}}"),
        {
            "model": "documents.customfield",
            "pk": 1,
            "fields": {"created": "2024-01-01T00:00:00Z", "name": "Meter", "data_type": "string", "extra_data": {}},
        },
        {
            "model": "documents.customfield",
            "pk": 2,
            "fields": {
                "created": "2024-01-01T00:00:00Z",
                "name": "Paid by",
                "data_type": "select",
                "extra_data": {"select_options": [{"id": "aX9", "label": "giro account"}]},
            },
        },
        {
            "model": "documents.customfieldinstance",
            "pk": 1,
            "fields": {"created": "2024-01-01T00:00:00Z", "document": 1, "field": 1, "value_text": "ZX-80"},
        },
        {
            "model": "documents.customfieldinstance",
            "pk": 2,
            "fields": {
                "created": "2024-01-01T00:00:00Z",
                "document": 1,
                "field": 2,
                "value_text": None,
                "value_select": "aX9",
            },
        },
        {
            "model": "documents.note",
            "pk": 1,
            "fields": {"note": "Ask for Zebulon", "created": "2024-01-01T00:00:00Z", "document": 1, "user": 3},
        },
        document(
            *(1, power, "power.txt"),
            title="Power bill of May",
            correspondent=1,
            tags=[1, 2],
            document_type=1,
            storage_path=1,
            archive_serial_number=1042,
            original_filename="scan 17.txt",
        ),
        document(2, insurance, "insurance.txt", created="2022-02-03T00:00:00+01:00", title="Roof"),
    ]
    return write_paperless(folder, records, {"power.txt": power, "insurance.txt": insurance}, split=split)


def many_letters(folder: Path, count: int) -> Path:
    """So many small letters."""
    records = [named("tag", number, f"drawer {number}") for number in range(1, 21)]
    contents = {f"letter {number:05}.txt": f"Letter number {number}.\n".encode() for number in range(1, count + 1)}
    records += [
        document(number, data, name, tags=[number % 20 + 1], archive_serial_number=number)
        for number, (name, data) in enumerate(contents.items(), 1)
    ]
    return write_paperless(folder, records, contents)


def zipped(folder: Path, path: Path) -> Path:
    """The folder as a zip archive."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(folder.rglob("*")):
            if file.is_file():
                archive.write(file, file.relative_to(folder))
    return path


def karakeep(path: Path, bookmarks: Sequence[Mapping[str, Any]], lists: Sequence[Mapping[str, Any]] = ()) -> Path:
    """An export of Karakeep."""
    path.write_text(json.dumps({"bookmarks": list(bookmarks), "lists": list(lists)}))
    return path


def karakeep_bookmark(content: Mapping[str, Any] | None, **more: Any) -> dict[str, Any]:
    """One bookmark of Karakeep."""
    return {
        "createdAt": 1700000000,
        "title": None,
        "tags": [],
        "lists": [],
        "content": content,
        "note": None,
        "archived": False,
        "favourited": False,
        **more,
    }
