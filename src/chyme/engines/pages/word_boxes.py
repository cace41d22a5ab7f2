"""Where on a page of a PDF the words of a question stand, by the text layer that PDFium reads."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from chyme.decide.boxes import mended
from chyme.decide.query import Term
from chyme.decide.snippet import find
from chyme.model import Box

if TYPE_CHECKING:
    import pypdfium2  # type: ignore[import-untyped]

CHARACTERS = 100_000  # of a page that are looked at
MOST = 300  # boxes of a page
_FINE = 1 << 24  # steps into which a side of the page is divided
_BROKEN = (0xFFFE, 0x02, 0xAD)  # what PDFium leaves where a line broke inside a word
_LINE_ENDS = (0x0A, 0x0D)


def word_boxes(document: pypdfium2.PdfDocument, number: int, terms: Sequence[Term]) -> list[Box]:
    """One box for each stretch of found words on a line, in parts of the page as it is drawn."""
    page = document[number - 1]
    try:
        textpage = page.get_textpage()
        try:
            characters = list(_characters(textpage))
            text = "".join(character for _, character in characters)
            spans = [(characters[start][0], characters[end - 1][0] + 1) for start, end in find(text, terms)]
            return list(_boxes(page, textpage, spans))
        finally:
            textpage.close()
    finally:
        page.close()


def _characters(textpage: pypdfium2.PdfTextPage) -> Iterator[tuple[int, str]]:
    """Each character with its index on the page. A word that is broken at the end of a line is put together."""
    from pypdfium2.raw import FPDFText_GetUnicode  # type: ignore[import-untyped]

    joining = False
    for index in range(min(textpage.count_chars(), CHARACTERS)):
        code = int(FPDFText_GetUnicode(textpage.raw, index))
        if code in _BROKEN:
            joining = True
        elif not (joining and code in _LINE_ENDS):
            joining = False
            known = 0 < code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF
            yield index, chr(code) if known else " "


def _boxes(page: pypdfium2.PdfPage, textpage: pypdfium2.PdfTextPage, spans: Iterable[tuple[int, int]]) -> Iterator[Box]:
    given = 0
    for start, end in spans:
        for at in range(textpage.count_rects(start, end - start)):
            box = mended(_as_drawn(page, textpage.get_rect(at)))
            if box is not None:
                yield box
                given += 1
            if given == MOST:
                return


def _as_drawn(page: pypdfium2.PdfPage, rect: Sequence[float]) -> tuple[float, float, float, float]:
    """Left, top, right, bottom in parts of the drawn page, which may be cropped and turned."""
    from pypdfium2.raw import FPDF_PageToDevice

    found: list[float] = []
    for x, y in ((rect[0], rect[1]), (rect[2], rect[3])):
        across, down = ctypes.c_int(), ctypes.c_int()
        FPDF_PageToDevice(page.raw, 0, 0, _FINE, _FINE, 0, x, y, ctypes.byref(across), ctypes.byref(down))
        found += [across.value / _FINE, down.value / _FINE]
    return found[0], found[1], found[2], found[3]
