"""Decodes HEIC and HEIF with libheif, which also rotates them upright."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO

from chyme.imaging.decoding.decoder_interface import UnsupportedEncoding
from chyme.imaging.decoding.pixel_conversion import reduce_in_bands, reduction, shrink

if TYPE_CHECKING:
    from PIL import Image

UNKNOWN_CODING = "the picture in it is coded in a way that is not known here"


def read_header(stream: BinaryIO) -> Any:
    """A pillow_heif.HeifFile, of which only the headers have been read."""
    import pillow_heif

    pillow_heif.options.DECODE_THREADS = 1
    pillow_heif.options.DEPTH_IMAGES = pillow_heif.options.AUX_IMAGES = False
    stream.seek(0)
    reader: Any = pillow_heif.HeifFile
    file = reader(stream, convert_hdr_to_8bit=True, hdr_to_16bit=True, remove_stride=False)
    if not len(file):
        raise UnsupportedEncoding(UNKNOWN_CODING)
    return file


def decode_main(file: Any, longest: int | None) -> Image.Image:
    """The main picture, decoded; when a smaller size is wanted, there is never a second copy at full size."""
    try:
        data, stride = file.data, file.stride
    except RuntimeError as error:
        raise (UnsupportedEncoding(UNKNOWN_CODING) if "not been built in" in str(error) else error) from None
    mode, (width, height) = file.mode, file.size

    def decode_rows(top: int, end: int) -> Image.Image:
        from PIL import Image

        rows = data[top * stride : end * stride]
        return Image.frombuffer(mode, (width, end - top), rows, "raw", mode, stride, 1)

    factor = reduction((width, height), longest)
    if factor == 1 or mode not in ("RGB", "RGBA", "L"):
        return shrink(decode_rows(0, height), longest)
    return shrink(reduce_in_bands((width, height), factor, decode_rows), longest)


def decode_thumbnail(file: Any) -> Image.Image | None:
    """The largest thumbnail in the file that can be decoded, if any."""
    main = file[file.primary_index]
    thumbnails: list[Image.Image] = []
    for index in range(len(main.info.get("thumbnails", []))):
        try:
            thumbnails.append(main.get_thumbnail(index).to_pillow())
        except (OSError, ValueError, SyntaxError, RuntimeError, EOFError, IndexError):
            continue
    return max(thumbnails, key=lambda image: image.width * image.height, default=None)
