"""How far the picture of a page may go, and what LibreOffice may use for it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PageLimits:
    """Each field is the name of its setting."""

    page_pixels: int = 1600  # longest side of the page's picture
    thumbnail: int = 512  # longest side of its thumbnail
    image_pixels: int = 250_000_000  # pictures on a page or cover that hold more are not decoded
    office: str = "auto"  # LibreOffice: "auto" looks for it, "off" does without, else the path of its soffice
    office_seconds: float = 60.0  # one document's time; after it the text is drawn instead
    office_documents: int = 100  # how many documents one LibreOffice process serves before a fresh one takes over
    office_memory_mb: int = 4096  # address space of the LibreOffice process
