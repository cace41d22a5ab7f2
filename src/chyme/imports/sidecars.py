"""Reads sidecar files: JSON of Google Photos and others, XMP of photo programs, front matter in YAML or Markdown."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from xml.parsers import expat

from chyme.errors import UsageError
from chyme.imports.entries import ARCHIVE_NUMBER, CORRESPONDENT, DESCRIPTION, DOCUMENT_TYPE, NOTE, PEOPLE, Values
from chyme.imports.values import clean_text, values_of

MAX_BYTES = 4 * 1024 * 1024
MAX_ITEMS = 1000  # of one list
MAX_XML_DEPTH = 100
LOCATION = "location"
FAVOURITE = "favourite"
# How fields are called in JSON and front matter → how chyme calls them.
_TITLES = ("title", "name")
_DATES = ("date", "created", "datecreated", "date_created", "datetimeoriginal")
_TAGS = ("tags", "keywords", "subject", "labels", "categories")
_PROPERTIES = {
    "description": DESCRIPTION, "caption": DESCRIPTION, "summary": DESCRIPTION, "note": NOTE, "notes": NOTE,
    "people": PEOPLE, "correspondent": CORRESPONDENT, "from": CORRESPONDENT, "sender": CORRESPONDENT,
    "asn": ARCHIVE_NUMBER, "archive_number": ARCHIVE_NUMBER, "archive_serial_number": ARCHIVE_NUMBER,
    "type": DOCUMENT_TYPE, "document_type": DOCUMENT_TYPE,
}  # fmt: skip
_FRONT_MATTER = re.compile(r"---[ \t]*\n(.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)(.*)", re.DOTALL)
_FIELD = re.compile(r"([A-Za-z_][\w -]{0,60})[ \t]*:(?:[ \t]+(.*))?")
_DC, _XMP = "http://purl.org/dc/elements/1.1/", "http://ns.adobe.com/xap/1.0/"
_PHOTOSHOP, _EXIF = "http://ns.adobe.com/photoshop/1.0/", "http://ns.adobe.com/exif/1.0/"
_RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_XMP_DATES = (f"{_EXIF} DateTimeOriginal", f"{_PHOTOSHOP} DateCreated", f"{_XMP} CreateDate", f"{_DC} date")
_REGIONS = "http://www.metadataworkinggroup.com/schemas/regions/"


def read_sidecar(name: str, data: bytes, file_name: str) -> Values:
    """What a sidecar says about the file. Raises UsageError if it cannot be read."""
    extension = name.rpartition(".")[2].lower()
    if extension == "json":
        return _read_json(data, file_name)
    if extension == "xmp":
        return _read_xmp(data)
    text = data.decode("utf-8-sig", "replace").replace("\r\n", "\n")
    if extension == "md":
        parts = _FRONT_MATTER.match(text)
        fields, body = (_front_matter(parts[1]), parts[2].strip()) if parts else ({}, text.strip())
        return _from_fields({**fields, **({"note": body} if body else {})}, file_name)
    parts = _FRONT_MATTER.match(text)
    return _from_fields(_front_matter(parts[1] if parts else text), file_name)


def is_takeout(data: bytes) -> bool:
    """Whether this JSON is about a photo, as Google Photos writes it."""
    return b'"photoTakenTime"' in data


def _read_json(data: bytes, file_name: str) -> Values:
    try:
        fields = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"is no valid JSON ({error}); correct or remove it") from error
    if not isinstance(fields, dict):
        raise UsageError("is no JSON object; correct or remove it")
    return _from_fields(_from_takeout(fields) if "photoTakenTime" in fields else fields, file_name)


def _from_takeout(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of Google Photos in plain form."""
    taken, people, place = fields.get("photoTakenTime"), fields.get("people"), fields.get("geoData")
    found: dict[str, Any] = {"title": fields.get("title"), "description": fields.get("description")}
    if isinstance(taken, dict):
        found["date"] = _takeout_day(taken.get("timestamp"))
    if isinstance(people, list):
        found["people"] = [person.get("name") for person in people[:MAX_ITEMS] if isinstance(person, dict)]
    if isinstance(place, dict) and (place.get("latitude") or place.get("longitude")):
        found[LOCATION] = f"{clean_text(place.get('latitude'))}, {clean_text(place.get('longitude'))}"
    if fields.get("favorited") is True:
        found["tags"] = [FAVOURITE]
    return found


def _takeout_day(timestamp: object) -> str | None:
    """The day of a Unix time, which may lie before 1970."""
    try:
        return datetime.fromtimestamp(int(str(timestamp)[:20]), UTC).strftime("%Y-%m-%d")
    except (ValueError, OverflowError, OSError):
        return None


