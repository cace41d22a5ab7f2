"""Open the zip package of an office document, after checking that it is harmless."""

from __future__ import annotations

import io
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from xml.etree import ElementTree

from chyme.documents.conversion.results import MB, ConversionLimits, broken_file_error, encrypted_file_error
from chyme.errors import LimitReached, UnreadableFile

ALWAYS_ALLOWED_BYTES = 64 * MB  # below this any ratio is allowed: a table of equal rows packs 200:1
CHUNK = 256 * 1024
_ROOT = re.compile(rb"<[A-Za-z_]")
_COMMENT_OR_INSTRUCTION = re.compile(rb"<!--.*?-->|<\?.*?\?>", re.DOTALL)
_XML_NAMES = (".xml", ".rels", ".opf", ".ncx", ".xhtml", ".html", ".htm", ".vml", ".svg")


@dataclass(frozen=True, slots=True)
class Package:
    """A checked package: its parts can be read completely."""

    archive: zipfile.ZipFile
    names: tuple[str, ...]

    def read(self, part: str) -> bytes | None:
        """A part's bytes, or None if the package has no such part or it is damaged."""
        try:
            return self.archive.read(part)
        except (KeyError, ValueError, RuntimeError, zipfile.BadZipFile, zlib.error, EOFError, OSError):
            return None

    def tree(self, part: str) -> ElementTree.Element | None:
        """A part as XML. Safe, because packages that declare entities are refused on opening."""
        data = self.read(part)
        if data is None:
            return None
        try:
            return ElementTree.fromstring(data)
        except (ElementTree.ParseError, ValueError, LookupError):
            return None

    def elements(self, part: str) -> Iterator[ElementTree.Element]:
        """All elements of a part, outer ones first; none if the part is missing or broken."""
        tree = self.tree(part)
        return iter(()) if tree is None else tree.iter()


def tag_of(element: ElementTree.Element) -> str:
    """The name of an element without its namespace; empty for comments and the like."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def open_package(name: str, what: str, data: bytes, limits: ConversionLimits, *, doctypes: bool) -> Package:
    """The package in `data`, or an error if it is a zip bomb, declares entities or is encrypted."""
    _check_count(name, data, limits)
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except (zipfile.BadZipFile, ValueError, struct.error, NotImplementedError, OSError) as error:
        raise broken_file_error(name, what) from error
    entries = archive.infolist()
    if len(entries) > limits.archive_entries:
        raise _too_many_entries(name, len(entries), limits)
    _check_size(name, sum(entry.file_size for entry in entries), len(data), limits)
    unpacked = 0
    for entry in entries:
        if entry.flag_bits & 1:
            raise encrypted_file_error(name, what)
        xml = entry.filename.lower().endswith(_XML_NAMES)
        if entry.compress_type == zipfile.ZIP_STORED and not xml:
            continue
        beginning = b""
        for chunk in _inflate(data, entry):
            unpacked += len(chunk)
            _check_size(name, unpacked, len(data), limits)
            beginning = beginning or chunk
        if xml and not _is_plain_xml(beginning, doctypes):
            raise UnreadableFile(
                f"{name}: {entry.filename} declares XML entities, as attacks do; "
                "open it in its own program and save it anew"
            )
    return Package(archive, tuple(entry.filename for entry in entries))


def _check_count(name: str, data: bytes, limits: ConversionLimits) -> None:
    """Called before anything lists the entries, because a directory of millions takes much memory."""
    position = data.rfind(b"PK\x05\x06", max(0, len(data) - 65_557))
    if position >= 0 and len(data) - position >= 22:
        count, length = struct.unpack_from("<HI", data, position + 10)
        count = max(count, min(length, len(data)) // 300)  # an entry rarely takes more than 300 bytes
        if count > limits.archive_entries:
            raise _too_many_entries(name, count, limits)


def _check_size(name: str, unpacked: int, packed: int, limits: ConversionLimits) -> None:
    if unpacked > ALWAYS_ALLOWED_BYTES and unpacked > packed * limits.archive_ratio:
        raise LimitReached(
            f"{name}: unpacks to more than {limits.archive_ratio} times its size, like a bomb; "
            "raise archive_ratio if you trust it"
        )
    if unpacked > limits.document_bytes:
        raise LimitReached(
            f"{name}: unpacks to more than {limits.document_bytes // MB:,} MB; raise document_bytes to read it"
        )


def _too_many_entries(name: str, count: int, limits: ConversionLimits) -> LimitReached:
    return LimitReached(
        f"{name}: holds {count:,} entries, more than {limits.archive_entries:,}; raise archive_entries to read it"
    )


def _inflate(data: bytes, entry: zipfile.ZipInfo) -> Iterator[bytes]:
    """The entry's real bytes, whatever size its header claims; stops where the stream is damaged."""
    header = data[entry.header_offset : entry.header_offset + 30]
    if len(header) < 30 or header[:4] != b"PK\x03\x04":
        return
    start = entry.header_offset + 30 + sum(struct.unpack_from("<HH", header, 26))
    packed = memoryview(data)[start : start + entry.compress_size]
    if entry.compress_type == zipfile.ZIP_STORED:
        yield bytes(packed[:CHUNK])
        return
    if entry.compress_type != zipfile.ZIP_DEFLATED:
        return
    inflater = zlib.decompressobj(-15)
    remaining = bytes(packed)
    try:
        while remaining and not inflater.eof:
            chunk = inflater.decompress(remaining, CHUNK)
            if not chunk:
                return
            yield chunk
            remaining = inflater.unconsumed_tail
    except zlib.error:
        return


def _is_plain_xml(beginning: bytes, doctypes: bool) -> bool:
    """Whether nothing is declared before the root element; `doctypes` allows a document type declaration."""
    source = _COMMENT_OR_INSTRUCTION.sub(b"", beginning.replace(b"\x00", b"")).upper()  # so that UTF-16 hides nothing
    root = _ROOT.search(source)
    if root is None:
        return b"<!" not in source  # a declaration or a comment longer than any honest prolog
    prolog = source if b"<!ENTITY" in source else source[: root.start()]
    return b"<!ENTITY" not in prolog and (doctypes or b"<!DOCTYPE" not in prolog)
