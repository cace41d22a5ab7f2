"""Put the two letters of an Arabic ligature into their order, which PDFium reverses with the line they are on."""

from __future__ import annotations

import ctypes
import math
import re
from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pypdfium2  # type: ignore[import-untyped]

_LAM = 0x644
MAX_PAIRS = 3_000  # examined on one page
_ALEF_LAM = re.compile("[\u0622\u0623\u0625\u0627]\u0644")
_SCRIPT_CHANGE = re.compile("(?<=[a-zA-Z])(?=[\u0620-\u064a])|(?<=[\u0620-\u064a])(?=[a-zA-Z])")


def mend_arabic(textpage: pypdfium2.PdfTextPage, text: str) -> str:
    """PDFium's text of a page with لا where it has ال from one glyph, and a blank between Arabic and Latin words.

    The letters of one glyph have one box; alef and lam that are written apart have two, and stay.
    """
    if "\u0644" not in text or max(text) > "\uffff":  # PDFium counts such a character twice
        return text
    pieces: list[str] = []
    position = 0
    for pair in islice(_ALEF_LAM.finditer(text), MAX_PAIRS):
        if _box(textpage, pair.start()) == _box(textpage, pair.start() + 1):
            pieces += [text[position : pair.start()], pair[0][::-1]]
            position = pair.end()
    return _SCRIPT_CHANGE.sub(" ", "".join((*pieces, text[position:])))


def mend_arabic_codes(textpage: pypdfium2.PdfTextPage, codes: Sequence[int]) -> list[int]:
    """The same for the characters of a page, one by one; nothing is added."""
    mended = list(codes)
    if _LAM not in mended:
        return mended
    text = "".join(chr(min(code, 0xFFFF)) for code in mended)
    for pair in islice(_ALEF_LAM.finditer(text), MAX_PAIRS):
        first = pair.start()
        if _box_at(textpage, first) == _box_at(textpage, first + 1):
            mended[first : first + 2] = mended[first + 1], mended[first]
    return mended


def _box(textpage: pypdfium2.PdfTextPage, index: int) -> tuple[float, ...]:
    from pypdfium2 import raw

    return _box_at(textpage, raw.FPDFText_GetCharIndexFromTextIndex(textpage, index))


def _box_at(textpage: pypdfium2.PdfTextPage, position: int) -> tuple[float, ...]:
    from pypdfium2 import raw

    edges = [ctypes.c_double() for _ in range(4)]
    if position < 0 or not raw.FPDFText_GetCharBox(textpage, position, *map(ctypes.byref, edges)):
        return (math.nan,)  # like no other
    return tuple(edge.value for edge in edges)
