"""Decodes HEIC and HEIF with libheif, which also rotates them upright."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO

from chyme.imaging.decoding.decoder_interface import UnsupportedEncoding
from chyme.imaging.decoding.pixel_conversion import BAND, reduction, shrink

if TYPE_CHECKING:
    from PIL import Image


UNKNOWN_CODING = "the picture in it is coded in a way that is not known here"


@dataclass(frozen=True, slots=True)
class Heif:
    """The pictures of one file, of which only the headers have been read."""

    file: Any  # pillow_heif.HeifFile

    @property
    def size(self) -> tuple[int, int]:
        size: tuple[int, int] = self.file.size
        return size

    @property
    def frames(self) -> int:
        return len(self.file)

    @property
    def info(self) -> dict[str, Any]:
        info: dict[str, Any] = self.file.info
        return info

    def image(self, longest: int | None) -> Image.Image:
        """The main picture, decoded; when a smaller size is wanted, there is never a second copy at full size."""
        try:
            data, stride = self.file.data, self.file.stride
        except RuntimeError as error:
            raise (UnsupportedEncoding(UNKNOWN_CODING) if "not been built in" in str(error) else error) from None
        mode, (width, height) = self.file.mode, self.file.size
        factor = reduction((width, height), longest)
        if factor == 1 or mode not in ("RGB", "RGBA", "L"):
            return shrink(_image_from_buffer(mode, (width, height), data, stride), longest)
        return _reduce_in_bands(mode, (width, height), data, stride, factor, longest)

    def thumbnail(self) -> Image.Image | None:
        """The largest thumbnail in the file that can be decoded, if any."""
        main = self.file[self.file.primary_index]
        thumbnails: list[Image.Image] = []
        for index in range(len(main.info.get("thumbnails", []))):
            try:
                thumbnails.append(main.get_thumbnail(index).to_pillow())
            except (OSError, ValueError, SyntaxError, RuntimeError, EOFError, IndexError):
                continue
        return max(thumbnails, key=lambda image: image.width * image.height, default=None)


def heif_header(stream: BinaryIO) -> Heif:
    import pillow_heif

    pillow_heif.options.DECODE_THREADS = 1
    pillow_heif.options.DEPTH_IMAGES = pillow_heif.options.AUX_IMAGES = False
    stream.seek(0)
    reader: Any = pillow_heif.HeifFile
    file = reader(stream, convert_hdr_to_8bit=True, hdr_to_16bit=True, remove_stride=False)
    if not len(file):
        raise UnsupportedEncoding(UNKNOWN_CODING)
    return Heif(file)


def _image_from_buffer(mode: str, size: tuple[int, int], data: Any, stride: int) -> Image.Image:
    from PIL import Image

    return Image.frombuffer(mode, size, data, "raw", mode, stride, 1)


def _reduce_in_bands(
    mode: str, size: tuple[int, int], data: Any, stride: int, factor: int, longest: int | None
) -> Image.Image:
    from PIL import Image

    width, height = size
    rows = max(1, BAND // width // factor) * factor
    reduced: Image.Image | None = None
    for top in range(0, height, rows):
        count = min(rows, height - top)
        band = _image_from_buffer(mode, (width, count), data[top * stride : (top + count) * stride], stride).reduce(
            factor
        )
        if reduced is None:
            reduced = Image.new(mode, (band.width, -(-height // factor)))
        reduced.paste(band, (0, top // factor))
    assert reduced is not None
    return shrink(reduced, longest)
