"""The result of rendering a first page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from PIL import Image

RenderMethod = Literal["pdf", "libreoffice", "cover", "text"]


@dataclass(frozen=True, slots=True)
class PageImage:
    """A picture of the document, how it was made, and the document's number of pages, if known."""

    image: Image.Image
    rendered: RenderMethod
    pages: int | None = None
    note: str | None = None
