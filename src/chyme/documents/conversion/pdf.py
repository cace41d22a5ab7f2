"""Convert PDF files: layout from liteparse, checked page by page against the characters that PDFium finds."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, BinaryIO

from chyme.documents.conversion.arabic_ligatures import mend_arabic
from chyme.documents.conversion.hollow_bullets import mark_hollow_bullets
from chyme.documents.conversion.pdf_annotations import open_forms, read_annotations
from chyme.documents.conversion.pdf_pictures import PagePicture, read_pictures
from chyme.documents.conversion.raised_digits import RaisedDigits, find_raised_digits, mark_raised_digits
from chyme.documents.conversion.results import (
    ConversionLimits,
    ConversionResult,
    broken_file_error,
    encrypted_file_error,
    join_pages,
)
from chyme.documents.conversion.running_heads import EdgeLine, edge_lines, find_repeated, remove_lines
from chyme.documents.conversion.scan_rendering import has_covering_image
from chyme.documents.conversion.scanned_pages import ScanReader, read_scanned
from chyme.documents.conversion.two_readings import join_readings
from chyme.model import Place
from chyme.text.decoding import clean

if TYPE_CHECKING:
    import pypdfium2  # type: ignore[import-untyped]

    from chyme.documents.conversion.embedded_pictures import PictureReader

BATCH = 50
STAMP_LETTERS = 20  # scanners and archives print that much on a page that is otherwise a picture
_LETTER = re.compile(r"\w")
_EMPTY_CODE = re.compile(r"^```\w*\s*^```\s*$", re.MULTILINE)  # liteparse's result for a page without text
_HYPHEN = re.compile("[\ufffe\x02\u00ad]\\s*")  # what PDFium leaves where a line breaks inside a word


@dataclass(slots=True)
class _PlainPage:
    """What PDFium finds on a page."""

    text: str = ""
    raised: list[RaisedDigits] = field(default_factory=list)
    annotations: list[str] = field(default_factory=list)  # lines of markdown
    is_picture: bool = False  # to be read from its picture


@dataclass(slots=True)
class _LaidOut:
    """What liteparse finds: markdown by page, and the lines at the edges of pages that repeat."""

    pages: dict[int, str] = field(default_factory=dict)
    repeated: dict[int, list[str]] = field(default_factory=dict)


def convert_pdf(
    name: str,
    data: bytes,
    limits: ConversionLimits,
    progress: Callable[[float], None],
    scans: ScanReader | None,
    pictures: PictureReader | None = None,
) -> ConversionResult:
    """The text of a PDF, page by page. `scans` reads pages without a text layer; the notes name them.

    `pictures` reads what is written in pictures on the other pages.
    """
    document = open_pdf(name, data)
    try:
        total = len(document)
        count = min(total, limits.pdf_pages)
        plain = _plain_pages(document, count, lambda part: progress(0.2 * part))
        scans_wanted = {number for number, page in plain.items() if page.is_picture}
        share = 0.6 if scans_wanted and scans else 0.0  # of the progress
        # Before the layout reader, which reserves a gigabyte of address space from its first page on.
        embedded = {}
        if pictures:
            others = plain.keys() - scans_wanted
            embedded = read_pictures(document, data, others, pictures, limits.embedded_seconds)
        scanned = read_scanned(
            document, scans_wanted, limits.ocr_pages, scans, lambda part: progress(0.2 + share * part)
        )
    finally:
        document.close()
    laid_out = _LaidOut()
    if any(page.text.strip() for page in plain.values()):
        layout_start = 0.2 + share
        laid_out = _lay_out(data, count, lambda part: progress(layout_start + (1 - layout_start) * part))
    pages = {number: _page_markdown(page, number, laid_out) for number, page in plain.items()}
    lines: dict[int, Sequence[Place]] = {}
    for number, scan in scanned.read.items():
        if scan.text and len(_LETTER.findall(scan.text)) >= len(_LETTER.findall(pages[number])):
            pages[number], lines[number] = scan.text, scan.lines
    read = set(lines)
    for number, page in plain.items():
        pages[number], boxes = _add_parts(pages[number], page.annotations, embedded.get(number, ()))
        lines[number] = (*lines.get(number, ()), *boxes)
    limit_note = [f"first {count:,} of {total:,} pages read (limit pdf_pages)"] if total > count else []
    notes = [*limit_note, *scanned.notes(read), *(pictures.notes() if pictures else ())]
    result = join_pages(list(pages.items()), notes, lines)
    return replace(result, has_unreadable_text=scanned.unread_note is not None)


def _page_markdown(page: _PlainPage, number: int, laid_out: _LaidOut) -> str:
    text = join_readings(laid_out.pages.get(number, ""), page.text)
    text = remove_lines(text, laid_out.repeated.get(number, ()))
    return mark_hollow_bullets(mark_raised_digits(text, page.raised))


def _add_parts(text: str, annotations: Sequence[str], pictures: Sequence[PagePicture]) -> tuple[str, list[Place]]:
    """A page's text with what is on it besides, and the places of its pictures."""
    parts = [part for part in (text.rstrip(), "\n".join(annotations)) if part]
    markdown = "\n\n".join(parts)
    places: list[Place] = []
    for picture in pictures:
        markdown += f"\n\n{picture.markdown}" if markdown else picture.markdown
        if picture.box:
            places.append(Place(len(markdown) - len(picture.markdown), len(markdown), box=picture.box))
    return markdown, places


