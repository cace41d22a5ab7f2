"""The text of one file in an archive, read by the converter of its kind."""

from __future__ import annotations

from dataclasses import replace

from chyme.documents.conversion.archives.members import DamagedArchive, Member, UnpackLimit
from chyme.documents.conversion.results import MB, ConversionLimits, ConversionResult, cut_long_runs, truncate
from chyme.errors import DigestError, UnreadableFile
from chyme.files.container_formats import OLE_MARK
from chyme.files.extensions import ARCHIVES, kind_by_extension
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


def read_member(member: Member, room: int, chars: int, limits: ConversionLimits) -> tuple[ConversionResult | None, int]:
    """The text of a member, or None if it has none; and how many bytes were unpacked.

    Raises the error of its converter, DamagedArchive, or UnreadableFile.
    """
    assert member.read is not None
    name = member.path.rpartition("/")[2]
    head = member.read(HEAD_BYTES)
    kind, _ = identify(name, head, len(head), lambda at, length: head[at : at + length])
    if kind not in _READABLE and not head.startswith(OLE_MARK):
        return None, len(head)
    data = head + member.read(room + 1 - len(head))
    if len(data) > room:
        return None, len(data)  # it is larger than it claims
    kind, mime = identify(name, data[:HEAD_BYTES], len(data), lambda at, length: data[at : at + length])
    if not data or kind not in _READABLE or mime in ARCHIVES:
        return None, len(data)  # an archive in an archive is only listed
    result = _convert(name, data, kind, mime, replace(limits, text_chars=chars))
    return (result if result.markdown else None), len(data)


def _convert(name: str, data: bytes, kind: Kind, mime: str, limits: ConversionLimits) -> ConversionResult:
    if kind is not Kind.DOCUMENT:
        return truncate(_plain_text(data, mime), limits.text_chars)
    from chyme.documents.conversion.converter import convert

    try:
        return convert(name, data, mime, limits)
    except (DigestError, MemoryError, DamagedArchive, UnpackLimit):
        raise
    except Exception as error:  # foreign data can fail in any way; the other files can be read all the same
        raise UnreadableFile(f"{name}: cannot be read ({type(error).__name__})") from error


def _plain_text(data: bytes, mime: str) -> ConversionResult:
    """Prose as it is; code and data in a fence, so that none of it looks like a heading."""
    text, notes = cut_long_runs(decode(data, len(data)).text.strip())
    if text and mime not in _READ_AS_WRITTEN:
        fence = "~~~" if "```" in text else "```"
        text = f"{fence}\n{text}\n{fence}"
    return ConversionResult(text, notes=notes)
