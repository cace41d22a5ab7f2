"""Convert PDF files: layout from liteparse, checked page by page against the characters that PDFium finds."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, BinaryIO

from chyme.documents.conversion.results import (
    ConversionLimits,
    ConversionResult,
    broken_file_error,
    encrypted_file_error,
    join_pages,
)
from chyme.documents.conversion.scan_rendering import has_covering_image
from chyme.documents.conversion.scanned_pages import ScanReader, read_scanned
from chyme.model import Place
from chyme.text.decoding import clean

if TYPE_CHECKING:
    import pypdfium2  # type: ignore[import-untyped]

BATCH = 50
STAMP_LETTERS = 20  # scanners and archives print that much on a page that is otherwise a picture
MIN_KEPT = 0.93  # of a page's characters; with less, the layout reader dropped a part of it
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_LETTER = re.compile(r"\w")
_EMPTY_CODE = re.compile(r"^```\w*\s*^```\s*$", re.MULTILINE)  # liteparse's result for a page without text
_HYPHEN = re.compile("[\ufffe\x02\u00ad]\\s*")  # what PDFium leaves where a line breaks inside a word


def convert_pdf(
    name: str,
    data: bytes,
    limits: ConversionLimits,
    progress: Callable[[float], None],
    scans: ScanReader | None,
) -> ConversionResult:
    """The text of a PDF, page by page. `scans` reads pages without a text layer; the notes name them."""
    document = open_pdf(name, data)
    try:
        total = len(document)
        count = min(total, limits.pdf_pages)
        plain, pictures = _plain_pages(document, count, lambda part: progress(0.2 * part))
        share = 0.6 if pictures and scans else 0.0  # of the progress
        # Before the layout reader, which reserves a gigabyte of address space from its first page on.
        scanned = read_scanned(document, pictures, limits.ocr_pages, scans, lambda part: progress(0.2 + share * part))
    finally:
        document.close()
    laid_out: dict[int, str] = {}
    if any(text.strip() for text in plain.values()):
        layout_start = 0.2 + share
        laid_out = _laid_out_pages(data, count, lambda part: progress(layout_start + (1 - layout_start) * part))
    pages = {number: _choose_text(laid_out.get(number, ""), plain[number]) for number in range(1, count + 1)}
    lines: dict[int, Sequence[Place]] = {}
    for number, scan in scanned.read.items():
        if scan.text and len(_LETTER.findall(scan.text)) >= len(_LETTER.findall(pages[number])):
            pages[number], lines[number] = scan.text, scan.lines
    limit_note = [f"first {count:,} of {total:,} pages read (limit pdf_pages)"] if total > count else []
    result = join_pages(list(pages.items()), [*limit_note, *scanned.notes(lines)], lines)
    return replace(result, has_unreadable_text=scanned.unread_note is not None)


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
) -> tuple[dict[int, str], set[int]]:
    """The characters of every page, and the pages that must be read from their pictures."""
    import pypdfium2

    texts: dict[int, str] = {}
    pictures: set[int] = set()
    for number in range(1, count + 1):
        texts[number] = ""
        try:
            page = document[number - 1]
            textpage = page.get_textpage()
            texts[number] = clean(_HYPHEN.sub("", textpage.get_text_range()))
            letters = len(_LETTER.findall(texts[number]))
            has_objects = letters == 0 and next(iter(page.get_objects(max_depth=1)), None)
            if has_objects or (letters < STAMP_LETTERS and has_covering_image(page)):
                pictures.add(number)
            textpage.close()
            page.close()
        except pypdfium2.PdfiumError:
            pictures.add(number)
        if number % BATCH == 0:
            progress(number / count)
    return texts, pictures


def _laid_out_pages(data: bytes, count: int, progress: Callable[[float], None]) -> dict[int, str]:
    """Markdown by page, as far as liteparse gets; PDFium's text is used for the rest."""
    start = data.find(b"%PDF-", 0, 1024)
    if start < 0:
        return {}  # given anything else, liteparse would look for a converter to start
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
    pages: dict[int, str] = {}
    try:
        for batch in parser.parse_batches(data[start:] if start else data, BATCH):
            for page in batch.result.pages:
                pages[page.page_num] = clean(_EMPTY_CODE.sub("", page.markdown))
            progress(min(1.0, batch.end_page / max(1, count)))
    except ParseError:
        return pages
    return pages


def _choose_text(laid_out: str, plain: str) -> str:
    letters, laid_out_letters = len(_LETTER.findall(plain)), len(_LETTER.findall(laid_out))
    if not laid_out_letters or laid_out_letters < MIN_KEPT * letters:
        return plain
    if len(_RIGHT_TO_LEFT.findall(plain)) > 0.3 * letters:
        return plain  # liteparse reverses lines of right-to-left words
    return laid_out
