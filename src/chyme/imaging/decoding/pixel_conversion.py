"""Shrinks large pictures without a second copy at full size, and makes every mode opaque RGB or grey, in sRGB."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from PIL import Image

PROFILE_BYTES = 4 << 20  # real ones have some kilobytes, print profiles a few megabytes
BAND = 1 << 22  # pixels converted at a time
SPARE = 1.5  # how much larger than requested a picture stays after the quick reduction, for a fine last step
DIRECT = ("RGB", "L", "CMYK", "YCbCr", "LAB", "HSV")  # reduced as they are
NUMBERS = ("I", "F", "I;16", "I;16L", "I;16B", "I;16N")


def shrink(image: Image.Image, longest: int | None) -> Image.Image:
    """The image with its longest side at most `longest`, opaque, in one of the DIRECT modes."""
    if image.mode in NUMBERS:
        import numpy

        image = scale_to_grey(numpy.asarray(image))
    factor = reduction(image.size, longest)
    if image.mode in DIRECT and "transparency" not in image.info:
        return fit_within(image.reduce(factor) if factor > 1 else image, longest)
    if factor == 1:
        return fit_within(make_opaque(image), longest)
    width = image.width
    bands = reduce_in_bands(image.size, factor, lambda top, end: make_opaque(image.crop((0, top, width, end))))
    return fit_within(bands, longest)


def fit_within(image: Image.Image, longest: int | None) -> Image.Image:
    from PIL import Image

    width, height = image.size
    if longest is None or max(width, height) <= longest:
        return image
    return image.resize(fit_size((width, height), longest), Image.Resampling.LANCZOS)


def fit_size(size: tuple[int, int], longest: int) -> tuple[int, int]:
    """The size, scaled down in proportion if necessary."""
    scale = min(1.0, longest / max(size))
    return max(1, round(size[0] * scale)), max(1, round(size[1] * scale))


def reduction(size: tuple[int, int], longest: int | None) -> int:
    """The integer factor for a quick reduction, before the picture is resized with high quality."""
    return 1 if longest is None else max(1, int(max(size) / (longest * SPARE)))


def make_opaque(image: Image.Image) -> Image.Image:
    """Palette and black-and-white as RGB or grey, transparency on white."""
    from PIL import Image

    if "A" in image.getbands() or "a" in image.getbands() or "transparency" in image.info:
        rgba = image.convert("RGBA")
        background = Image.new("RGB", image.size, "white")
        background.paste(rgba, mask=rgba.getchannel("A"))
        return background
    if image.mode in DIRECT:
        return image
    return image.convert("L" if image.mode == "1" else "RGB")


def reduce_in_bands(size: tuple[int, int], factor: int, decode_band: Callable[[int, int], Image.Image]) -> Image.Image:
    """Reduce a picture some rows at a time; `decode_band` returns the rows from one number up to another."""
    from PIL import Image

    width, height = size
    rows = max(1, BAND // width // factor) * factor
    reduced: Image.Image | None = None
    for top in range(0, height, rows):
        band = decode_band(top, min(height, top + rows)).reduce(factor)
        if reduced is None:
            reduced = Image.new(band.mode, (band.width, -(-height // factor)))
        reduced.paste(band, (0, top // factor))
    assert reduced is not None
    return reduced


def scale_to_grey(values: Any) -> Image.Image:
    """Numbers as greys: 8, 12 and 16 bits and 0..1 by their scale, anything else from its minimum to its maximum."""
    import numpy
    from PIL import Image

    floating = values.dtype.kind == "f"
    finite = values[numpy.isfinite(values)] if floating else values
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
    del finite
    scales = (1.0, 255.0, 65535.0) if floating else (255.0, 4095.0, 65535.0)
    if low >= 0 and high <= scales[-1]:
        low, high = 0.0, next(scale for scale in scales if high <= scale)
    span = (high - low) or 1.0
    levels = numpy.empty(values.shape, numpy.uint8)
    rows = max(1, BAND // max(1, values.shape[1]))
    for top in range(0, values.shape[0], rows):
        band = (values[top : top + rows].astype(numpy.float64) - low) * (255.0 / span)
        levels[top : top + rows] = numpy.nan_to_num(band, nan=0.0, posinf=255.0, neginf=0.0).clip(0, 255).round()
    return Image.fromarray(levels)


def convert_to_srgb(image: Image.Image, profile: object) -> Image.Image:
    """The image as RGB in sRGB. Ignores a profile that is broken or does not fit the image."""
    if isinstance(profile, bytes) and 128 <= len(profile) <= PROFILE_BYTES and image.mode in ("RGB", "CMYK"):
        image = _apply_profile(image, profile)
    return image if image.mode == "RGB" else image.convert("RGB")


def _apply_profile(image: Image.Image, profile: bytes) -> Image.Image:
    from PIL import ImageCms

    space = profile[16:20]
    if space != (b"RGB " if image.mode == "RGB" else b"CMYK"):
        return image
    try:
        embedded = ImageCms.ImageCmsProfile(io.BytesIO(profile))
        if image.mode == "RGB" and "sRGB" in ImageCms.getProfileDescription(embedded):
            return image
        transform = ImageCms.buildTransform(embedded, ImageCms.createProfile("sRGB"), image.mode, "RGB")
        return ImageCms.applyTransform(image, transform) or image
    except (ImageCms.PyCMSError, OSError, ValueError, TypeError):
        return image
