"""Convert office documents: text, tables, slides and books, each with the library that keeps most of it."""

from __future__ import annotations

import re
from typing import Literal

from chyme.documents.conversion.comments_and_charts import (
    charts_in,
    format_numbers,
    sheet_comments,
    slide_comments,
    slides_of,
    word_comments,
)
from chyme.documents.conversion.embedded_pictures import PictureReader
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


def convert_office(
    name: str, data: bytes, mime: str, limits: ConversionLimits, pictures: PictureReader | None = None
) -> ConversionResult:
    """The text of an office document, with its comments and notes; `pictures` reads what is written in its pictures."""
    document_format, what = _format_of(mime)
    if data.startswith(OLE_MARK):
        if "EncryptedPackage" in ole_names(data[:512], len(data), lambda at, length: data[at : at + length]):
            raise encrypted_file_error(name, what)
        return _first_readable(name, what, data, mime, document_format)
    if document_format in ("doc", "ppt", "rtf") and not data.startswith(b"PK"):
        return _first_readable(name, what, data, mime, document_format)
    package = open_package(name, what, data, limits, doctypes=document_format in ("odt", "ods", "odp", "epub"))
    if document_format == "pptx":
        result = _convert_slides(name, what, data, mime, package)
    elif document_format == "xlsx":
        result = _append_blocks(_convert_tables(name, what, data, mime, package), sheet_comments(package))
    else:
        result = _first_readable(name, what, data, mime, document_format, package)
    if document_format == "docx":
        result = _append_blocks(result, word_comments(package))
    return _append_blocks(result, charts_in(package, result.markdown))


def _format_of(mime: str) -> tuple[Format, str]:
    if mime in _NAMES:
        return _NAMES[mime]
    for part, document_format, what in _FAMILIES:
        if part in mime:
            return document_format, what
    return "docx", "document"


def _first_readable(
    name: str, what: str, data: bytes, mime: str, document_format: Format, package: Package | None = None
) -> ConversionResult:
    """Convert with anydoc; with xberg if anydoc cannot read it or finds nothing."""
    refusal: UnreadableFile | None = None
    try:
        markdown = clean(_convert_with_anydoc(name, what, data, document_format))
        if markdown.strip():
            return build_unpaged_result(_fix_markdown(markdown, data, document_format, package))
    except UnreadableFile as error:
        from anydoc import EncryptedError

        refusal = error
        if isinstance(error.__cause__, EncryptedError):
            raise
    try:
        return read_with_xberg(name, what, data, mime)
    except UnreadableFile as error:
        if refusal is None:
            return build_unpaged_result("")
        raise refusal from error


def _fix_markdown(markdown: str, data: bytes, document_format: Format, package: Package | None) -> str:
    """The text of a written document in proper markdown syntax; tables and slides do not need it."""
    if document_format not in ("doc", "docx", "odt", "rtf", "epub"):
        return markdown
    fixed = format_numbers(mark_boxes(markdown))
    if package is not None and document_format == "docx":
        fixed = mark_pictures(fixed, package)
    if has_labels(fixed):
        import anydoc

        try:
            return mark_numbers(fixed, anydoc.to_document(data, anydoc.format_from_bytes(data) or document_format))
        except anydoc.ConvertError:
            return fixed  # to_document holds all pictures in memory, so it has one more limit to exceed
    return fixed


def _convert_with_anydoc(name: str, what: str, data: bytes, document_format: Format) -> str:
    import anydoc

    try:
        return anydoc.to_markdown_bytes(data, anydoc.format_from_bytes(data) or document_format)
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


def _convert_slides(name: str, what: str, data: bytes, mime: str, package: Package) -> ConversionResult:
    """xberg reads slides best; notes and comments follow the slide they belong to."""
    comments = slide_comments(package)
    try:
        result = read_with_xberg(name, what, data, mime)
    except UnreadableFile:
        result = build_unpaged_result("")
    if not result.markdown:
        if not slides_of(package):
            return result
        return _append_blocks(
            _first_readable(name, what, data, mime, "pptx"), [line for lines in comments.values() for line in lines]
        )
    texts: dict[int, str] = {}
    for place in result.places:
        number = place.page or 1
        texts[number] = texts.get(number, "") + result.markdown[place.start : place.end]
    for number, lines in comments.items():
        texts[number] = texts.get(number, "").rstrip() + "\n\n" + "\n".join(lines)
    return join_pages(sorted(texts.items()))


def _convert_tables(name: str, what: str, data: bytes, mime: str, package: Package) -> ConversionResult:
    """anydoc leaves out rows hidden by a filter; then xberg may keep more."""
    result = _first_readable(name, what, data, mime, "xlsx")
    sheets = (part for part in package.names if _SHEET.fullmatch(part))
    if any(_HIDDEN_ROW.search(package.read(sheet) or b"") for sheet in sheets):
        try:
            by_xberg = read_with_xberg(name, what, data, mime)
        except UnreadableFile:
            return result
        return by_xberg if count_words(by_xberg.markdown) > count_words(result.markdown) else result
    return result


def _append_blocks(result: ConversionResult, blocks: list[str]) -> ConversionResult:
    """The document with additional text at its end, which belongs to no page."""
    if not blocks:
        return result
    text = "\n\n".join(filter(None, [result.markdown, *blocks]))
    return ConversionResult(text, result.places or places_in(text), result.notes)
