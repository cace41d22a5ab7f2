"""Read office documents and Outlook messages with xberg, offline and without OCR."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from chyme.documents.conversion.results import ConversionResult, broken_file_error, build_unpaged_result, join_pages
from chyme.text.decoding import clean

if TYPE_CHECKING:
    from xberg import ExtractInput, ExtractionConfig, ExtractionResult


SETTLE = 0.005  # seconds; its threads still hold Python for a moment and crash an interpreter that ends then


def read_with_xberg(name: str, what: str, data: bytes, mime: str) -> ConversionResult:
    """The document as markdown, by pages where the format has them."""
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
        result = asyncio.run(_extracted(document, config))
    except (RuntimeError, ValueError, OSError) as error:  # its own classes never reach Python
        raise broken_file_error(name, what) from error
    if not result.results:
        raise broken_file_error(name, what)
    found = result.results[0]
    if found.pages and not any(page.sheet_name for page in found.pages):
        return join_pages([(page.page_number, _tidy(page.content)) for page in found.pages])
    return build_unpaged_result(_tidy(found.content))


async def _extracted(document: ExtractInput, config: ExtractionConfig) -> ExtractionResult:
    import xberg

    result = await xberg.extract(document, config)
    await asyncio.sleep(SETTLE)
    return result


def _tidy(markdown: str) -> str:
    """xberg escapes marks that mean nothing where it puts them."""
    return clean(markdown.replace("\\!", "!").replace("\\<", "<").replace("\\>", ">"))
