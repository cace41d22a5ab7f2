"""Limits for rendering a page, and for LibreOffice."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PageLimits:
    """Each field is the name of its setting."""

    page_pixels: int = 1600  # longest side of the page's picture
    thumbnail: int = 512  # longest side of its thumbnail
    image_pixels: int = 250_000_000  # larger pictures on a page or cover are not decoded
    office: str = "auto"  # LibreOffice: "auto" looks for it, "off" disables it, else the path of its soffice
    office_seconds: float = 60.0  # per document; after that the text is rendered instead
    office_documents: int = 100  # documents that one LibreOffice process converts before it is replaced
    office_memory_mb: int = 4096  # address space of the LibreOffice process
