"""Read the writing in pictures on PDF pages that have a text layer, within the budget of all pictures in documents."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from chyme.documents.conversion.scan_rendering import COVERED_SHARE
from chyme.model import Box

if TYPE_CHECKING:
    import pypdfium2  # type: ignore[import-untyped]

    from chyme.documents.conversion.embedded_pictures import PictureReader

MAX_OBJECTS = 20_000  # examined on one page
PAGE_PICTURES = 20  # read on one page
MAX_PIXELS = 25_000_000  # of one picture, which is drawn whole
MIN_SHOWN = 24.0  # points; what is shown smaller in both directions is an icon
MIN_PIXELS = 20, 80  # the shorter and the longer side
_MARK = b"/Image"  # part of every file with a picture: such an object is never inside a compressed one


@dataclass(frozen=True, slots=True)
class PagePicture:
    """What is written in a picture, as markdown, and where the picture is on its page; None if that is not known."""

    markdown: str
    box: Box | None


def read_pictures(
    document: pypdfium2.PdfDocument,
    data: bytes,
    pages: Collection[int],
    reader: PictureReader,
    seconds: float,
    clock: Callable[[], float] = time.monotonic,
) -> dict[int, list[PagePicture]]:
    """The writing in the pictures of these pages, which have a text layer, by page number.

    What is on several pages, as a letterhead is, is given for the first.
    """
    import pypdfium2

    found: dict[int, list[PagePicture]] = {}
    if _MARK not in data:
        return found
    until = clock() + seconds
    known: set[str] = set()
    for number in sorted(pages):
        if clock() > until:
            break
        try:
            page = document[number - 1]
        except pypdfium2.PdfiumError:
            continue
        try:
            for picture in _page_pictures(page, reader, lambda: clock() > until):
                if picture.markdown not in known:
                    known.add(picture.markdown)
                    found.setdefault(number, []).append(picture)
        finally:
            page.close()
    return found


def _page_pictures(
    page: pypdfium2.PdfPage, reader: PictureReader, is_over: Callable[[], bool]
) -> Iterator[PagePicture]:
    import pypdfium2

    for item in islice(_pictures_to_read(page), PAGE_PICTURES):
        if is_over():
            return
        try:
            bitmap = item.get_bitmap(render=True, scale_to_original=True)
        except (pypdfium2.PdfiumError, ValueError, MemoryError):
            continue
        picture = bitmap.to_pil()  # shares the bitmap's memory, which is freed with both
        if picture.mode == "RGBA":  # what is transparent shows the paper
            paper = picture.copy()
            paper.paste((255, 255, 255, 255), (0, 0, *paper.size))
            paper.alpha_composite(picture)
            picture = paper
        written = reader.read(picture.convert("RGB"))
        if written is not None:
            yield PagePicture(written.markdown, _box_on(page, item))


def _pictures_to_read(page: pypdfium2.PdfPage) -> Iterator[Any]:
    """The pictures on a page that are large enough, unless one covers it: then the text layer is its writing."""
    items = [item for item in _pictures(page) if _is_large(item)]
    west, south, east, north = page.get_bbox()
    for item in items:
        left, bottom, right, top = item.get_bounds()
        across, down = min(right, east) - max(left, west), min(top, north) - max(bottom, south)
        if across > 0 and down > 0 and across * down >= COVERED_SHARE * (east - west) * (north - south):
            return
    yield from items


def _pictures(page: pypdfium2.PdfPage) -> Iterator[Any]:
    """Pictures that are on the page itself. Objects of other sorts, which are many, cost next to nothing."""
    import pypdfium2
    from pypdfium2 import raw

    for index in range(min(raw.FPDFPage_CountObjects(page), MAX_OBJECTS)):
        item = raw.FPDFPage_GetObject(page, index)
        if item and raw.FPDFPageObj_GetType(item) == raw.FPDF_PAGEOBJ_IMAGE:
            yield pypdfium2.PdfImage(item, page=page, pdf=page.pdf)


def _is_large(item: Any) -> bool:
    import pypdfium2

    try:
        width, height = item.get_px_size()
        left, bottom, right, top = item.get_bounds()
    except pypdfium2.PdfiumError:
        return False
    shortest, longest = MIN_PIXELS
    return bool(
        min(width, height) >= shortest
        and max(width, height) >= longest
        and width * height <= MAX_PIXELS
        and max(right - left, top - bottom) >= MIN_SHOWN
    )


def _box_on(page: pypdfium2.PdfPage, item: Any) -> Box | None:
    if page.get_rotation():
        return None
    west, south, east, north = page.get_bbox()
    left, bottom, right, top = item.get_bounds()
    if east <= west or north <= south:
        return None
    width, height = east - west, north - south
    edges = (left - west) / width, (north - top) / height, (right - west) / width, (north - bottom) / height
    box = tuple(min(1.0, max(0.0, edge)) for edge in edges)
    return (box[0], box[1], box[2], box[3]) if box[0] < box[2] and box[1] < box[3] else None
