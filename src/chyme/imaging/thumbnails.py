"""Makes a JPEG preview of a picture, which every browser shows, and a thumbnail of it."""

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
    large = _fit(_flatten(image), longest)
    small = _fit(large, longest_thumbnail)
    return Artifact(filename, _encode_jpeg(large, QUALITY)), Artifact(THUMBNAIL, _encode_jpeg(small, THUMBNAIL_QUALITY))


def _flatten(image: Image.Image) -> Image.Image:
    from PIL import Image

    if image.mode == "RGB":
        return image
    if "A" not in image.getbands() and "transparency" not in image.info:
        return image.convert("RGB")
    background = Image.new("RGB", image.size, "white")
    rgba = image.convert("RGBA")
    background.paste(rgba, mask=rgba.getchannel("A"))
    return background


def _fit(image: Image.Image, longest: int) -> Image.Image:
    from PIL import Image

    width, height = image.size
    if max(width, height) <= longest:
        return image
    scale = longest / max(width, height)
    size = max(1, round(width * scale)), max(1, round(height * scale))
    return image.resize(size, Image.Resampling.LANCZOS, reducing_gap=3.0)


def _encode_jpeg(image: Image.Image, quality: int) -> bytes:
    out = io.BytesIO()
    image.save(out, "JPEG", quality=quality, optimize=True, progressive=False)
    return out.getvalue()
