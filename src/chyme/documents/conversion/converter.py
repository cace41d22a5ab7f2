"""Choose the converter for a document and apply the limits."""

from __future__ import annotations

from collections.abc import Callable

from chyme.documents.conversion.embedded_pictures import PictureReader
from chyme.documents.conversion.results import ConversionLimits, ConversionResult, check_size, truncate
from chyme.documents.conversion.scanned_pages import ScanReader
from chyme.files.extensions import DOCUMENTS, EML, HTML, MSG, PDF


def convert(
    name: str,
    data: bytes,
    mime: str,
    limits: ConversionLimits,
    progress: Callable[[float], None] = lambda _: None,
    scans: ScanReader | None = None,
    pictures: PictureReader | None = None,
) -> ConversionResult:
    """The document as markdown, or an error that says what is wrong with the file.

    `scans` reads scanned pages, `pictures` what is written in pictures inside the document.
    """
    check_size(name, data, limits)
    if mime == PDF:
        from chyme.documents.conversion.pdf import convert_pdf

        result = convert_pdf(name, data, limits, progress, scans, pictures)
    elif mime in (HTML, DOCUMENTS["xhtml"]):
        from chyme.documents.html.reader import convert_html

        result = convert_html(name, data, limits)
    elif mime == EML:
        from chyme.documents.conversion.email import convert_eml

        result = convert_eml(name, data, limits)
    elif mime == MSG:
        from chyme.documents.conversion.email import convert_msg

        result = convert_msg(name, data, mime)
    else:
        from chyme.documents.conversion.office import convert_office

        result = convert_office(name, data, mime, limits, pictures)
    return truncate(result, limits.text_chars)
