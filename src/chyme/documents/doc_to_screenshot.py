"""The digester that makes a picture of a document's first page."""

from __future__ import annotations

import json

from chyme.core.package_versions import describe_versions
from chyme.digester import Digester, Makes, Runs, Source
from chyme.documents.conversion.results import ConversionLimits
from chyme.documents.libreoffice.installation import office_marker, office_version
from chyme.documents.pages.limits import PageLimits
from chyme.files.extensions import ARCHIVES
from chyme.model import File, Form, Kind, Output

PAGE = "page.jpg"


class DocToScreenshot(Digester):
    """Renders PDFs, office documents with LibreOffice if it is installed, book covers, and text for the rest.

    `rendered` in the content says which of these it was; `text` is not the document's own layout.
    """

    name = "doc-to-screenshot"
    label = "First page"
    description = "A picture of the document's first page, and how many pages it has."
    makes = Makes(Form.PAGES, picture="page.jpg")
    runs = Runs(family="pages")

    def __init__(
        self, limits: PageLimits | None = None, conversion: ConversionLimits | None = None, seconds: float = 600.0
    ) -> None:
        self.limits = limits or PageLimits()
        self.conversion = conversion or ConversionLimits()
        self.seconds = seconds

    @property
    def fingerprint(self) -> str:
        return f"{self._drawing} {office_marker(self.limits.office)}"

    @property
    def portable_fingerprint(self) -> str:
        office = office_version(self.limits.office)
        return f"{self._drawing} {office}" if office else ""

    @property
    def _drawing(self) -> str:
        limits = f"{self.limits.page_pixels} {self.limits.thumbnail} {self.limits.image_pixels}"
        return f"{describe_versions('pypdfium2', 'pillow')} {limits}"

    def can_digest(self, file: File) -> bool:
        return file.kind is Kind.DOCUMENT

    def time_limit(self, source: Source) -> float:
        return self.seconds

    def digest(self, source: Source) -> list[Output]:
        from chyme.documents.pages.first_page import render_archive_page, render_first_page
        from chyme.imaging.thumbnails import make_preview_and_thumbnail

        file = source.file
        with source.open() as stream:
            if file.mime in ARCHIVES:
                page = render_archive_page(file.name, stream, file.size, file.mime, self.limits, self.conversion)
            else:
                data = stream.read(self.conversion.document_bytes + 1)
                page = render_first_page(file.name, data, file.mime, self.limits, self.conversion, source.progress)
        content: dict[str, object] = {} if page.pages is None else {"pages": page.pages}
        content |= {"width": page.image.width, "height": page.image.height, "rendered": page.rendered}
        if page.note:
            content["note"] = page.note
        artifacts = make_preview_and_thumbnail(PAGE, page.image, self.limits.page_pixels, self.limits.thumbnail)
        content_json = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
        return [Output(self.name, content_json, artifacts)]
