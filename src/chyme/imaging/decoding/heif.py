"""HEIC and HEIF by libheif, which also turns them upright."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO

from chyme.imaging.decoding.decoder_interface import UnsupportedEncoding
from chyme.imaging.decoding.resizing import BAND, reduction, shrink

if TYPE_CHECKING:
    from PIL import Image


UNKNOWN_CODING = "the picture in it is coded in a way that is not known here"


@dataclass(frozen=True, slots=True)
class Heif:
    """The pictures of one file, known by their headers and not decoded yet."""

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
        """The main picture, decoded; at full size it never exists twice when a smaller one is asked for."""
        try:
            data, stride = self.file.data, self.file.stride
        except RuntimeError as error:
            raise (UnsupportedEncoding(UNKNOWN_CODING) if "not been built in" in str(error) else error) from None
        mode, (width, height) = self.file.mode, self.file.size
        factor = reduction((width, height), longest)
        if factor == 1 or mode not in ("RGB", "RGBA", "L"):
            return shrink(_pixels(mode, (width, height), data, stride), longest)
        return _in_bands(mode, (width, height), data, stride, factor, longest)

    def thumbnail(self) -> Image.Image | None:
        """The largest small picture that the file carries beside the main one, if one can be decoded."""
        main = self.file[self.file.primary_index]
        found: list[Image.Image] = []
        for index in range(len(main.info.get("thumbnails", []))):
            try:
                found.append(main.get_thumbnail(index).to_pillow())
            except (OSError, ValueError, SyntaxError, RuntimeError, EOFError, IndexError):
                continue
        return max(found, key=lambda image: image.width * image.height, default=None)


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


def _pixels(mode: str, size: tuple[int, int], data: Any, stride: int) -> Image.Image:
    from PIL import Image

    return Image.frombuffer(mode, size, data, "raw", mode, stride, 1)


def _in_bands(
    mode: str, size: tuple[int, int], data: Any, stride: int, factor: int, longest: int | None
) -> Image.Image:
    from PIL import Image

    width, height = size
    rows = max(1, BAND // width // factor) * factor
    paper: Image.Image | None = None
    for top in range(0, height, rows):
        count = min(rows, height - top)
        band = _pixels(mode, (width, count), data[top * stride : (top + count) * stride], stride).reduce(factor)
        if paper is None:
            paper = Image.new(mode, (band.width, -(-height // factor)))
        paper.paste(band, (0, top // factor))
    assert paper is not None
    return shrink(paper, longest)