def _from_fields(fields: Mapping[str, Any], file_name: str) -> Values:
    title = date = None
    tags: list[object] = []
    properties: dict[str, object] = {}
    for name, value in fields.items():
        key = clean_text(name).strip().lower()
        if key in _TITLES and title is None:
            title = clean_text(value)
        elif key in _DATES and date is None:
            date = value
        elif key in _TAGS:
            tags += _items(value)
        else:
            label = _PROPERTIES.get(key, clean_text(name))
            text = "; ".join(filter(None, map(clean_text, _items(value, separate=False))))
            properties[label] = f"{properties[label]}\n{text}" if properties.get(label) and text else text
    if title and _is_file_name(title, file_name):
        title = None  # Google's title is the name of the file
    return values_of(title, date, tags, properties)


def _is_file_name(title: str, file_name: str) -> bool:
    return title.rpartition(".")[2].lower() == file_name.rpartition(".")[2].lower() and "." in title


def _items(value: object, *, separate: bool = True) -> list[object]:
    if isinstance(value, list):
        return [item.get("name") if isinstance(item, dict) else item for item in value[:MAX_ITEMS]]
    if separate and isinstance(value, str):
        return [*re.split(r"[,;]", value)]
    return [value]


def _front_matter(text: str) -> dict[str, Any]:
    """The fields of simple YAML: `name: value`, lists in brackets or on lines of their own. The rest is ignored."""
    fields: dict[str, Any] = {}
    current: str | None = None
    for line in text.splitlines():
        item = line.strip()
        if item.startswith("- ") and current is not None:
            if not isinstance(fields[current], list):
                fields[current] = []
            fields[current].append(_scalar(item[2:]))
        elif (field := _FIELD.fullmatch(line)) is not None:
            current = field[1].strip()
            fields[current] = _yaml_value((field[2] or "").strip())
    return fields


def _yaml_value(text: str) -> object:
    if text.startswith("["):
        try:
            value = json.loads(text)
            return value if isinstance(value, list) else text
        except (ValueError, RecursionError):
            return [_scalar(part) for part in text.strip("[]").split(",")]
    return _scalar(text)


def _scalar(text: str) -> str:
    text = text.strip()
    if text.startswith('"'):
        try:
            value = json.loads(text)
            return value if isinstance(value, str) else text
        except ValueError:
            return text.strip('"')
    if text.startswith("'") and text.endswith("'") and len(text) > 1:
        return text[1:-1].replace("''", "'")
    return re.split(r"\s#", text, maxsplit=1)[0].strip()


def _read_xmp(data: bytes) -> Values:
    """Titles, subjects, dates and people in XMP. A document type, and with it every entity, is refused."""
    reader = _XmpReader()
    try:
        reader.parse(data)
    except expat.ExpatError as error:
        raise UsageError(f"is no valid XMP ({error}); correct or remove it") from error
    found = reader.found
    people = found.get(f"{_REGIONS} Name", []) + found.get(
        "http://iptc.org/std/Iptc4xmpExt/2008-02-29/ PersonInImage", []
    )
    return values_of(
        next(iter(found.get(f"{_DC} title", [])), None),
        next((found[name][0] for name in _XMP_DATES if found.get(name)), None),
        found.get(f"{_DC} subject", []),
        {DESCRIPTION: next(iter(found.get(f"{_DC} description", [])), None), PEOPLE: "; ".join(dict.fromkeys(people))},
    )


class _XmpReader:
    """Collects texts by the property they stand in: as attribute, as text, or in the items of a list."""

    def __init__(self) -> None:
        self.found: dict[str, list[str]] = {}
        self._open: list[str] = []
        self._text: list[str] = []
        self._parser = expat.ParserCreate(namespace_separator=" ")
        self._parser.StartDoctypeDeclHandler = self._refuse
        self._parser.EntityDeclHandler = self._refuse
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text.append

    def parse(self, data: bytes) -> None:
        self._parser.Parse(data, True)

    def _refuse(self, *_: object) -> None:
        raise UsageError("has a document type or entities, which no XMP needs; remove them")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if len(self._open) >= MAX_XML_DEPTH:
            raise UsageError("is nested too deeply; remove it")
        self._text.clear()
        self._open.append(name)
        for attribute, value in attributes.items():
            self._add(attribute, value)

    def _end(self, name: str) -> None:
        text = "".join(self._text).strip()
        self._text.clear()
        self._open.pop()
        if text:
            self._add(
                next((outer for outer in reversed([*self._open, name]) if not outer.startswith(_RDF)), name), text
            )

    def _add(self, name: str, text: str) -> None:
        texts = self.found.setdefault(name, [])
        if text.strip() and len(texts) < MAX_ITEMS:
            texts.append(text.strip())
