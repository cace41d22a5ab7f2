"""Choose how to render a document's first page: in its own layout if possible, else as text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, BinaryIO, Literal

from chyme.documents.conversion.archives.reader import convert_archive
from chyme.documents.conversion.comments_and_charts import slides_of
from chyme.documents.conversion.converter import convert
from chyme.documents.conversion.ole_encryption import is_encrypted_ole
from chyme.documents.conversion.results import ConversionLimits, check_size
from chyme.documents.conversion.zip_packages import Package, open_package, tag_of
from chyme.documents.libreoffice.installation import office_program
from chyme.documents.libreoffice.process import OfficeFailed, office
from chyme.documents.pages.epub_cover import find_cover
from chyme.documents.pages.limits import PageLimits
from chyme.documents.pages.pdf_page import NoPage, render_first_pdf_page
from chyme.documents.pages.text_page import render_text_page
from chyme.errors import DigestError, UnreadableFile
from chyme.files.container_formats import OLE_MARK
from chyme.files.extensions import DOCUMENTS, EPUB, PDF, RTF, STRUCTURED_TEXTS

if TYPE_CHECKING:
    from PIL import Image

_OFFICE_TYPES = ("application/vnd.openxmlformats-officedocument.", "application/vnd.oasis.opendocument.",
           "application/vnd.ms-word", "application/vnd.ms-excel", "application/vnd.ms-powerpoint",
           "application/msword", RTF)  # fmt: skip
_EXTENSIONS = {mime: extension for extension, mime in reversed(DOCUMENTS.items())}  # the usual one of each type
RenderMethod = Literal["pdf", "libreoffice", "cover", "text"]
FIRST_CHARS = 20_000  # more than fits on a page, of texts that may be very long
MAX_PAGES = 1_000_000  # a larger number is nonsense


@dataclass(frozen=True, slots=True)
class PageImage:
    """A picture of the document, how it was made, and the document's number of pages, if known."""

    image: Image.Image
    rendered: RenderMethod
    pages: int | None = None
    note: str | None = None


def render_first_page(
    name: str,
    data: bytes,
    mime: str,
    limits: PageLimits,
    conversion: ConversionLimits,
    progress: Callable[[float], None] = lambda _: None,
) -> PageImage:
    """A picture of the document's first page, or an error that says what is wrong with the file."""
    check_size(name, data, conversion)
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
    if mime in STRUCTURED_TEXTS:
        conversion = replace(conversion, text_chars=min(conversion.text_chars, FIRST_CHARS))
    image, missing_fonts = render_text_page(convert(name, data, mime, conversion).markdown, limits)
    return PageImage(image, "text", pages, "; ".join(filter(None, [*notes, missing_fonts])) or None)


def render_archive_page(
    name: str, stream: BinaryIO, size: int, mime: str, limits: PageLimits, conversion: ConversionLimits
) -> PageImage:
    """A picture of the beginning of an archive's listing; its files are not unpacked."""
    listing = convert_archive(name, stream, size, mime, conversion, listing_only=True).markdown
    image, missing_fonts = render_text_page(listing[:FIRST_CHARS], limits)
    return PageImage(image, "text", None, missing_fonts)


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
        return not is_encrypted_ole(data)
    return data[:64].lstrip(b"\xef\xbb\xbf\x00 \r\n\t").startswith(b"{\\rtf")


def declared_page_count(package: Package) -> int | None:
    """The number of slides, else the number of pages that the program wrote into the document when saving."""
    slides = slides_of(package)
    if slides:
        return len(slides)
    return _openxml_count(package) or _opendocument_count(package)


def _openxml_count(package: Package) -> int | None:
    properties = package.tree("docProps/app.xml")
    if properties is None or not any(name.startswith("word/") for name in package.names):
        return None
    fields = {tag_of(element): element.text for element in properties}
    if fields.get("Words") == "0":
        return None  # left from the template of a program that counts nothing
    return _parse_count(fields.get("Pages"))


def _opendocument_count(package: Package) -> int | None:
    for element in package.elements("meta.xml"):
        if isinstance(element.tag, str) and element.tag.endswith("}document-statistic"):
            count = next((value for name, value in element.items() if name.endswith("}page-count")), None)
            return _parse_count(count)
    return None


def _parse_count(text: str | None) -> int | None:
    try:
        number = int(text or "")
    except ValueError:
        return None
    return number if 0 < number <= MAX_PAGES else None
