"""Choose how a document's first page is drawn: the document's own layout where it can be had, else its text."""

from __future__ import annotations

from collections.abc import Callable

from chyme.documents.conversion.converter import convert
from chyme.documents.conversion.results import MB, ConversionLimits
from chyme.documents.conversion.zip_packages import Package, open_package
from chyme.documents.libreoffice.installation import office_program
from chyme.documents.libreoffice.process import OfficeFailed, office
from chyme.documents.pages.counts import declared_page_count
from chyme.documents.pages.epub_cover import find_cover
from chyme.documents.pages.limits import PageLimits
from chyme.documents.pages.page_image import PageImage
from chyme.documents.pages.pdf_page import NoPage, render_first_pdf_page
from chyme.documents.pages.text_page import render_text_page
from chyme.errors import DigestError, LimitReached, UnreadableFile
from chyme.files.container_formats import OLE_MARK, ole_names
from chyme.files.extensions import DOCUMENTS, EPUB, PDF, RTF

_OFFICE = ("application/vnd.openxmlformats-officedocument.", "application/vnd.oasis.opendocument.",
           "application/vnd.ms-word", "application/vnd.ms-excel", "application/vnd.ms-powerpoint",
           "application/msword", RTF)  # fmt: skip
_EXTENSIONS = {mime: extension for extension, mime in reversed(DOCUMENTS.items())}  # the usual one of each type


def render_first_page(
    name: str,
    data: bytes,
    mime: str,
    limits: PageLimits,
    conversion: ConversionLimits,
    progress: Callable[[float], None] = lambda _: None,
) -> PageImage:
    """A picture of the document's first page, or an error that says what is wrong with the file."""
    if not data:
        raise UnreadableFile(f"{name}: file is empty (0 bytes); copy it here again from where it came")
    if len(data) > conversion.document_bytes:
        raise LimitReached(
            f"{name}: file is larger than {conversion.document_bytes // MB:,} MB; raise document_bytes to read it"
        )
    notes: list[str] = []
    pages: int | None = None
    package: Package | None
    if mime == PDF:
        try:
            image, pages, note = render_first_pdf_page(name, data, limits)
            return PageImage(image, "pdf", pages, note)
        except NoPage as error:
            pages = error.pages
            notes.append(f"no page could be drawn: {error}")
    elif mime == EPUB:
        package = _package(name, data, mime, conversion)
        front = find_cover(name, package, limits) if package else None
        if front is not None:
            return PageImage(front, "cover")
    elif mime.startswith(_OFFICE):
        package = _package(name, data, mime, conversion)
        if package or _is_known_form(data):
            found = _by_office(name, data, mime, limits, notes)
            if found is not None:
                return found
        pages = declared_page_count(package) if package else None
    progress(0.5)
    return _by_text(name, data, mime, limits, conversion, pages, notes)


def _package(name: str, data: bytes, mime: str, conversion: ConversionLimits) -> Package | None:
    """The document's package; None when it is none or must not be opened: `convert` then says why, in its words."""
    if not data.startswith(b"PK"):
        return None
    try:
        return open_package(name, "document", data, conversion, doctypes=mime == EPUB or "opendocument" in mime)
    except DigestError:
        return None


def _by_office(name: str, data: bytes, mime: str, limits: PageLimits, notes: list[str]) -> PageImage | None:
    """LibreOffice's first page; None when it is not here or does not manage, which the notes tell."""
    program = office_program(limits.office)
    if program is None:
        return None
    try:
        made = office(program, limits).convert_to_pdf(data, _EXTENSIONS.get(mime, "docx"))
        image, pages, note = render_first_pdf_page(name, made, limits)
    except OfficeFailed as error:
        notes.append(str(error))
        return None
    except (NoPage, UnreadableFile):
        notes.append("LibreOffice made a page that cannot be drawn")
        return None
    return PageImage(image, "libreoffice", pages, note)


def _is_known_form(data: bytes) -> bool:
    """Whether it begins like an old office document or RTF; LibreOffice would take anything else for plain text."""
    if data.startswith(OLE_MARK):
        return "EncryptedPackage" not in ole_names(data[:512], len(data), lambda at, length: data[at : at + length])
    return data[:64].lstrip(b"\xef\xbb\xbf\x00 \r\n\t").startswith(b"{\\rtf")


def _by_text(
    name: str,
    data: bytes,
    mime: str,
    limits: PageLimits,
    conversion: ConversionLimits,
    pages: int | None,
    notes: list[str],
) -> PageImage:
    found = convert(name, data, mime, conversion)
    image, missing = render_text_page(found.markdown, limits)
    told = [*notes, *([missing] if missing else [])]
    return PageImage(image, "text", pages, "; ".join(told) or None)
