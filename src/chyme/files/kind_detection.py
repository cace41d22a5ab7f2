"""Detects the kind of a file: by its content first, by its extension only where the content does not decide."""

from __future__ import annotations

import re

from chyme.files.container_formats import OLE_MARK, ReadAt, ole_names, stored_mimetype, zip_names
from chyme.files.extensions import (
    APK,
    DOC,
    DOCUMENTS,
    DOCX,
    EML,
    EPUB,
    HTML,
    JAR,
    LINKS,
    MSG,
    PDF,
    PPT,
    PPTX,
    RTF,
    TEXTS,
    VERBATIM_EXTENSIONS,
    WHEEL,
    XLS,
    XLSX,
    ZIP,
    extension_of,
    kind_by_extension,
)
from chyme.files.link_files import LINK_BYTES, link_in
from chyme.files.signatures import detect_by_signature
from chyme.files.text_formats import detect_text_format
from chyme.model import Kind
from chyme.text.decoding import encoding_of, encoding_with_controls, is_utf8

RULES_VERSION = 3  # raise it when texts or unknown files may now be of another kind: known files are looked at again
HEAD_BYTES = 8192
UNKNOWN = (Kind.OTHER, "application/octet-stream")

_CONTROL_BYTES = bytes(set(range(32)) - {8, 9, 10, 11, 12, 13, 27}) + b"\x7f"
_PROLOG = re.compile(
    r"\s*(?:<\?.*?\?>|<!--.*?-->|<!DOCTYPE\s+(?!html)[^>\[]*(?:\[.*?\])?\s*>)", re.DOTALL | re.IGNORECASE
)
_HTML_START = re.compile(r"\s*<(?:!doctype\s+html|html|head|body)[\s>]", re.IGNORECASE)
_SVG_START = re.compile(r"\s*<(?:svg|svg:svg)[\s>]")
_TAG = re.compile(r"<(?:/?[a-zA-Z][a-zA-Z0-9]*[\s>/]|!--|!doctype)", re.IGNORECASE)
_HEADER = re.compile(r"([A-Za-z][A-Za-z0-9-]*)[ \t]*:")
_MAIL_HEADERS = frozenset({"from", "to", "subject", "date"})
_MAIL_TRACES = frozenset({"message-id", "received", "mime-version", "return-path", "delivered-to"})
_OLE_MARKERS = (("WordDocument", DOC), ("Workbook", XLS), ("Book", XLS), ("PowerPoint Document", PPT))
_ZIP_MARKERS = (("word/", DOCX), ("xl/", XLSX), ("ppt/", PPTX))


def identify(name: str, head: bytes, size: int, read_at: ReadAt) -> tuple[Kind, str]:
    """Kind and MIME type. `head` is the beginning, ideally HEAD_BYTES of it; `read_at(offset, length)` reads more."""
    if size == 0:
        return kind_by_extension(name) or UNKNOWN
    if len(head) < min(size, HEAD_BYTES):
        head = read_at(0, min(size, HEAD_BYTES))
    if not head:
        return kind_by_extension(name) or UNKNOWN
    extension = extension_of(name)
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _identify_zip(extension, head, size, read_at)
    if head.startswith(OLE_MARK):
        return _identify_ole(extension, head, size, read_at)
    found = detect_by_signature(head, extension)
    if found:
        return found
    text = _as_text(head[:HEAD_BYTES], size, extension)
    if text is not None:
        return _identify_text(name, extension, text, head, size)
    if b"%PDF-" in head[:1024]:
        return Kind.DOCUMENT, PDF
    if extension == "webloc" and size <= LINK_BYTES and link_in(name, head):
        return Kind.URL, LINKS[extension]
    return _identify_unknown(name, head)


def _identify_zip(extension: str, head: bytes, size: int, read_at: ReadAt) -> tuple[Kind, str]:
    declared = stored_mimetype(head)
    if declared == EPUB:
        return Kind.DOCUMENT, EPUB
    if declared and declared.startswith("application/vnd.oasis.opendocument."):
        readable = declared in DOCUMENTS.values()
        return (Kind.DOCUMENT if readable else Kind.OTHER), declared
    names = zip_names(head, size, read_at)
    for prefix, mime in _ZIP_MARKERS:
        if any(entry.startswith(prefix) for entry in names):
            return Kind.DOCUMENT, _document_variant(extension, mime)
    if "META-INF/container.xml" in names:
        return Kind.DOCUMENT, EPUB
    claims_document = extension in DOCUMENTS
    if claims_document and ("[Content_Types].xml" in names or "content.xml" in names or not names):
        return Kind.DOCUMENT, DOCUMENTS[extension]
    return Kind.DOCUMENT, _archive_type(names)


def _archive_type(names: tuple[str, ...]) -> str:
    """The type of a zip file that is no document: a program's package, or a plain archive."""
    if "AndroidManifest.xml" in names:
        return APK
    if "META-INF/MANIFEST.MF" in names:
        return JAR
    return WHEEL if any(name.endswith(".dist-info/WHEEL") for name in names) else ZIP


