"""Reads a file behind a link with the digesters that would read it in the vault."""

from __future__ import annotations

import hashlib
import io
import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote, urlsplit

from chyme.digester import Calls, Source
from chyme.documents.doc_to_markdown import DocToMarkdown
from chyme.files.kind_detection import HEAD_BYTES, identify
from chyme.model import File, Kind, Place, Stamp, Upstream
from chyme.pictures.image_ocr import ImageOcr
from chyme.pictures.image_preview import ImagePreview
from chyme.text.decoding import decode

NAME_LENGTH = 100
_FILENAME = re.compile(r"filename\*?=(?:UTF-8'[^']*')?\"?([^\";]+)", re.IGNORECASE)
_UNSAFE_CHARS = re.compile(r"[\x00-\x1f\x7f/\\:*?\"<>|\u200e\u200f\u202a-\u202e\u2066-\u2069]+")
_NOT_READ = {
    Kind.AUDIO: "a recording; put it into the vault as a file to have it transcribed",
    Kind.VIDEO: "a video; put it into the vault as a file to have it transcribed",
    Kind.OTHER: "a file of a type that chyme does not read",
    Kind.URL: "nothing but another link",
}


@dataclass(frozen=True, slots=True)
class Contents:
    """What was read from the file."""

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
    """Return the file with the kind detected from its content."""
    kind, mime = identify(name, data[:HEAD_BYTES], len(data), lambda start, length: data[start : start + length])
    stamp = Stamp("", "", len(data), 0)
    file = File(link.file.id, link.file.path, name, kind, mime, stamp, hashlib.sha256(data).hexdigest(), 1)
    return LinkedFile(link, file, data)


@dataclass(frozen=True, slots=True)
class FileReaders:
    """The digesters that read documents and pictures."""

    text: DocToMarkdown = field(default_factory=DocToMarkdown)
    preview: ImagePreview = field(default_factory=ImagePreview)
    words: ImageOcr = field(default_factory=ImageOcr)

    def read(self, source: LinkedFile) -> Contents:
        """Return text and places of the file. Raises what its digester raises."""
        kind = source.file.kind
        if kind is Kind.DOCUMENT:
            (output,) = self.text.digest(source)
            return Contents(output.content, output.places)
        if kind is Kind.IMAGE:
            (preview,) = self.preview.digest(source)
            upstream = Upstream(
                preview.name, preview.content, (), {artifact.filename: artifact.data for artifact in preview.artifacts}
            )
            (output,) = self.words.digest(replace(source, inputs={preview.name: upstream}))
            return Contents(output.content, output.places)
        if kind is Kind.TEXT:
            return Contents(decode(source.data, len(source.data)).text.strip() or None)
        return Contents(None, note=_NOT_READ[kind])


def name_of(url: str, headers: Mapping[str, str]) -> str:
    """Return a name for the file: the one its server gives, else the last part of its address."""
    named = _FILENAME.search(headers.get("content-disposition", "")[:1000])
    last = named[1] if named else urlsplit(url).path.rstrip("/").rpartition("/")[2]
    name = _UNSAFE_CHARS.sub(" ", unquote(last)).strip(" .")
    stem, dot, extension = name.rpartition(".")
    if dot and len(extension) <= 10:
        return f"{stem[: NAME_LENGTH - len(extension)]}.{extension}"
    return name[:NAME_LENGTH] or "file"


def original_name(name: str) -> str:
    """Return the artifact name of the stored file, which no artifact made by chyme has."""
    extension = name.rpartition(".")[2].lower() if "." in name else ""
    is_plain = extension.isascii() and extension.isalnum() and len(extension) <= 10
    return f"original.{extension}" if is_plain else "original"
