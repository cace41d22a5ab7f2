"""Convert web pages that are files into markdown: detect their encoding, then read them like any page."""

from __future__ import annotations

import codecs
import re

from chyme.documents.conversion.results import MB, ConversionLimits, ConversionResult
from chyme.documents.html.reader import read_page
from chyme.errors import LimitReached
from chyme.text.decoding import clean, decode

_META = re.compile(rb"<(?:meta|\?xml)[^>]+?(?:charset|encoding)\s*=\s*[\"']?\s*([A-Za-z0-9_:.-]+)", re.IGNORECASE)


def convert_html(name: str, data: bytes, limits: ConversionLimits) -> ConversionResult:
    """The text of a page. Nothing it refers to is fetched."""
    if len(data) > limits.html_bytes:
        raise LimitReached(f"{name}: page is larger than {limits.html_bytes // MB} MB; raise html_bytes to read it")
    page = read_page(page_text(data), "", limits)
    return ConversionResult(page.markdown, page.places, page.notes)


def page_text(data: bytes) -> str:
    """The page's source as text, decoded by its byte order mark, its declared encoding, or else its content."""
    if not data.startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        declared = _META.search(data[:4096])
        if declared:
            try:
                return clean(data.decode(declared[1].decode("ascii")))
            except (LookupError, UnicodeDecodeError, ValueError):
                pass  # pages often declare a wrong encoding
    return decode(data, len(data)).text


def markdown_of(page: str, limits: ConversionLimits | None = None) -> str:
    """The markdown of a page's source, with its title on top if the text does not repeat it."""
    return read_page(page, "", limits or ConversionLimits()).markdown
