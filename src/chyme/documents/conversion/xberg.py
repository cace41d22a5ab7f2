"""Convert office documents and Outlook messages with xberg, offline and without OCR."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from chyme.documents.conversion.results import ConversionResult, broken_file_error, build_unpaged_result, join_pages
from chyme.text.decoding import clean

if TYPE_CHECKING:
    from xberg import ExtractInput, ExtractionConfig, ExtractionResult


SETTLE_SECONDS = 0.005  # its threads hold Python for a moment longer, and crash an interpreter that ends then


def read_with_xberg(name: str, what: str, data: bytes, mime: str) -> ConversionResult:
    """The document as markdown, by pages if the format has them."""
    import xberg

    config = xberg.ExtractionConfig(
        use_cache=False,
        disable_ocr=True,
        enable_quality_processing=False,
        output_format="markdown",
        escape_markdown=False,
        pages=xberg.PageConfig(extract_pages=True),
        concurrency=xberg.ConcurrencyConfig(max_threads=1),
    )
    document = xberg.ExtractInput(kind="bytes", bytes=data, mime_type=mime)
    try:
        result = asyncio.run(_extract(document, config))
    except (RuntimeError, ValueError, OSError) as error:  # its own classes never reach Python
        raise broken_file_error(name, what) from error
    if not result.results:
        raise broken_file_error(name, what)
    extracted = result.results[0]
    if extracted.pages and not any(page.sheet_name for page in extracted.pages):
        return join_pages([(page.page_number, _remove_escapes(page.content)) for page in extracted.pages])
    return build_unpaged_result(_remove_escapes(extracted.content))


async def _extract(document: ExtractInput, config: ExtractionConfig) -> ExtractionResult:
    import xberg

    result = await xberg.extract(document, config)
    await asyncio.sleep(SETTLE_SECONDS)
    return result


def _remove_escapes(markdown: str) -> str:
    """xberg escapes characters that need no escape where it puts them."""
    return clean(markdown.replace("\\!", "!").replace("\\<", "<").replace("\\>", ">"))
