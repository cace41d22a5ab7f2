"""Converts pictures with embedded colour profiles to sRGB, which every screen shows."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL import Image

PROFILE_BYTES = 4 << 20  # real ones have some kilobytes, print profiles a few megabytes


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
