"""Render one page of a PDF for a viewer, or locate words on it: the digester of a child that does nothing else.

It is not in the registry: no file ever has its output.
"""

from __future__ import annotations

import contextlib
import io
import json
from typing import TYPE_CHECKING, Any

from chyme.digester import Digester, Runs, Source
from chyme.documents.pages.pdf_page import Undrawable, open_with_forms, render_page
from chyme.documents.pages.word_boxes import boxes_of, characters_of
from chyme.errors import UnreadableFile
from chyme.model import Artifact, File, Output

if TYPE_CHECKING:
    import pypdfium2  # type: ignore[import-untyped]

ENTRY = "chyme.documents.pages.pdf_child:load_digesters"
NAME, REQUEST, PICTURE = "draw-page", "wanted", "page.jpg"
MAX_HEIGHT_RATIO = 4  # times as high as wide: a till roll is drawn smaller
QUALITY = 85


class DrawPage(Digester):
    """Returns the page as an artifact, and the number of pages; no artifact beyond the last page."""

    name = NAME
    label = "Page"
    description = "One page of a PDF."
    reads = (REQUEST,)
    runs = Runs(family="drawing")

    def __init__(self, image_pixels: int) -> None:
        self._image_pixels = image_pixels

    def can_digest(self, file: File) -> bool:
        return True

    def digest(self, source: Source) -> list[Output]:
        import pypdfium2

        upstream = source.output(REQUEST)
        request = json.loads((upstream and upstream.content) or "{}")
        number = int(request["page"])
        with source.open() as stream, open_with_forms(source.file.name, stream) as document:
            content = json.dumps({"pages": len(document)})
            if not 1 <= number <= len(document):
                return [Output(NAME, content)]
            if "spans" in request:
                return [Output(NAME, _words_json(document, number, request["spans"]))]
            width = int(request["width"])
            try:
                image = render_page(
                    *(document, number, self._image_pixels),
                    lambda wide, high: min(width / wide, MAX_HEIGHT_RATIO * width / high),
                )
            except (pypdfium2.PdfiumError, Undrawable) as error:
                reason = str(error) if isinstance(error, Undrawable) else f"page {number} is damaged"
                raise UnreadableFile(f"{source.file.name}: {reason}") from error
        out = io.BytesIO()
        image.save(out, "JPEG", quality=QUALITY, optimize=True, progressive=False)
        return [Output(NAME, content, (Artifact(PICTURE, out.getvalue()),))]


def _words_json(document: pypdfium2.PdfDocument, number: int, spans: list[tuple[int, int]]) -> str:
    """The characters of the page, and the boxes of these spans; both empty if PDFium cannot read the page."""
    import pypdfium2

    fields: dict[str, object] = {"pages": len(document), "text": "", "boxes": []}
    with contextlib.suppress(pypdfium2.PdfiumError):
        page = document[number - 1]
        textpage = page.get_textpage()
        fields |= {"boxes": boxes_of(page, textpage, spans)} if spans else {"text": characters_of(textpage)}
        textpage.close()
        page.close()
    return json.dumps(fields)


def load_digesters(config: dict[str, Any]) -> dict[str, Digester]:
    """The digesters of the child."""
    return {NAME: DrawPage(int(config["image_pixels"]))}
