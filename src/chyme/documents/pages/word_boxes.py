"""The text layer of a PDF's page: its characters, and where they are drawn."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pypdfium2  # type: ignore[import-untyped]

CHARACTERS = 100_000  # of a page that are looked at
MOST = 300  # boxes of a page
_FINE = 1 << 24  # steps into which a side of the page is divided

Edges = tuple[float, float, float, float]


def characters_of(textpage: pypdfium2.PdfTextPage) -> str:
    """One character for each index of the page; a space for what is none."""
    from pypdfium2.raw import FPDFText_GetUnicode  # type: ignore[import-untyped]

    count = min(textpage.count_chars(), CHARACTERS)
    codes = (int(FPDFText_GetUnicode(textpage.raw, index)) for index in range(count))
    return "".join(chr(code) if 0 < code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF else " " for code in codes)


def boxes_of(page: pypdfium2.PdfPage, textpage: pypdfium2.PdfTextPage, spans: Sequence[tuple[int, int]]) -> list[Edges]:
    """A box for each line of each span of characters: left, top, right, bottom in parts of the drawn page."""
    found: list[Edges] = []
    for start, end in spans:
        for at in range(textpage.count_rects(start, end - start)):
            if len(found) == MOST:
                return found
            found.append(_as_drawn(page, textpage.get_rect(at)))
    return found


def _as_drawn(page: pypdfium2.PdfPage, rect: Sequence[float]) -> Edges:
    """The page may be cropped and turned."""
    from pypdfium2.raw import FPDF_PageToDevice

    edges: list[float] = []
    for x, y in ((rect[0], rect[1]), (rect[2], rect[3])):
        across, down = ctypes.c_int(), ctypes.c_int()
        FPDF_PageToDevice(page.raw, 0, 0, _FINE, _FINE, 0, x, y, ctypes.byref(across), ctypes.byref(down))
        edges += [across.value / _FINE, down.value / _FINE]
    left, right = sorted((edges[0], edges[2]))
    top, bottom = sorted((edges[1], edges[3]))
    return left, top, right, bottom