def _identify_ole(extension: str, head: bytes, size: int, read_at: ReadAt) -> tuple[Kind, str]:
    names = ole_names(head, size, read_at)
    if "EncryptedPackage" in names:
        return Kind.DOCUMENT, DOCUMENTS.get(extension, DOCX)
    for marker, mime in _OLE_MARKERS:
        if marker in names:
            return Kind.DOCUMENT, mime
    if any(entry.startswith("__properties_version1") for entry in names):
        return Kind.DOCUMENT, MSG
    if extension in DOCUMENTS:
        return Kind.DOCUMENT, DOCUMENTS[extension]
    return Kind.OTHER, "application/x-ole-storage"


def _document_variant(extension: str, family: str) -> str:
    """The template or macro type that the extension names, if it belongs to the family found inside."""
    words = {DOCX: ("word",), XLSX: ("excel", "spreadsheet"), PPTX: ("powerpoint", "presentation")}[family]
    mime = DOCUMENTS.get(extension, family)
    return mime if any(word in mime for word in words) and mime not in (DOC, XLS, PPT) else family


def _as_text(head: bytes, size: int, extension: str) -> str | None:
    """The head as text, or None when it is binary."""
    marked = head.startswith((b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff"))
    controls = len(head) - len(head.translate(None, _CONTROL_BYTES))
    if not marked and controls:
        encoding = encoding_with_controls(head)
        if encoding:
            return head.decode(encoding, "replace").replace("\x85", "\n")
        stray = controls <= len(head) // 50 and (b"\x00" not in head or extension in TEXTS)
        if not (stray and is_utf8(head, cut=True)):
            return None
    if marked:
        encoding, mark = encoding_of(head, cut=True)
        return head[mark:].decode(encoding, "replace")
    # Any encoding that preserves ASCII will do for telling markup from prose.
    return head.removeprefix(b"\xef\xbb\xbf").decode("utf-8" if is_utf8(head, cut=False) else "latin-1")


def _identify_text(name: str, extension: str, text: str, head: bytes, size: int) -> tuple[Kind, str]:
    if size <= len(head) and link_in(name, head) and not (extension in ("", "txt") and _is_mail(text)):
        return Kind.URL, LINKS.get(extension, "text/uri-list")
    if text.lstrip().startswith("{\\rtf") or (extension == "rtf" and text.lstrip().startswith("{\\")):
        return Kind.DOCUMENT, RTF
    if extension not in VERBATIM_EXTENSIONS:
        structured = None if extension in DOCUMENTS else detect_text_format(extension, text)
        if structured:
            return Kind.DOCUMENT, structured
        markup = _identify_markup(extension, text)
        if markup:
            return markup
        if DOCUMENTS.get(extension) == EML or (extension in ("", "txt", "msg", "mail") and _is_mail(text)):
            return Kind.DOCUMENT, EML
    if extension == "pdf" and "%PDF-" in text[:1024]:
        return Kind.DOCUMENT, PDF
    mime = TEXTS.get(extension)
    if mime is None:
        mime = "application/xml" if text.lstrip().startswith("<?xml") else "text/plain"
    return Kind.TEXT, mime


def _identify_markup(extension: str, text: str) -> tuple[Kind, str] | None:
    claims_html = DOCUMENTS.get(extension) in (HTML, DOCUMENTS["xhtml"])
    if claims_html and _TAG.search(text):
        return Kind.DOCUMENT, DOCUMENTS[extension]
    if "<" not in text[:64] and not text[:64].isspace():
        return None
    position = 0
    while prolog := _PROLOG.match(text, position):
        position = prolog.end()
    if _SVG_START.match(text, position) or (extension == "svg" and "<svg" in text):
        return Kind.IMAGE, "image/svg+xml"
    if _HTML_START.match(text, position):
        return Kind.DOCUMENT, HTML
    return None


def _is_mail(text: str) -> bool:
    """Whether the text begins with the header of an e-mail, as a mail program writes it."""
    names: set[str] = set()
    for line in text.split("\n", 80)[:80]:
        if not line.strip():
            break
        if line[0] in " \t":
            continue
        header = _HEADER.match(line)
        if not header:
            return False
        names.add(header[1].lower())
    return len(names & _MAIL_HEADERS) >= 2 and bool(names & _MAIL_TRACES)


def _identify_unknown(name: str, head: bytes) -> tuple[Kind, str]:
    claimed = kind_by_extension(name)
    if claimed and claimed[0] is not Kind.TEXT:
        return claimed
    return _identify_by_puremagic(head) or UNKNOWN


def _identify_by_puremagic(head: bytes) -> tuple[Kind, str] | None:
    import puremagic

    try:
        matches = puremagic.magic_string(head[:2048])
    except (puremagic.PureError, ValueError):
        return None
    for match in matches:
        # Shorter signatures occur by chance.
        if len(match.byte_match) >= 6 and match.mime_type:
            family = match.mime_type.partition("/")[0]
            kind = {"image": Kind.IMAGE, "audio": Kind.AUDIO, "video": Kind.VIDEO}.get(family, Kind.OTHER)
            return kind, match.mime_type
    return None
