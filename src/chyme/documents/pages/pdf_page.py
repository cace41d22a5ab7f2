"""Render the pages of a PDF, whatever size they claim."""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, BinaryIO

from chyme.documents.conversion.pdf import open_pdf
from chyme.documents.conversion.results import broken_file_error
from chyme.documents.pages.limits import PageLimits

if TYPE_CHECKING:
    import pypdfium2  # type: ignore[import-untyped]
    from PIL import Image

MAX_TRIES = 5  # pages to try if the first cannot be rendered
LARGEST_SCALE = 4.0  # 288 dots per inch: a stamp is not enlarged to a poster
MAX_OBJECTS = 20_000  # of a page, examined for pictures that are too large
MAX_DEPTH = 5  # forms within forms


class NoPage(Exception):
    """None of the first pages can be rendered; `pages` is how many the document has."""

    def __init__(self, pages: int, reason: str) -> None:
        super().__init__(reason)
        self.pages = pages


def render_first_pdf_page(name: str, data: bytes, limits: PageLimits) -> tuple[Image.Image, int, str | None]:
    """The first page that can be drawn, the page count, and a note if it is not page 1; else NoPage."""
    import pypdfium2

    with open_with_forms(name, data) as document:
        total = len(document)
        if total < 1:
            raise broken_file_error(name, "PDF", "it has no pages")
        reason = ""
        for number in range(1, min(total, MAX_TRIES) + 1):
            try:
                image = render_page(
                    document, number, limits.image_pixels, lambda width, height: _scale_to_fit(width, height, limits)
                )
            except (pypdfium2.PdfiumError, Undrawable) as error:
                reason = reason or (str(error) if isinstance(error, Undrawable) else "page 1 is damaged")
                continue
            return image, total, None if number == 1 else f"{reason}; this is page {number}"
        raise NoPage(total, reason)


@contextlib.contextmanager
def open_with_forms(name: str, data: bytes | BinaryIO) -> Iterator[pypdfium2.PdfDocument]:
    """Open a PDF including filled-in forms; UnreadableFile if it is broken or locked."""
    document = open_pdf(name, data)
    try:
        _prepare_forms(document)
        yield document
    finally:
        document.close()


class Undrawable(Exception):
    """The page cannot be drawn within the limits; the message says why."""


def _prepare_forms(document: pypdfium2.PdfDocument) -> None:
    import pypdfium2
    from pypdfium2.raw import FORMTYPE_ACRO_FORM  # type: ignore[import-untyped]

    try:
        if document.get_formtype() == FORMTYPE_ACRO_FORM:
            document.init_forms()
    except pypdfium2.PdfiumError:
        return  # the page is drawn without the filled-in values


def render_page(
    document: pypdfium2.PdfDocument, number: int, image_pixels: int, scale_of: Callable[[float, float], float]
) -> Image.Image:
    """A page as a picture; `scale_of` returns the pixels per point for a page of this width and height."""
    page = document[number - 1]
    try:
        width, height = page.get_size()
        if not (math.isfinite(width) and math.isfinite(height) and width > 0 and height > 0):
            raise Undrawable(f"page {number} has no size")
        _check_pictures(page, number, image_pixels)
        scale = scale_of(width, height)
        bitmap = page.render(scale=scale, draw_annots=True, limit_image_cache=True, rev_byteorder=True)
        try:
            image: Image.Image = bitmap.to_pil().convert("RGB")
            return image.copy()  # the bitmap's memory is freed with it
        finally:
            bitmap.close()
    finally:
        page.close()


def _scale_to_fit(width: float, height: float, limits: PageLimits) -> float:
    """The scale; rendering rounds up, so it aims at one pixel less."""
    return min(LARGEST_SCALE, (limits.page_pixels - 1) / max(width, height))


def _check_pictures(page: pypdfium2.PdfPage, number: int, max_pixels: int) -> None:
    """Check the sizes in the pictures' dictionaries, before anything is decoded."""
    from pypdfium2.raw import FPDF_PAGEOBJ_IMAGE

    for item in itertools.islice(page.get_objects(max_depth=MAX_DEPTH), MAX_OBJECTS):
        if item.type != FPDF_PAGEOBJ_IMAGE:
            continue
        width, height = item.get_px_size()
        if width * height > max_pixels:
            raise Undrawable(f"page {number} holds a picture of {width:,} × {height:,} pixels (limit image_pixels)")
