"""Convert office documents: text, tables, slides and books, each with the library that keeps most of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

from chyme.documents.conversion import open_document, word_markup, workbooks
from chyme.documents.conversion.books import drop_inner_links, rewritten_pages
from chyme.documents.conversion.comments_and_charts import (
    charts_in,
    format_numbers,
    word_comments,
)
from chyme.documents.conversion.embedded_pictures import PictureReader
from chyme.documents.conversion.equations import spell_equations
from chyme.documents.conversion.markdown_fixes import has_labels, mark_boxes, mark_numbers, mark_pictures
from chyme.documents.conversion.odp_slides import read_odp_slides
from chyme.documents.conversion.ole_encryption import is_encrypted_ole
from chyme.documents.conversion.package_rewriting import rewrite
from chyme.documents.conversion.picture_marks import PictureMarks
from chyme.documents.conversion.results import (
    ConversionLimits,
    ConversionResult,
    broken_file_error,
    build_unpaged_result,
    encrypted_file_error,
    join_pages,
    places_in,
)
from chyme.documents.conversion.rtf_markup import remarks_in, rewrite_rtf
from chyme.documents.conversion.slides import read_slides
from chyme.documents.conversion.xberg import read_with_xberg
from chyme.documents.conversion.zip_packages import Package, open_package
from chyme.errors import LimitReached, UnreadableFile
from chyme.files.container_formats import OLE_MARK
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


def convert_office(
    name: str, data: bytes, mime: str, limits: ConversionLimits, pictures: PictureReader | None = None
) -> ConversionResult:
    """The text of an office document, with its comments and notes; `pictures` reads what is written in its pictures."""
    document_format, what = _format_of(mime)
    if data.startswith(OLE_MARK):
        if is_encrypted_ole(data):
            raise encrypted_file_error(name, what)
        return _first_readable(name, what, data, mime, document_format)
    if document_format in ("doc", "ppt", "rtf") and not data.startswith(b"PK"):
        if not data.startswith(b"{\\rtf"):
            return _first_readable(name, what, data, mime, document_format)
        return _append_blocks(_first_readable(name, what, rewrite_rtf(data), mime, document_format), remarks_in(data))
    package = open_package(name, what, data, limits, doctypes=document_format in ("odt", "ods", "odp", "epub"))
    marks = PictureMarks(package, pictures) if pictures is not None else None
    if document_format == "pptx":
        result = _convert_slides(name, what, data, mime, package, pictures)
    elif document_format == "xlsx":
        result = _convert_tables(name, what, data, mime, package, pictures)
    elif document_format == "docx":
        result = _convert_word(name, what, data, mime, package, marks)
    elif document_format == "odt":
        result = _convert_open_text(name, what, data, mime, package, marks)
    elif document_format == "ods":
        result = _convert_open_tables(name, what, data, mime, package, marks)
    elif document_format == "odp":
        result = _convert_open_slides(name, what, data, mime, package, pictures)
    else:
        result = _convert_book(name, what, data, mime, package, marks)
    result = _append_blocks(result, charts_in(package, result.markdown))
    return replace(result, notes=(*result.notes, *pictures.notes())) if pictures is not None else result


def _format_of(mime: str) -> tuple[Format, str]:
    if mime in _NAMES:
        return _NAMES[mime]
    for part, document_format, what in _FAMILIES:
        if part in mime:
            return document_format, what
    return "docx", "document"


def _unchanged(markdown: str) -> str:
    return markdown


def _first_readable(
    name: str,
    what: str,
    data: bytes,
    mime: str,
    document_format: Format,
    package: Package | None = None,
    finish: Callable[[str], str] = _unchanged,
) -> ConversionResult:
    """Convert with anydoc; with xberg if anydoc cannot read it or finds nothing. `finish` completes the markdown."""
    refusal: UnreadableFile | None = None
    try:
        markdown = clean(_convert_with_anydoc(name, what, data, document_format))
        if markdown.strip():
            return build_unpaged_result(finish(_fix_markdown(markdown, data, document_format, package)))
    except UnreadableFile as error:
        from anydoc import EncryptedError

        refusal = error
        if isinstance(error.__cause__, EncryptedError):
            raise
    try:
        result = read_with_xberg(name, what, data, mime)
    except UnreadableFile as error:
        if refusal is None:
            return build_unpaged_result(finish(""))
        raise refusal from error
    finished = finish(result.markdown)
    return result if finished == result.markdown else build_unpaged_result(finished)


def _fix_markdown(markdown: str, data: bytes, document_format: Format, package: Package | None) -> str:
    """The text of a written document in proper markdown syntax; tables and slides do not need it."""
    if document_format not in ("doc", "docx", "odt", "rtf", "epub"):
        return markdown
    fixed = format_numbers(mark_boxes(spell_equations(drop_inner_links(markdown))))
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


def _convert_word(
    name: str, what: str, data: bytes, mime: str, package: Package, marks: PictureMarks | None
) -> ConversionResult:
    """anydoc reads Word documents best, once what it drops is written as plain text."""
    parts = word_markup.rewritten_parts(package, marks)
    result = _first_readable(
        name, what, rewrite(package, parts) if parts else data, mime, "docx", package, _finisher(marks)
    )
    remarks = [*word_comments(package), *word_markup.deletions(package)]
    return _append_blocks(result, [*remarks, *word_markup.headers_and_footers(package, result.markdown)])


def _finisher(marks: PictureMarks | None) -> Callable[[str], str]:
    return marks.fill_in if marks is not None else _unchanged


def _convert_book(
    name: str, what: str, data: bytes, mime: str, package: Package, marks: PictureMarks | None
) -> ConversionResult:
    pages = rewritten_pages(package, marks)
    book = rewrite(package, pages) if pages else data
    return _first_readable(name, what, book, mime, "epub", package, _finisher(marks))


def _convert_open_text(
    name: str, what: str, data: bytes, mime: str, package: Package, marks: PictureMarks | None
) -> ConversionResult:
    source = open_document.content_of(package)
    changed = open_document.rewrite_content(source, marks)
    result = _first_readable(
        name, what, _with_content(package, data, source, changed), mime, "odt", package, _finisher(marks)
    )
    remarks = [*open_document.comments_in(source), *open_document.deletions(source)]
    return _append_blocks(result, [*remarks, *open_document.headers_and_footers(package, result.markdown)])


def _with_content(package: Package, data: bytes, source: str, changed: str) -> bytes:
    if changed == source:
        return data
    return rewrite(package, {open_document.CONTENT: changed.encode("utf-8", "surrogateescape")})


def _convert_open_tables(
    name: str, what: str, data: bytes, mime: str, package: Package, marks: PictureMarks | None
) -> ConversionResult:
    source = open_document.content_of(package)
    changed = open_document.name_hidden_sheets(open_document.rewrite_content(source, marks))
    sheets, blocks = open_document.sheets_of(source)
    fill_in = _finisher(marks)

    def finish(markdown: str) -> str:
        return workbooks.drop_empty_rows(fill_in(workbooks.place_in_sheets(markdown, sheets, blocks)))

    return _first_readable(name, what, _with_content(package, data, source, changed), mime, "ods", package, finish)


def _convert_open_slides(
    name: str, what: str, data: bytes, mime: str, package: Package, pictures: PictureReader | None
) -> ConversionResult:
    source = open_document.content_of(package)
    slides = read_odp_slides(package, open_document.rewrite_content(source, None), pictures)
    if not any(text for _, text in slides):
        return _first_readable(name, what, data, mime, "odp", package)
    return _append_blocks(join_pages(slides), open_document.comments_in(source))


def _convert_slides(
    name: str, what: str, data: bytes, mime: str, package: Package, pictures: PictureReader | None
) -> ConversionResult:
    """Slides, each with its notes; a converter is asked only if the package has an unusual structure."""
    slides = read_slides(package, pictures)
    if any(text for _, text in slides):
        return join_pages(slides)
    try:
        result = read_with_xberg(name, what, data, mime)
    except UnreadableFile:
        result = build_unpaged_result("")
    return result if result.markdown or slides else _first_readable(name, what, data, mime, "pptx")


def _convert_tables(
    name: str, what: str, data: bytes, mime: str, package: Package, pictures: PictureReader | None
) -> ConversionResult:
    """anydoc shows numbers as their program does, but leaves out what is hidden and what is no cell."""
    sheets = workbooks.sheets_of(package)
    parts = workbooks.rewritten_parts(package, sheets)
    blocks = [workbooks.beside_the_cells(package, sheet, pictures) for sheet in sheets]

    def finish(markdown: str) -> str:
        return workbooks.drop_empty_rows(workbooks.place_in_sheets(markdown, sheets, blocks))

    return _first_readable(name, what, rewrite(package, parts) if parts else data, mime, "xlsx", package, finish)


def _append_blocks(result: ConversionResult, blocks: list[str]) -> ConversionResult:
    """The document with additional text at its end, which belongs to no page."""
    if not blocks:
        return result
    text = "\n\n".join(filter(None, [result.markdown, *blocks]))
    return ConversionResult(text, result.places or places_in(text), result.notes)
