"""What every way to a first page returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from PIL import Image

RenderMethod = Literal["pdf", "libreoffice", "cover", "text"]


@dataclass(frozen=True, slots=True)
class PageImage:
    """A picture of the document, how it came about, and how many pages the document has, where that is known."""

    image: Image.Image
    rendered: RenderMethod
    pages: int | None = None
    note: str | None = None
