"""Choose the converter for a document and apply the limits."""

from __future__ import annotations

import io
from collections.abc import Callable

from chyme.documents.conversion.embedded_pictures import PictureReader
from chyme.documents.conversion.results import ConversionLimits, ConversionResult, check_size, truncate
from chyme.documents.conversion.scanned_pages import ScanReader
from chyme.files.extensions import (
    ARCHIVES,
    CALENDAR,
    DOCUMENTS,
    EML,
    HTML,
    MBOX,
    MSG,
    NOTEBOOK,
    PDF,
    STRUCTURED_TEXTS,
    VCARD,
)


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
    if mime != MBOX or not data:  # of a large mailbox the beginning is read
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
    elif mime in ARCHIVES:
        from chyme.documents.conversion.archives.reader import convert_archive

        result = convert_archive(name, io.BytesIO(data), len(data), mime, limits, progress)
    elif mime in STRUCTURED_TEXTS:
        result = _convert_structured_text(name, data, mime, limits)
    else:
        from chyme.documents.conversion.office import convert_office

        result = convert_office(name, data, mime, limits, pictures)
    return truncate(result, limits.text_chars)


def _convert_structured_text(name: str, data: bytes, mime: str, limits: ConversionLimits) -> ConversionResult:
    """A mailbox, notebook, calendar, contacts or subtitles."""
    if mime == MBOX:
        from chyme.documents.conversion.mailboxes import convert_mailbox

        return convert_mailbox(name, data, limits)
    if mime == NOTEBOOK:
        from chyme.documents.conversion.notebooks import convert_notebook

        return convert_notebook(name, data, limits)
    if mime == CALENDAR:
        from chyme.documents.conversion.calendars import convert_calendar

        return convert_calendar(name, data, limits)
    if mime == VCARD:
        from chyme.documents.conversion.contacts import convert_contacts

        return convert_contacts(name, data, limits)
    from chyme.documents.conversion.subtitles import convert_subtitles

    return convert_subtitles(name, data, mime, limits)
