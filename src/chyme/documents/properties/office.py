"""Read the metadata of office documents and books, from the one small part of their package that holds it."""

from __future__ import annotations

import posixpath
import re
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from typing import BinaryIO, cast
from xml.etree import ElementTree

from chyme.documents.conversion.zip_packages import tag_of
from chyme.documents.properties.reader import Properties, clean_properties

DIRECTORY_BYTES = 4 << 20  # a longer list of parts takes much memory
PART_BYTES = 2 << 20
# When the templates of programs were made: a file with one of these dates was made at another time.
_TEMPLATE_DATES = (
    *("1601-01-01", "1996-10-14T23:33:28", "1996-12-17T01:32:42", "2006-09-16T00:00:00", "2006-09-13T11:2"),
    *("2013-01-27T09:14:16", "2013-12-23T23:15:00", "2012-11-17T11:07:40", "1997-01-01T00:00:00"),
)
_PICTURE = re.compile(r"(?:^|/)(?:media|Pictures)/[^/]+\.(?:png|jpe?g|gif|bmp|tiff?|webp|emf|wmf|svg)$", re.IGNORECASE)
_EMBEDDED = re.compile(r"(?:^|/)embeddings/[^/]+$|^Object \d+/content\.xml$")
_FORBIDDEN = re.compile(rb"<!(?:DOCTYPE|ENTITY)", re.IGNORECASE)


def office_properties(stream: BinaryIO, size: int) -> Properties:
    """The properties of a package of the Office Open XML family."""
    with _open_archive(stream) as archive:
        core = _fields(_tree(archive, "docProps/core.xml"))
        application = _fields(_tree(archive, "docProps/app.xml"))
        pictures, files = count_parts(archive.namelist())
    properties = _to_properties(core, generator=_first(application, "Application"))
    return replace(properties, pictures=pictures, files=files)


def opendocument_properties(stream: BinaryIO, size: int) -> Properties:
    """The properties of an OpenDocument package."""
    with _open_archive(stream) as archive:
        pictures, files = count_parts(archive.namelist())
        return replace(_to_properties(_fields(_tree(archive, "meta.xml"))), pictures=pictures, files=files)


def count_parts(names: Sequence[str]) -> tuple[int, int]:
    """How many pictures and how many embedded files a package has, by the names of its parts."""
    return sum(_PICTURE.search(name) is not None for name in names), sum(map(bool, map(_EMBEDDED.search, names)))


def book_properties(stream: BinaryIO, size: int) -> Properties:
    """The properties of an EPUB book."""
    with _open_archive(stream) as archive:
        container = _tree(archive, "META-INF/container.xml")
        paths = [element.get("full-path", "") for element in container.iter() if tag_of(element) == "rootfile"]
        package = _tree(archive, posixpath.normpath(paths[0]), doctypes=True)
    metadata = next((element for element in package if tag_of(element) == "metadata"), package)
    return _to_properties(_fields(metadata))


class _LimitedReader:
    """A file that limits each read: a package may state the size of its directory twice, and lie."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.seek, self.tell, self.seekable = stream.seek, stream.tell, stream.seekable

    def read(self, size: int = -1) -> bytes:
        data = self._stream.read(min(size, DIRECTORY_BYTES + 1) if size >= 0 else DIRECTORY_BYTES + 1)
        if len(data) > DIRECTORY_BYTES:
            raise ValueError("a package of very many parts")
        return data


def _open_archive(stream: BinaryIO) -> zipfile.ZipFile:
    stream.seek(0)
    return zipfile.ZipFile(cast(BinaryIO, _LimitedReader(stream)))


def _tree(archive: zipfile.ZipFile, part: str, *, doctypes: bool = False) -> ElementTree.Element:
    """A part as XML; an empty element if it is missing, too large, or declares entities as attacks do."""
    try:
        with archive.open(part) as opened:
            data = opened.read(PART_BYTES + 1)
    except (KeyError, MemoryError):  # it is missing, or claims a window larger than memory
        return ElementTree.Element("missing")
    plain = data.replace(b"\x00", b"")  # so that UTF-16 hides nothing
    if len(data) > PART_BYTES or b"<!ENTITY" in plain.upper() or (not doctypes and _FORBIDDEN.search(plain)):
        return ElementTree.Element("refused")
    return ElementTree.fromstring(data)


def _fields(tree: ElementTree.Element) -> dict[str, list[str]]:
    fields: dict[str, list[str]] = {}
    for element in tree.iter():
        text = (element.text or "").strip()
        if text:
            fields.setdefault(tag_of(element), []).append(text)
    return fields


def _to_properties(fields: dict[str, list[str]], generator: str = "") -> Properties:
    words = [
        word
        for text in (*fields.get("keywords", ()), *fields.get("keyword", ()))
        for word in re.split(r"[,;\n]", text[:10_000])
    ]
    subjects = fields.get("subject", [])
    created = _first(fields, "created", "creation-date", "date")
    return clean_properties(
        title=_first(fields, "title"),
        authors=(fields.get("creator") or fields.get("initial-creator") or [])[:5],
        subject=subjects[0] if len(subjects) == 1 else "",
        description=_first(fields, "description"),
        generator=generator or _first(fields, "generator"),
        keywords=[*words, *(subjects if len(subjects) > 1 else ())],
        created="" if created.startswith(_TEMPLATE_DATES) else created,
        modified=_first(fields, "modified", *(("date",) if "creation-date" in fields else ())),
        language=_first(fields, "language"),
    )


def _first(fields: dict[str, list[str]], *names: str) -> str:
    return next((fields[name][0] for name in names if fields.get(name)), "")
