"""How chyme uses Pillow: accepted formats, one thread, and its global switches restored after use."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from PIL import Image, ImageFile

# Left out on purpose: EPS and WMF start other programs, the rest is not in use.
FORMATS = (
    *("JPEG", "PNG", "GIF", "WEBP", "TIFF", "BMP", "DIB", "AVIF", "JPEG2000", "PSD", "ICO", "CUR", "ICNS"),
    *("PPM", "PCX", "DDS", "QOI", "SGI", "TGA"),
)


@contextmanager
def pillow_limits(max_pixels: int | None, forgiving: bool = False) -> Iterator[None]:
    """Pillow with our pixel limit, or with none while only headers are read, and without its warnings.

    Its limit and its tolerance of truncated files are switches for the whole process; they are restored afterwards.
    """
    from PIL import Image, ImageFile

    previous = Image.MAX_IMAGE_PIXELS, ImageFile.LOAD_TRUNCATED_IMAGES
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        Image.MAX_IMAGE_PIXELS, ImageFile.LOAD_TRUNCATED_IMAGES = max_pixels, forgiving
        try:
            yield
        finally:
            Image.MAX_IMAGE_PIXELS, ImageFile.LOAD_TRUNCATED_IMAGES = previous


def open_header(stream: BinaryIO) -> ImageFile.ImageFile:
    """The picture with only its header read."""
    from PIL import Image

    _prepare_pillow()
    stream.seek(0)
    return Image.open(stream, formats=FORMATS)


def too_large(error: BaseException) -> bool:
    """Whether Pillow stopped because something inside the file exceeds the limit."""
    from PIL import Image

    return isinstance(error, Image.DecompressionBombError | Image.DecompressionBombWarning)


def rotate_upright(image: Image.Image, orientation: int) -> Image.Image:
    """Rotate an image with this EXIF orientation upright."""
    from PIL import Image

    transposes = {
        2: Image.Transpose.FLIP_LEFT_RIGHT,
        3: Image.Transpose.ROTATE_180,
        4: Image.Transpose.FLIP_TOP_BOTTOM,
        5: Image.Transpose.TRANSPOSE,
        6: Image.Transpose.ROTATE_270,
        7: Image.Transpose.TRANSVERSE,
        8: Image.Transpose.ROTATE_90,
    }
    return image.transpose(transposes[orientation]) if orientation in transposes else image


def upright_size(size: tuple[int, int], orientation: int) -> tuple[int, int]:
    return (size[1], size[0]) if orientation in (5, 6, 7, 8) else size


@cache
def _prepare_pillow() -> None:
    """Load all plugins, with one thread each: there is one child per core already."""
    from PIL import AvifImagePlugin, Image

    Image.init()
    AvifImagePlugin.DEFAULT_MAX_THREADS = 1
