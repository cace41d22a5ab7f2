"""The text of one file in an archive, read by the converter of its kind."""

from __future__ import annotations

from dataclasses import replace

from chyme.documents.conversion.archives.members import Member, OutOfReach
from chyme.documents.conversion.code_blocks import close_code, fence_code
from chyme.documents.conversion.results import MB, ConversionLimits, ConversionResult, cut_long_runs
from chyme.errors import DigestError, LimitReached, UnreadableFile
from chyme.files.container_formats import OLE_MARK
from chyme.files.extensions import ARCHIVES, ZIP, kind_by_extension
from chyme.files.kind_detection import HEAD_BYTES, identify
from chyme.model import Kind
from chyme.text.decoding import decode

MEMBER_BYTES = 64 * MB
_READ_AS_WRITTEN = frozenset(
    {"text/plain", "text/markdown", "text/x-rst", "text/org", "text/asciidoc", "text/uri-list"}
)
_READABLE = (Kind.DOCUMENT, Kind.TEXT, Kind.URL)
_SYSTEM_FILES = ("__MACOSX/", ".git/", "node_modules/")


def is_worth_unpacking(path: str) -> bool:
    """Whether a file can have text, by its name alone: pictures, recordings and what systems leave behind have none."""
    claimed = kind_by_extension(path)
    if claimed and claimed[0] not in _READABLE:
        return False
    return not any(path.startswith(part) or f"/{part}" in path for part in _SYSTEM_FILES)


def read_member(member: Member, room: int, chars: int, limits: ConversionLimits) -> ConversionResult | None:
    """The text of a member, or None if it has none.

    Raises the error of its converter, DamagedArchive, OutOfReach, or UnreadableFile.
    """
    assert member.read is not None
    name = member.path.rpartition("/")[2]
    head = member.read(HEAD_BYTES)
    kind, mime = identify(name, head, len(head), lambda at, length: head[at : at + length])
    if kind in (Kind.TEXT, Kind.URL):
        data = head + member.read(min(room, 4 * chars) - len(head))
        truncated = len(data) > HEAD_BYTES and bool(member.read(1))
        return _plain_text(data, mime, chars, truncated)
    if mime in ARCHIVES - {ZIP} or (kind is not Kind.DOCUMENT and not head.startswith(OLE_MARK)):
        return None  # an archive in an archive is only listed
    data = head + (member.read(room + 1 - len(head)) if (member.size or 0) <= room else b"")
    if len(data) > room or (member.size or 0) > room:
        if room < MEMBER_BYTES:
            raise OutOfReach
        raise LimitReached(f"{name}: larger than {MEMBER_BYTES // MB:,} MB")
    kind, mime = identify(name, data[:HEAD_BYTES], len(data), lambda at, length: data[at : at + length])
    if not data or kind is not Kind.DOCUMENT or mime in ARCHIVES:
        return None
    return _convert(name, data, mime, replace(limits, text_chars=chars))


def _convert(name: str, data: bytes, mime: str, limits: ConversionLimits) -> ConversionResult:
    from chyme.documents.conversion.converter import convert

    try:
        return convert(name, data, mime, limits)
    except (DigestError, MemoryError):
        raise
    except Exception as error:  # foreign data can fail in any way; the other files can be read all the same
        raise UnreadableFile(f"{name}: cannot be read ({type(error).__name__})") from error


def _plain_text(data: bytes, mime: str, chars: int, truncated: bool) -> ConversionResult | None:
    """Prose as it is; code and data in a fence, so that none of it looks like a heading."""
    text, notes = cut_long_runs(decode(data, len(data)).text.strip()[: chars + 1])
    if not text:
        return None
    if truncated or len(text) > chars:
        text, notes = text[:chars], (*notes, f"only the first {min(len(text), chars):,} characters are kept")
    text = close_code(text) if mime in _READ_AS_WRITTEN else fence_code(text)
    return ConversionResult(text, notes=notes)
