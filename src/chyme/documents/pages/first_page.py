"""Choose how to render a document's first page: in its own layout if possible, else as text."""

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

_OFFICE_TYPES = ("application/vnd.openxmlformats-officedocument.", "application/vnd.oasis.opendocument.",
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
        package = _open_package(name, data, mime, conversion)
        cover = find_cover(name, package, limits) if package else None
        if cover is not None:
            return PageImage(cover, "cover")
    elif mime.startswith(_OFFICE_TYPES):
        package = _open_package(name, data, mime, conversion)
        if package or _is_old_office_or_rtf(data):
            office_page = _render_with_office(name, data, mime, limits, notes)
            if office_page is not None:
                return office_page
        pages = declared_page_count(package) if package else None
    progress(0.5)
    return _render_as_text(name, data, mime, limits, conversion, pages, notes)


def _open_package(name: str, data: bytes, mime: str, conversion: ConversionLimits) -> Package | None:
    """The document's package; None if it has none or must not be opened: `convert` then reports the reason."""
    if not data.startswith(b"PK"):
        return None
    try:
        return open_package(name, "document", data, conversion, doctypes=mime == EPUB or "opendocument" in mime)
    except DigestError:
        return None


def _render_with_office(name: str, data: bytes, mime: str, limits: PageLimits, notes: list[str]) -> PageImage | None:
    """LibreOffice's first page; None if it is not installed or fails, which the notes then mention."""
    program = office_program(limits.office)
    if program is None:
        return None
    try:
        pdf = office(program, limits).convert_to_pdf(data, _EXTENSIONS.get(mime, "docx"))
        image, pages, note = render_first_pdf_page(name, pdf, limits)
    except OfficeFailed as error:
        notes.append(str(error))
        return None
    except (NoPage, UnreadableFile):
        notes.append("LibreOffice made a page that cannot be drawn")
        return None
    return PageImage(image, "libreoffice", pages, note)


def _is_old_office_or_rtf(data: bytes) -> bool:
    """Whether it begins like an old office document or RTF; LibreOffice would read anything else as plain text."""
    if data.startswith(OLE_MARK):
        return "EncryptedPackage" not in ole_names(data[:512], len(data), lambda at, length: data[at : at + length])
    return data[:64].lstrip(b"\xef\xbb\xbf\x00 \r\n\t").startswith(b"{\\rtf")


def _render_as_text(
    name: str,
    data: bytes,
    mime: str,
    limits: PageLimits,
    conversion: ConversionLimits,
    pages: int | None,
    notes: list[str],
) -> PageImage:
    result = convert(name, data, mime, conversion)
    image, missing_fonts = render_text_page(result.markdown, limits)
    all_notes = [*notes, *([missing_fonts] if missing_fonts else [])]
    return PageImage(image, "text", pages, "; ".join(all_notes) or None)
