"""A file behind a link, read as what it is: by the digesters that would read it in the vault."""

from __future__ import annotations

import hashlib
import io
import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote, urlsplit

from chyme.digester import Calls, Source
from chyme.documents.doc_to_markdown import DocToMarkdown
from chyme.files.kind_detection import HEAD_BYTES, identify
from chyme.model import File, Kind, Output, Place, Stamp, Upstream
from chyme.pictures.image_ocr import ImageOcr
from chyme.pictures.image_preview import ImagePreview
from chyme.text.decoding import decode

NAME_LENGTH = 100
_NAMED = re.compile(r"filename\*?=(?:UTF-8'[^']*')?\"?([^\";]+)", re.IGNORECASE)
_UNFIT = re.compile(r"[\x00-\x1f\x7f/\\:*?\"<>|\u200e\u200f\u202a-\u202e\u2066-\u2069]+")
_NOT_READ = {
    Kind.AUDIO: "a recording; put it into the vault as a file to have it listened to",
    Kind.VIDEO: "a video; put it into the vault as a file to have it listened to",
    Kind.OTHER: "a file of a type that nobody here reads",
    Kind.URL: "nothing but another link",
}


@dataclass(frozen=True, slots=True)
class Contents:
    """What was found in it."""

    kind: Kind
    mime: str
    content: str | None
    places: tuple[Place, ...] = ()
    note: str | None = None


@dataclass(frozen=True)
class LinkedFile:
    """The file behind a link as a digester sees it."""

    link: Source
    file: File
    data: bytes
    inputs: Mapping[str, Upstream] = field(default_factory=dict)

    @property
    def scratch(self) -> Path:
        return self.link.scratch

    @property
    def calls(self) -> Calls:
        return self.link.calls

    def open(self) -> BinaryIO:
        return io.BytesIO(self.data)

    def output(self, name: str) -> Upstream | None:
        return self.inputs.get(name)

    def progress(self, fraction: float) -> None:
        self.link.progress(fraction)

    def connect(self, host: str, port: int, polite: bool = False) -> socket.socket:
        return self.link.connect(host, port, polite)

    def hold(self, host: str, seconds: float) -> None:
        self.link.hold(host, seconds)


def make_linked_file(link: Source, name: str, data: bytes) -> LinkedFile:
    """The file, of the kind that its content says."""
    kind, mime = identify(name, data[:HEAD_BYTES], len(data), lambda at, length: data[at : at + length])
    stamp = Stamp("", "", len(data), 0)
    file = File(link.file.id, link.file.path, name, kind, mime, stamp, hashlib.sha256(data).hexdigest(), 1)
    return LinkedFile(link, file, data)


@dataclass(frozen=True, slots=True)
class FileReaders:
    """Those who read documents and pictures."""

    text: DocToMarkdown = field(default_factory=DocToMarkdown)
    preview: ImagePreview = field(default_factory=ImagePreview)
    words: ImageOcr = field(default_factory=ImageOcr)

    def read(self, source: LinkedFile) -> Contents:
        """Text and places of the file. Raises whatever its digester would."""
        kind, mime = source.file.kind, source.file.mime
        if kind is Kind.DOCUMENT:
            return _from(kind, mime, self.text.digest(source))
        if kind is Kind.IMAGE:
            (preview,) = self.preview.digest(source)
            shown = Upstream(preview.name, preview.content, (), {one.filename: one.data for one in preview.artifacts})
            seen = LinkedFile(source.link, source.file, source.data, {preview.name: shown})
            return _from(kind, mime, self.words.digest(seen))
        if kind is Kind.TEXT:
            return Contents(kind, mime, decode(source.data, len(source.data)).text.strip() or None)
        return Contents(kind, mime, None, note=_NOT_READ[kind])


def _from(kind: Kind, mime: str, made: list[Output]) -> Contents:
    (output,) = made
    return Contents(kind, mime, output.content, output.places)


def name_of(url: str, headers: Mapping[str, str]) -> str:
    """What to call the file: as its server does, else as its address ends."""
    told = _NAMED.search(headers.get("content-disposition", "")[:1000])
    last = told[1] if told else urlsplit(url).path.rstrip("/").rpartition("/")[2]
    name = _UNFIT.sub(" ", unquote(last)).strip(" .")
    stem, dot, extension = name.rpartition(".")
    if dot and len(extension) <= 10:
        return f"{stem[: NAME_LENGTH - len(extension)]}.{extension}"
    return name[:NAME_LENGTH] or "file"


def original_name(name: str) -> str:
    """What the kept file is called among artifacts: none of ours is called so."""
    extension = name.rpartition(".")[2].lower() if "." in name else ""
    plain = extension.isascii() and extension.isalnum() and len(extension) <= 10
    return f"original.{extension}" if plain else "original"
