"""How a file of the vault is served to a browser: its type, shown or only saved, and which part of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote

from chyme.files.extensions import STRUCTURED_TEXTS
from chyme.model import Kind

POLICY = "default-src 'none'; sandbox"  # nothing in it runs, loads or sends, whatever its content is
OPAQUE = "application/octet-stream"
PLAIN = "text/plain; charset=utf-8"
# Browsers show these themselves and run nothing in them. All other types, now or later, are only saved.
INLINE_TYPES = frozenset({
    "image/jpeg", "image/png", "image/gif", "image/webp", "image/avif",
    "audio/mpeg", "audio/mp4", "audio/ogg", "audio/wav", "audio/flac", "audio/aac", "audio/webm",
    "video/mp4", "video/webm", "video/ogg", "video/quicktime", "video/x-matroska",
})  # fmt: skip
# Saved under its own type. Chromium runs the scripts of a PDF, and their dialogs, despite the policy: a sandbox does
# not reach its viewer. The web page shows page images instead, which a child process has drawn.
ATTACHMENT_TYPES = frozenset({"application/pdf"})
_MARKUP = re.compile(r"html|xml|svg", re.IGNORECASE)
_RANGE = re.compile(r"bytes=[ \t]*([0-9]{0,20})-([0-9]{0,20})[ \t]*")
_TAGS = re.compile(r'(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"')
_PLAIN_NAME = re.compile(r"[^A-Za-z0-9._ ()\[\]+=@-]")
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\u202a-\u202e\u2066-\u2069]")


@dataclass(frozen=True, slots=True)
class ContentType:
    """A media type from our own list, and whether a browser may show it."""

    media_type: str
    shown: bool


def content_type(kind: Kind, mime: str) -> ContentType:
    """Choose the type by the detected content, never by the name alone."""
    if mime in INLINE_TYPES:
        return ContentType(mime, True)
    if mime in ATTACHMENT_TYPES:
        return ContentType(mime, False)
    if (kind is Kind.TEXT or mime in STRUCTURED_TEXTS) and not _MARKUP.search(mime):
        return ContentType(PLAIN, True)
    return ContentType(OPAQUE, False)


def disposition(name: str, shown: bool) -> str:
    """Return a Content-Disposition that can carry any name and nothing else."""
    clean = _CONTROLS.sub("_", name.replace("/", "_").replace("\\", "_")) or "file"
    plain = _PLAIN_NAME.sub("_", clean)
    mode = "inline" if shown else "attachment"
    return f"{mode}; filename=\"{plain}\"; filename*=UTF-8''{quote(clean, safe='')}"


@dataclass(frozen=True, slots=True)
class Part:
    """Some bytes of a file: `length` bytes from `first` on."""

    first: int
    length: int


class NoSuchPart(Exception):
    """The file ends before that part."""


def parse_range(header: str | None, size: int) -> Part | None:
    """Return the part a Range header asks for; None for the whole file, for several parts, or for unknown syntax."""
    match = _RANGE.fullmatch(header.strip()) if header and len(header) < 100 else None
    if match is None or match[0].endswith("=-"):
        return None
    first, last = match[1], match[2]
    if not first and not last:
        return None
    if not first:  # the last bytes of the file
        length = min(int(last), size)
        if not length:
            raise NoSuchPart
        return Part(size - length, length)
    if last and int(last) < int(first):
        return None
    if int(first) >= size:
        raise NoSuchPart
    return Part(int(first), min(int(last) if last else size - 1, size - 1) - int(first) + 1)


def matches_etag(header: str | None, tag: str) -> bool:
    """Whether an If-None-Match header names the current version."""
    if not header:
        return False
    return header.strip() == "*" or _without_weakness(tag) in map(_without_weakness, _TAGS.findall(header))


def matches_if_range(header: str | None, tag: str, modified: str) -> bool:
    """Whether an If-Range header is missing or names exactly the current version: only then is a part useful."""
    if header is None:
        return True
    return header.strip() in (tag, modified) and not tag.startswith("W/")


def _without_weakness(tag: str) -> str:
    return tag.removeprefix("W/")
