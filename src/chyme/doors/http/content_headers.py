"""How a file of the vault is given to a browser: as what, shown or only saved, and which part of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote

from chyme.model import Kind

POLICY = "default-src 'none'; sandbox"  # nothing in it runs, loads or sends, whatever it turns out to be
OPAQUE = "application/octet-stream"
PLAIN = "text/plain; charset=utf-8"
# Browsers show these themselves and run nothing in them. Whatever else there is, now or later, is only saved.
INLINE_TYPES = frozenset({
    "image/jpeg", "image/png", "image/gif", "image/webp", "image/avif",
    "audio/mpeg", "audio/mp4", "audio/ogg", "audio/wav", "audio/flac", "audio/aac", "audio/webm",
    "video/mp4", "video/webm", "video/ogg", "video/quicktime", "video/x-matroska",
})  # fmt: skip
# Saved under its own type. Chromium runs the scripts of a PDF, and their dialogs, whatever the policy says: a sandbox
# does not reach its viewer. The page shows pages that a child has drawn instead.
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
    """By what chyme found the content to be, never by the name alone."""
    if mime in INLINE_TYPES:
        return ContentType(mime, True)
    if mime in ATTACHMENT_TYPES:
        return ContentType(mime, False)
    if kind is Kind.TEXT and not _MARKUP.search(mime):
        return ContentType(PLAIN, True)
    return ContentType(OPAQUE, False)


def disposition(name: str, shown: bool) -> str:
    """A Content-Disposition that carries any name there is and nothing else."""
    clean = _CONTROLS.sub("_", name.replace("/", "_").replace("\\", "_")) or "file"
    plain = _PLAIN_NAME.sub("_", clean)
    how = "inline" if shown else "attachment"
    return f"{how}; filename=\"{plain}\"; filename*=UTF-8''{quote(clean, safe='')}"


@dataclass(frozen=True, slots=True)
class Part:
    """Some bytes of a file: from `first`, so many."""

    first: int
    length: int


class NoSuchPart(Exception):
    """The file does not reach that far."""


def parse_range(header: str | None, size: int) -> Part | None:
    """The part a Range header asks for; None when it asks for all, for several parts, or in a way nobody knows."""
    found = _RANGE.fullmatch(header.strip()) if header and len(header) < 100 else None
    if found is None or found[0].endswith("=-"):
        return None
    first, last = found[1], found[2]
    if not first and not last:
        return None
    if not first:  # so many at the end
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
    """Whether an If-None-Match header names what we have."""
    if not header:
        return False
    return header.strip() == "*" or _opaque(tag) in map(_opaque, _TAGS.findall(header))


def matches_if_range(header: str | None, tag: str, modified: str) -> bool:
    """Whether an If-Range header, where there is one, names exactly what we have: only then is a part of any use."""
    if header is None:
        return True
    return header.strip() in (tag, modified) and not tag.startswith("W/")


def _opaque(tag: str) -> str:
    return tag.removeprefix("W/")
