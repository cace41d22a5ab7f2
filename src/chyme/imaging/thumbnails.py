"""The face of a file: a picture of it that every browser shows, and a thumbnail of that."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from chyme.model import THUMBNAIL, Artifact

if TYPE_CHECKING:
    from PIL import Image

LONGEST, LONGEST_THUMBNAIL = 2048, 512
QUALITY, THUMBNAIL_QUALITY = 88, 80


def make_preview_and_thumbnail(
    filename: str, image: Image.Image, longest: int = LONGEST, longest_thumbnail: int = LONGEST_THUMBNAIL
) -> tuple[Artifact, Artifact]:
    """The picture as `filename` (a .jpg) and its thumbnail, never larger than the image; transparency becomes white."""
    large = _within(_opaque(image), longest)
    small = _within(large, longest_thumbnail)
    return Artifact(filename, _jpeg(large, QUALITY)), Artifact(THUMBNAIL, _jpeg(small, THUMBNAIL_QUALITY))


def _opaque(image: Image.Image) -> Image.Image:
    from PIL import Image

    if image.mode == "RGB":
        return image
    if "A" not in image.getbands() and "transparency" not in image.info:
        return image.convert("RGB")
    paper = Image.new("RGB", image.size, "white")
    clear = image.convert("RGBA")
    paper.paste(clear, mask=clear.getchannel("A"))
    return paper


def _within(image: Image.Image, longest: int) -> Image.Image:
    from PIL import Image

    width, height = image.size
    if max(width, height) <= longest:
        return image
    scale = longest / max(width, height)
    size = max(1, round(width * scale)), max(1, round(height * scale))
    return image.resize(size, Image.Resampling.LANCZOS, reducing_gap=3.0)


def _jpeg(image: Image.Image, quality: int) -> bytes:
    out = io.BytesIO()
    image.save(out, "JPEG", quality=quality, optimize=True, progressive=False)
    return out.getvalue()
