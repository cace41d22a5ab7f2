"""Choose the converter for a document and apply the limits."""

from __future__ import annotations

from collections.abc import Callable

from chyme.documents.conversion.results import MB, ConversionLimits, ConversionResult, truncate
from chyme.documents.conversion.scan_results import ScanReader
from chyme.errors import LimitReached, UnreadableFile
from chyme.files.extensions import DOCUMENTS, EML, HTML, MSG, PDF


def convert(
    name: str,
    data: bytes,
    mime: str,
    limits: ConversionLimits,
    progress: Callable[[float], None] = lambda _: None,
    scans: ScanReader | None = None,
) -> ConversionResult:
    """The document as markdown, or an error that says what is wrong with the file. `scans` reads scanned pages."""
    if not data:
        raise UnreadableFile(f"{name}: file is empty (0 bytes); copy it here again from where it came")
    if len(data) > limits.document_bytes:
        raise LimitReached(
            f"{name}: file is larger than {limits.document_bytes // MB:,} MB; raise document_bytes to read it"
        )
    return truncate(_convert_by_type(name, data, mime, limits, progress, scans), limits.text_chars)


def _convert_by_type(
    name: str,
    data: bytes,
    mime: str,
    limits: ConversionLimits,
    progress: Callable[[float], None],
    scans: ScanReader | None,
) -> ConversionResult:
    if mime == PDF:
        from chyme.documents.conversion.pdf import convert_pdf

        return convert_pdf(name, data, limits, progress, scans)
    if mime in (HTML, DOCUMENTS["xhtml"]):
        from chyme.documents.conversion.html import convert_html

        return convert_html(name, data, limits)
    if mime == EML:
        from chyme.documents.conversion.email import convert_eml

        return convert_eml(name, data, limits)
    if mime == MSG:
        from chyme.documents.conversion.email import convert_msg

        return convert_msg(name, data, mime)
    from chyme.documents.conversion.office import convert_office

    return convert_office(name, data, mime, limits)
