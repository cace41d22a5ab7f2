"""The digester that converts documents to markdown."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from chyme.core.package_versions import describe_versions
from chyme.digester import Digester, Makes, Runs, Source, Title
from chyme.documents.conversion.embedded_pictures import PictureBudget, PictureReader
from chyme.documents.conversion.results import ConversionLimits
from chyme.documents.conversion.scanned_pages import Scan, load_scan, save_scan
from chyme.files.extensions import ARCHIVES, PDF
from chyme.imaging.ocr.engines import OcrSettings, fingerprint, load_engine, portable_fingerprint
from chyme.imaging.ocr.page_text import page_text
from chyme.model import File, Form, Kind, Output, Place
from chyme.text.titles import clean_title, heading_title

if TYPE_CHECKING:
    from PIL import Image

READERS = ("liteparse", "pypdfium2", "firecrawl-anydoc", "xberg", "trafilatura", "html-to-markdown")
PAGE_BYTES, PAGE_SECONDS = 5_000, 10.0  # usually a scanned page has at least so many bytes and takes at most so long


class DocToMarkdown(Digester):
    """Converts PDF, office documents, books, web pages, e-mails and mailboxes, subtitles, notebooks, calendars,
    contacts and archives; pages that are pictures are read by OCR.

    The last lines of the text, each `> note: …`, say what was left out; a document without any text has no content.
    Scanned pages that were read are stored in the scratch folder: another attempt continues after them.
    """

    name = "doc-to-markdown"
    label = "Text"
    description = "The document's text as markdown, with its pages and headings; scanned pages are read, too."
    makes = Makes(Form.TEXT, title=Title.OWN, essential_for=frozenset({Kind.DOCUMENT}))
    version = 4  # more kinds of files, and more of what is in a document: pictures, forms, notes, tracked changes
    runs = Runs(family="parsers", keeps_scratch=True)

    def __init__(
        self, limits: ConversionLimits | None = None, seconds: float = 600.0, ocr: OcrSettings | None = None
    ) -> None:
        self.limits = limits or ConversionLimits()
        self.seconds = seconds
        self.ocr = ocr or OcrSettings()

    @property
    def fingerprint(self) -> str:
        return f"{describe_versions(*READERS)} {self.limits} {fingerprint(self.ocr)}"

    @property
    def portable_fingerprint(self) -> str:
        ocr = portable_fingerprint(self.ocr)
        return f"{describe_versions(*READERS)} {self.limits} {ocr}" if ocr else ""

    def can_digest(self, file: File) -> bool:
        return file.kind is Kind.DOCUMENT

    def time_limit(self, source: Source) -> float:
        if source.file.mime != PDF:
            return self.seconds
        return self.seconds + PAGE_SECONDS * min(self.limits.ocr_pages, source.file.size // PAGE_BYTES)

    def digest(self, source: Source) -> list[Output]:
        from chyme.documents.conversion.converter import convert

        file = source.file
        with source.open() as stream:
            if file.mime in ARCHIVES:
                from chyme.documents.conversion.archives.reader import convert_archive

                result = convert_archive(
                    file.name, stream, file.size, file.mime, self.limits, source.progress, source.scratch
                )
            else:
                data = stream.read(self.limits.document_bytes + 1)
                scans, pictures = _ScanReader(self.ocr, source.scratch), self._pictures()
                result = convert(file.name, data, file.mime, self.limits, source.progress, scans, pictures)
        if not result.markdown and not result.has_unreadable_text:
            return [Output(self.name, None)]
        notes = [f"> note: {note}" for note in result.notes]
        content = "\n\n".join([*([result.markdown] if result.markdown else []), *notes])
        return [
            Output(self.name, content, places=result.places, title=clean_title(result.title) or heading_title(content))
        ]

    def _pictures(self) -> PictureReader | None:
        limits = self.limits
        if not limits.embedded_pictures:
            return None
        budget = PictureBudget(limits.embedded_pictures, limits.embedded_pixels, limits.embedded_seconds)
        return PictureReader(lambda: load_engine(self.ocr), budget, self.ocr.ocr_doubt)


class _ScanReader:
    """Reads scanned pages, and stores the results for a possible next attempt."""

    def __init__(self, settings: OcrSettings, folder: Path) -> None:
        self._settings = settings
        self._folder = folder

    def __call__(self, number: int, draw: Callable[[], Image.Image]) -> Scan:
        stored = load_scan(self._folder, number)
        if stored is not None:
            return stored
        engine = load_engine(self._settings)
        picture = draw()
        reading = engine.read(picture)
        page = page_text(reading.lines, picture.width / picture.height, self._settings.ocr_doubt, markdown=True)
        places = tuple(Place(span.start, span.end, box=reading.lines[span.line].box) for span in page.spans)
        scan = Scan(page.text, places, reading.unread, engine.letters)
        save_scan(self._folder, number, scan)
        return scan
