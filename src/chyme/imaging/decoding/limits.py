"""Size limits for pictures."""

from __future__ import annotations

from dataclasses import dataclass

MB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class PictureLimits:
    """Each field is named like its setting."""

    image_bytes: int = 500 * MB  # larger files are not read
    image_pixels: int = 250_000_000  # width × height from the header; larger pictures are not decoded
    preview: int = 2048  # longest side of the preview, in pixels
    thumbnail: int = 512  # longest side of the thumbnail, in pixels
