"""Read office documents: word processing, tables, slides and books, each by the reader that keeps most of it."""

from __future__ import annotations

import re
from typing import Literal

from chyme.documents.conversion.charts import charts_in, format_numbers
from chyme.documents.conversion.comments import sheet_comments, slide_comments, slides_of, word_comments
from chyme.documents.conversion.markdown_fixes import has_labels, mark_boxes, mark_numbers, mark_pictures
from chyme.documents.conversion.results import (
    ConversionLimits,
    ConversionResult,
    broken_file_error,
    build_unpaged_result,
    count_words,
    encrypted_file_error,
    join_pages,
    places_in,
)
from chyme.documents.conversion.xberg import read_with_xberg
from chyme.documents.conversion.zip_packages import Package, open_package
from chyme.errors import LimitReached, UnreadableFile
from chyme.files.container_formats import OLE_MARK, ole_names
from chyme.files.extensions import DOC, EPUB, ODP, ODS, ODT, PPT, RTF, XLS
from chyme.text.decoding import clean

Format = Literal["doc", "docx", "odt", "ppt", "pptx", "rtf", "epub", "xlsx", "ods", "odp", "csv"]

_NAMES: dict[str, tuple[Format, str]] = {
    DOC: ("doc", "Word document"),
    XLS: ("xlsx", "Excel workbook"),
    PPT: ("ppt", "PowerPoint presentation"),
    RTF: ("rtf", "RTF document"),
    EPUB: ("epub", "EPUB book"),
}
_FAMILIES: tuple[tuple[str, Format, str], ...] = (
    ("word", "docx", "Word document"),
    ("excel", "xlsx", "Excel workbook"),
    ("spreadsheetml", "xlsx", "Excel workbook"),
    ("powerpoint", "pptx", "PowerPoint presentation"),
    ("presentationml", "pptx", "PowerPoint presentation"),
    (ODT, "odt", "OpenDocument text"),
    (ODS, "ods", "OpenDocument spreadsheet"),
    (ODP, "odp", "OpenDocument presentation"),
)
_HIDDEN_ROW = re.compile(rb"<row\s[^>]*hidden=\"(?:1|true)\"")
_SHEET = re.compile(r"xl/worksheets/[^/]+\.xml")


def convert_office(name: str, data: bytes, mime: str, limits: ConversionLimits) -> ConversionResult:
    """The text of an office document, with what people wrote beside it."""
    form, what = _form_of(mime)
    if data.startswith(OLE_MARK):
        if "EncryptedPackage" in ole_names(data[:512], len(data), lambda at, length: data[at : at + length]):
            raise encrypted_file_error(name, what)
        return _first_readable(name, what, data, mime, form)
    if form in ("doc", "ppt", "rtf") and not data.startswith(b"PK"):
        return _first_readable(name, what, data, mime, form)
    package = open_package(name, what, data, limits, doctypes=form in ("odt", "ods", "odp", "epub"))
    if form == "pptx":
        found = _slides(name, what, data, mime, package)
    elif form == "xlsx":
        found = _with_blocks(_tables(name, what, data, mime, package), sheet_comments(package))
    else:
        found = _first_readable(name, what, data, mime, form, package)
    if form == "docx":
        found = _with_blocks(found, word_comments(package))
    return _with_blocks(found, charts_in(package, found.markdown))


def _form_of(mime: str) -> tuple[Format, str]:
    if mime in _NAMES:
        return _NAMES[mime]
    for part, form, what in _FAMILIES:
        if part in mime:
            return form, what
    return "docx", "document"


def _first_readable(
    name: str, what: str, data: bytes, mime: str, form: Format, package: Package | None = None
) -> ConversionResult:
    """By anydoc; by xberg when anydoc cannot read it or finds nothing."""
    refusal: UnreadableFile | None = None
    try:
        markdown = clean(_by_anydoc(name, what, data, form))
        if markdown.strip():
            return build_unpaged_result(_marked(markdown, data, form, package))
    except UnreadableFile as error:
        refusal = error
        if isinstance(error.__cause__, _final_refusals()):
            raise
    try:
        return read_with_xberg(name, what, data, mime)
    except UnreadableFile as error:
        if refusal is None:
            return build_unpaged_result("")
        raise refusal from error


def _marked(markdown: str, data: bytes, form: Format, package: Package | None) -> str:
    """The text of a written document in markdown's own marks; tables and slides have no use for them."""
    if form not in ("doc", "docx", "odt", "rtf", "epub"):
        return markdown
    marked = format_numbers(mark_boxes(markdown))
    if package is not None and form == "docx":
        marked = mark_pictures(marked, package)
    if has_labels(marked):
        import anydoc

        try:
            return mark_numbers(marked, anydoc.to_document(data, anydoc.format_from_bytes(data) or form))
        except anydoc.ConvertError:
            return marked  # it keeps all pictures in memory and so has one more limit to run into
    return marked


def _final_refusals() -> tuple[type[Exception], ...]:
    from anydoc import EncryptedError

    return (EncryptedError,)


def _by_anydoc(name: str, what: str, data: bytes, form: Format) -> str:
    import anydoc

    try:
        return anydoc.to_markdown_bytes(data, anydoc.format_from_bytes(data) or form)
    except anydoc.EncryptedError as error:
        raise encrypted_file_error(name, what) from error
    except anydoc.ResourceLimitError as error:
        raise LimitReached(
            f"{name}: {what} goes beyond a fixed safety limit of its reader ({error.limit}); split it to read it"
        ) from error
    except anydoc.MissingPartError as error:
        raise broken_file_error(name, what, f"{error.part} is missing") from error
    except anydoc.ConvertError as error:
        raise broken_file_error(name, what) from error


def _slides(name: str, what: str, data: bytes, mime: str, package: Package) -> ConversionResult:
    """xberg reads slides best; notes and comments follow the slide they belong to."""
    remarks = slide_comments(package)
    try:
        found = read_with_xberg(name, what, data, mime)
    except UnreadableFile:
        found = build_unpaged_result("")
    if not found.markdown:
        if not slides_of(package):
            return found
        return _with_blocks(
            _first_readable(name, what, data, mime, "pptx"), [line for lines in remarks.values() for line in lines]
        )
    texts: dict[int, str] = {}
    for place in found.places:
        number = place.page or 1
        texts[number] = texts.get(number, "") + found.markdown[place.start : place.end]
    for number, lines in remarks.items():
        texts[number] = texts.get(number, "").rstrip() + "\n\n" + "\n".join(lines)
    return join_pages(sorted(texts.items()))


def _tables(name: str, what: str, data: bytes, mime: str, package: Package) -> ConversionResult:
    """anydoc leaves out rows that a filter hides; then xberg may keep more."""
    found = _first_readable(name, what, data, mime, "xlsx")
    sheets = (part for part in package.names if _SHEET.fullmatch(part))
    if any(_HIDDEN_ROW.search(package.read(sheet) or b"") for sheet in sheets):
        try:
            other = read_with_xberg(name, what, data, mime)
        except UnreadableFile:
            return found
        return other if count_words(other.markdown) > count_words(found.markdown) else found
    return found


def _with_blocks(found: ConversionResult, blocks: list[str]) -> ConversionResult:
    """The document with more text at its end, which belongs to no page."""
    if not blocks:
        return found
    text = "\n\n".join(filter(None, [found.markdown, *blocks]))
    return ConversionResult(text, found.places or places_in(text), found.notes)
