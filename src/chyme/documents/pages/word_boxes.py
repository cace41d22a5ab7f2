"""The text layer of a PDF page: its characters, and where they are drawn."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pypdfium2  # type: ignore[import-untyped]

CHARACTERS = 100_000  # of a page that are examined
MAX_BOXES = 300  # per page
_GRID = 1 << 24  # steps into which a side of the page is divided

Edges = tuple[float, float, float, float]


def characters_of(textpage: pypdfium2.PdfTextPage) -> str:
    """One character for each index of the page; a space for an invalid one."""
    from pypdfium2.raw import FPDFText_GetUnicode  # type: ignore[import-untyped]

    count = min(textpage.count_chars(), CHARACTERS)
    codes = (int(FPDFText_GetUnicode(textpage.raw, index)) for index in range(count))
    return "".join(chr(code) if 0 < code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF else " " for code in codes)


def boxes_of(page: pypdfium2.PdfPage, textpage: pypdfium2.PdfTextPage, spans: Sequence[tuple[int, int]]) -> list[Edges]:
    """A box for each line of each span of characters: left, top, right, bottom as fractions of the drawn page."""
    boxes: list[Edges] = []
    for start, end in spans:
        for i in range(textpage.count_rects(start, end - start)):
            if len(boxes) == MAX_BOXES:
                return boxes
            boxes.append(_as_drawn(page, textpage.get_rect(i)))
    return boxes


def _as_drawn(page: pypdfium2.PdfPage, rect: Sequence[float]) -> Edges:
    """Convert to drawn coordinates, because the page may be cropped and rotated."""
    from pypdfium2.raw import FPDF_PageToDevice

    edges: list[float] = []
    for x, y in ((rect[0], rect[1]), (rect[2], rect[3])):
        across, down = ctypes.c_int(), ctypes.c_int()
        FPDF_PageToDevice(page.raw, 0, 0, _GRID, _GRID, 0, x, y, ctypes.byref(across), ctypes.byref(down))
        edges += [across.value / _GRID, down.value / _GRID]
    left, right = sorted((edges[0], edges[2]))
    top, bottom = sorted((edges[1], edges[3]))
    return left, top, right, bottom
