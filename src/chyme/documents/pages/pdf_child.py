"""Draw one page of a PDF for somebody who looks at it now, or tell where words stand on it: the digester of a child
that does nothing else.

It is in no registry: no file ever has its output.
"""

from __future__ import annotations

import contextlib
import io
import json
from typing import TYPE_CHECKING, Any

from chyme.digester import Digester, Source
from chyme.documents.pages.pdf_page import Undrawable, open_pdf, render_page
from chyme.documents.pages.word_boxes import boxes_of, characters_of
from chyme.errors import UnreadableFile
from chyme.model import Artifact, File, Output

if TYPE_CHECKING:
    import pypdfium2  # type: ignore[import-untyped]

ENTRY = "chyme.documents.pages.pdf_child:load_digesters"
NAME, REQUEST, PICTURE = "draw-page", "wanted", "page.jpg"
TALLEST = 4  # times as high as wide: a till roll is drawn smaller
QUALITY = 85


class DrawPage(Digester):
    """Gives the page as an artifact, and how many pages there are; no artifact beyond the last one."""

    name = NAME
    label = "Page"
    description = "One page of a PDF."
    reads = (REQUEST,)
    family = "drawing"

    def __init__(self, image_pixels: int) -> None:
        self._image_pixels = image_pixels

    def can_digest(self, file: File) -> bool:
        return True

    def digest(self, source: Source) -> list[Output]:
        import pypdfium2

        upstream = source.output(REQUEST)
        wanted = json.loads((upstream and upstream.content) or "{}")
        number = int(wanted["page"])
        with source.open() as stream, open_pdf(source.file.name, stream) as document:
            told = json.dumps({"pages": len(document)})
            if not 1 <= number <= len(document):
                return [Output(NAME, told)]
            if "spans" in wanted:
                return [Output(NAME, _words(document, number, wanted["spans"]))]
            width = int(wanted["width"])
            try:
                image = render_page(
                    *(document, number, self._image_pixels),
                    lambda wide, high: min(width / wide, TALLEST * width / high),
                )
            except (pypdfium2.PdfiumError, Undrawable) as error:
                reason = str(error) if isinstance(error, Undrawable) else f"page {number} is damaged"
                raise UnreadableFile(f"{source.file.name}: {reason}") from error
        out = io.BytesIO()
        image.save(out, "JPEG", quality=QUALITY, optimize=True, progressive=False)
        return [Output(NAME, told, (Artifact(PICTURE, out.getvalue()),))]


def _words(document: pypdfium2.PdfDocument, number: int, spans: list[tuple[int, int]]) -> str:
    """The characters of the page, and where these spans of them are drawn; none of a page that PDFium cannot read."""
    import pypdfium2

    told: dict[str, object] = {"pages": len(document), "text": "", "boxes": []}
    with contextlib.suppress(pypdfium2.PdfiumError):
        page = document[number - 1]
        textpage = page.get_textpage()
        told |= {"boxes": boxes_of(page, textpage, spans)} if spans else {"text": characters_of(textpage)}
        textpage.close()
        page.close()
    return json.dumps(told)


def load_digesters(config: dict[str, Any]) -> dict[str, Digester]:
    """What the child loads."""
    return {NAME: DrawPage(int(config["image_pixels"]))}