def open_pdf(name: str, data: bytes | BinaryIO) -> pypdfium2.PdfDocument:
    """Open a PDF; UnreadableFile if it is broken or locked."""
    import pypdfium2
    from pypdfium2.raw import FPDF_ERR_PASSWORD, FPDF_ERR_SECURITY  # type: ignore[import-untyped]

    try:
        return pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        if getattr(error, "err_code", None) in (FPDF_ERR_PASSWORD, FPDF_ERR_SECURITY):
            raise encrypted_file_error(name, "PDF") from error
        raise broken_file_error(name, "PDF") from error


def _plain_pages(
    document: pypdfium2.PdfDocument, count: int, progress: Callable[[float], None]
) -> dict[int, _PlainPage]:
    """What PDFium finds on every page."""
    import pypdfium2

    forms = document if open_forms(document) else None
    pages: dict[int, _PlainPage] = {}
    for number in range(1, count + 1):
        pages[number] = found = _PlainPage()
        try:
            page = document[number - 1]
            textpage = page.get_textpage()
            written = textpage.get_text_range()
            found.text = clean(_HYPHEN.sub("", mend_arabic(textpage, written)))
            letters = len(_LETTER.findall(found.text))
            has_objects = letters == 0 and next(iter(page.get_objects(max_depth=1)), None)
            found.is_picture = bool(has_objects) or (letters < STAMP_LETTERS and has_covering_image(page))
            found.raised = find_raised_digits(textpage, written)
            found.annotations = read_annotations(page, textpage, found.text, forms)
            textpage.close()
            page.close()
        except pypdfium2.PdfiumError:
            found.is_picture = True
        if number % BATCH == 0:
            progress(number / count)
    return pages


def _lay_out(data: bytes, count: int, progress: Callable[[float], None]) -> _LaidOut:
    """Markdown by page, as far as liteparse gets; PDFium's text is used for the rest."""
    result = _LaidOut()
    start = data.find(b"%PDF-", 0, 1024)
    if start < 0:
        return result  # given anything else, liteparse would look for a converter to start
    from liteparse import LiteParse, ParseError

    parser = LiteParse(
        ocr_enabled=False,
        output_format="markdown",
        max_pages=count,
        image_mode="off",
        extract_links=False,
        keep_headers_footers=True,
        continue_on_page_error=True,
        num_workers=1,
        quiet=True,
    )
    edges: dict[int, list[EdgeLine]] = {}
    heights: Counter[int] = Counter()
    try:
        for batch in parser.parse_batches(data[start:] if start else data, BATCH):
            for page in batch.result.pages:
                result.pages[page.page_num] = clean(_EMPTY_CODE.sub("", page.markdown))
                heights.update(round(item.height) for item in page.text_items)
                pieces = ((item.text, item.x, item.y, item.height) for item in page.text_items)
                edges[page.page_num] = edge_lines(pieces, page.height)
            progress(min(1.0, batch.end_page / max(1, count)))
    except ParseError:
        pass
    usual_height = heights.most_common(1)[0][0] if heights else 0
    result.repeated = find_repeated(edges, max(usual_height, 8))
    return result
