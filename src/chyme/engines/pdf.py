"""Read PDF files: layout from liteparse, checked page by page against the characters that PDFium sees."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from chyme.engines.converted import ConversionLimits, Converted, broken, encrypted, joined
from chyme.engines.text import clean

if TYPE_CHECKING:
    import pypdfium2  # type: ignore[import-untyped]

BATCH = 50
KEPT = 0.93  # of a page's characters; less means that the layout reader dropped a part of it
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_LETTER = re.compile(r"\w")
_EMPTY_CODE = re.compile(r"^```\w*\s*^```\s*$", re.MULTILINE)  # what liteparse makes of a page without text
_HYPHEN = re.compile("[\ufffe\x02\u00ad]\\s*")  # what PDFium leaves where a line broke inside a word


def convert_pdf(
    name: str, data: bytes, limits: ConversionLimits, progress: Callable[[float], None] = lambda _: None
) -> Converted:
    """The text of a PDF, page by page. Pages without a text layer are named in the notes."""
    document = _opened(name, data)
    try:
        total = len(document)
        count = min(total, limits.pdf_pages)
        plain, pictures = _plain_pages(document, count, progress)
    finally:
        document.close()
    laid_out = _laid_out_pages(data, count, progress)
    pages: list[tuple[int, str]] = []
    unread: list[int] = []
    for number in range(1, count + 1):
        text = _better(laid_out.get(number, ""), plain[number])
        pages.append((number, text))
        if not text.strip() and number in pictures:
            unread.append(number)
    return joined(pages, _notes(total, count, unread))


def _opened(name: str, data: bytes) -> pypdfium2.PdfDocument:
    import pypdfium2
    from pypdfium2.raw import FPDF_ERR_PASSWORD, FPDF_ERR_SECURITY  # type: ignore[import-untyped]

    try:
        return pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        if getattr(error, "err_code", None) in (FPDF_ERR_PASSWORD, FPDF_ERR_SECURITY):
            raise encrypted(name, "PDF") from error
        raise broken(name, "PDF") from error


def _plain_pages(
    document: pypdfium2.PdfDocument, count: int, progress: Callable[[float], None]
) -> tuple[dict[int, str], set[int]]:
    """The characters of every page, and which pages show something that is not text."""
    import pypdfium2
    from pypdfium2.raw import FPDF_PAGEOBJ_FORM, FPDF_PAGEOBJ_IMAGE, FPDF_PAGEOBJ_PATH

    texts: dict[int, str] = {}
    pictures: set[int] = set()
    for number in range(1, count + 1):
        texts[number] = ""
        try:
            page = document[number - 1]
            textpage = page.get_textpage()
            texts[number] = clean(_HYPHEN.sub("", textpage.get_text_range()))
            shown = (FPDF_PAGEOBJ_IMAGE, FPDF_PAGEOBJ_PATH, FPDF_PAGEOBJ_FORM)
            if not texts[number].strip() and next(iter(page.get_objects(filter=shown, max_depth=1)), None):
                pictures.add(number)
            textpage.close()
            page.close()
        except pypdfium2.PdfiumError:
            pictures.add(number)
        if number % BATCH == 0:
            progress(0.4 * number / count)
    return texts, pictures


def _laid_out_pages(data: bytes, count: int, progress: Callable[[float], None]) -> dict[int, str]:
    """Markdown by page, as far as liteparse comes; what it cannot read is left to PDFium's text."""
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
            progress(0.4 + 0.6 * min(1.0, batch.end_page / max(1, count)))
    except ParseError:
        return pages
    return pages


def _better(laid_out: str, plain: str) -> str:
    letters, kept = len(_LETTER.findall(plain)), len(_LETTER.findall(laid_out))
    if not kept or kept < KEPT * letters:
        return plain
    if len(_RIGHT_TO_LEFT.findall(plain)) > 0.3 * letters:
        return plain  # liteparse puts lines of right-to-left words in reverse
    return laid_out


def _notes(total: int, count: int, unread: list[int]) -> Iterable[str]:
    if total > count:
        yield f"first {count:,} of {total:,} pages read (limit pdf_pages)"
    if unread:
        one = len(unread) == 1
        yield f"{'page' if one else 'pages'} {ranges(unread)} {'has' if one else 'have'} no text layer"


def ranges(numbers: list[int]) -> str:
    """Rising numbers as people write them: 1–3, 7."""
    spans: list[list[int]] = []
    for number in numbers:
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return ", ".join(str(first) if first == last else f"{first}–{last}" for first, last in spans)
