"""Render a page of a PDF for OCR, within limits of size, memory and time."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pypdfium2  # type: ignore[import-untyped]
    from PIL import Image

DOTS_PER_INCH = 200
LONGEST = 2300  # pixels, whatever size the page claims to have
SMALLEST = 16  # pixels; a narrower strip is unreadable
DRAW_SECONDS = 30.0
IMAGE_PIXELS = 250_000_000  # of one picture on the page
MAX_OBJECTS = 5_000  # examined on one page
MAX_DEPTH = 4  # forms within forms
COVERED_SHARE = 0.6  # of the page


class CannotDraw(Exception):
    """The page is broken, or drawing it would take too much."""


def draw(document: pypdfium2.PdfDocument, number: int, seconds: float = DRAW_SECONDS) -> Image.Image:
    """Page `number`, counted from 1, as people see it. Raises CannotDraw."""
    import pypdfium2

    try:
        page = document[number - 1]
    except (pypdfium2.PdfiumError, IndexError) as error:
        raise CannotDraw("it is broken") from error
    try:
        return _draw_page(page, seconds)
    except pypdfium2.PdfiumError as error:
        raise CannotDraw("it is broken") from error
    finally:
        page.close()


def has_covering_image(page: pypdfium2.PdfPage) -> bool:
    """Whether one picture covers most of the page, as on a scan."""
    west, south, east, north = page.get_bbox()
    for item in _images(page):
        left, bottom, right, top = item.get_bounds()
        across = min(right, east) - max(left, west)
        down = min(top, north) - max(bottom, south)
        if across > 0 and down > 0 and across * down >= COVERED_SHARE * (east - west) * (north - south):
            return True
    return False


def _images(page: pypdfium2.PdfPage) -> Iterator[Any]:
    from pypdfium2.raw import FPDF_PAGEOBJ_IMAGE  # type: ignore[import-untyped]

    for item in islice(page.get_objects(max_depth=MAX_DEPTH), MAX_OBJECTS):
        if item.type == FPDF_PAGEOBJ_IMAGE:
            yield item


def _draw_page(page: pypdfium2.PdfPage, seconds: float) -> Image.Image:
    import pypdfium2

    across, down = page.get_size()
    if not 0 < across < 1e7 or not 0 < down < 1e7:
        raise CannotDraw("it has no size")
    finest = DOTS_PER_INCH / 72
    for item in _images(page):
        width, height = item.get_px_size()
        if width * height > IMAGE_PIXELS:
            raise CannotDraw("its picture is too large")
        left, _, right, _ = item.get_bounds()
        if right - left > 1:
            finest = max(finest, width / (right - left))  # a page may be small and its picture detailed
    scale = min(LONGEST / max(across, down), finest)
    size = max(1, round(across * scale)), max(1, round(down * scale))
    if min(size) < SMALLEST:
        raise CannotDraw("it is too narrow")
    bitmap = pypdfium2.PdfBitmap.new_native(*size, pypdfium2.raw.FPDFBitmap_BGR, rev_byteorder=True)
    try:
        bitmap.fill_rect((255, 255, 255, 255), 0, 0, *size)
        _render(page, bitmap, size, time.monotonic() + seconds)
        picture: Image.Image = bitmap.to_pil().copy()  # the bitmap's memory is freed with it
        return picture
    finally:
        bitmap.close()


def _render(page: pypdfium2.PdfPage, bitmap: pypdfium2.PdfBitmap, size: tuple[int, int], until: float) -> None:
    """Draw step by step, so that an endless page can be abandoned."""
    from pypdfium2 import raw

    def too_long(_: Any) -> bool:
        return time.monotonic() > until

    pause = raw.IFSDK_PAUSE(version=1)
    pause.NeedToPauseNow = type(pause.NeedToPauseNow)(too_long)
    flags = raw.FPDF_ANNOT | raw.FPDF_REVERSE_BYTE_ORDER
    status = raw.FPDF_RenderPageBitmap_Start(bitmap, page, 0, 0, *size, 0, flags, ctypes.byref(pause))
    raw.FPDF_RenderPage_Close(page)
    if status != raw.FPDF_RENDER_DONE:
        raise CannotDraw("drawing it takes too long" if status == raw.FPDF_RENDER_TOBECONTINUED else "it is broken")
