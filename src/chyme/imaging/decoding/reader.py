"""Opens pictures of any format: by their content, within limits, upright, as RGB.

For a bad file, everything here raises UnreadableFile, LimitReached or UnsupportedFile, and nothing else.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, BinaryIO

from chyme.errors import DigestError, EngineUnavailable, LimitReached, UnreadableFile, UnsupportedFile
from chyme.files.kind_detection import HEAD_BYTES, identify
from chyme.imaging.decoding.decoder_interface import MB, DecodedImage, DecodeRequest, PictureLimits, UnsupportedEncoding
from chyme.imaging.decoding.decoders import DECODERS, decode_pillow_frame, decode_with_pillow
from chyme.imaging.decoding.fallback_decoders import Decoder, fallback_decoders, note_missing_part
from chyme.imaging.decoding.headers import ends_early
from chyme.imaging.decoding.pillow import open_header, pillow_limits, rotate_upright, too_large
from chyme.imaging.decoding.pixel_conversion import convert_to_srgb

if TYPE_CHECKING:
    from PIL import Image

SAVE_AS_HINT = "open it in the program it came from and save it as JPEG or PNG"
EARLY_END = "the file ends early"
NO_PICTURE = "nothing in it looks like a picture"
FAILURE_LENGTH = 160
_PACKAGES = {"pillow_jxl": "pillow-jxl-plugin", "cv2": "opencv-python-headless"}
_FORMATS = {
    "image/jpeg": "JPEG",
    "image/png": "PNG",
    "image/gif": "GIF",
    "image/webp": "WebP",
    "image/tiff": "TIFF",
    "image/bmp": "BMP",
    "image/heic": "HEIC",
    "image/heif": "HEIF",
    "image/avif": "AVIF",
    "image/jxl": "JPEG XL",
    "image/jp2": "JPEG 2000",
    "image/svg+xml": "SVG",
    "image/vnd.adobe.photoshop": "PSD",
    "image/vnd.microsoft.icon": "ICO",
    "image/icns": "ICNS",
    "image/x-tga": "TGA",
    "image/vnd.zbrush.pcx": "PCX",
    "image/qoi": "QOI",
    "image/x-portable-anymap": "PNM",
    "image/x-adobe-dng": "DNG",
    "image/x-nikon-nef": "NEF",
    "image/x-canon-cr2": "CR2",
    "image/x-canon-cr3": "CR3",
    "image/x-sony-arw": "ARW",
}
_MIME_ALIASES = {
    "image/x-icon": "image/vnd.microsoft.icon",
    "image/apng": "image/png",
    "image/x-portable-pixmap": "image/x-portable-anymap",
    "image/x-portable-graymap": "image/x-portable-anymap",
    "image/x-portable-bitmap": "image/x-portable-anymap",
}
_OBJECT_REPR = re.compile(r"<[^>]*\bobject at 0x[0-9a-f]+>|<_io\.[^>]*>")


@dataclass(frozen=True, slots=True)
class Picture:
    """A decoded picture and what is known about it."""

    image: (
        Image.Image
    )  # upright RGB, transparency on white; never enlarged, except that small drawings are drawn larger
    width: int  # of the upright original
    height: int
    format: str
    mime: str
    frames: int = 1
    orientation: int = 1  # as stored; the image is upright
    facts: Mapping[str, object] = field(default_factory=dict)  # the file's metadata
    note: str | None = None  # what is missing, if anything is

    @property
    def animated(self) -> bool:
        return self.frames > 1 and self.mime in ("image/gif", "image/webp", "image/png", "image/avif")


def open_picture(name: str, stream: BinaryIO, limits: PictureLimits, longest: int | None = None) -> Picture:
    """The main picture of the file, its longest side at most `longest` pixels, or at full resolution."""
    size = _checked_size(name, stream, limits)
    mime = _detect_mime(name, stream, size)
    request = DecodeRequest(stream, size, longest, limits.image_pixels, _size_check(name, limits))
    decoded = _decode(name, mime, request, limits)
    mime = mime if mime in DECODERS else _MIME_ALIASES.get(decoded.mime or mime, decoded.mime or mime)
    image = rotate_upright(convert_to_srgb(decoded.image, decoded.profile), decoded.turn)
    kind = _FORMATS.get(mime) or mime.rpartition("/")[2].removeprefix("x-").upper()
    return Picture(image, *decoded.size, kind, mime, decoded.frames, decoded.orientation, decoded.facts, decoded.note)


def frames(stream: BinaryIO, name: str, limits: PictureLimits) -> Iterator[tuple[int, Image.Image]]:
    """Every page of a TIFF at full resolution, decoded one at a time; of any other file its one main picture.

    Pages count from 1. A page that cannot be decoded is left out, unless it is the first.
    """
    first = open_picture(name, stream, limits)
    count = first.frames if first.mime == "image/tiff" else 1
    yield 1, first.image
    del first
    for number in range(1, count):
        page = _decode_page(name, stream, number, limits)
        if page is not None:
            yield number + 1, page


def _decode_page(name: str, stream: BinaryIO, number: int, limits: PictureLimits) -> Image.Image | None:
    try:
        with pillow_limits(None):
            image = open_header(stream)
            image.seek(number)
            _size_check(name, limits)(image.size)
        with pillow_limits(limits.image_pixels):
            decoded = decode_pillow_frame(image, None)
    except (DigestError, MemoryError):
        raise
    except Exception as error:
        if too_large(error):
            raise _too_many_pixels(name, None, limits) from None
        return None
    return rotate_upright(convert_to_srgb(decoded.image, decoded.profile), decoded.turn)


def _checked_size(name: str, stream: BinaryIO, limits: PictureLimits) -> int:
    size = stream.seek(0, os.SEEK_END)
    stream.seek(0)
    if size == 0:
        raise UnreadableFile(f"{name}: the file is empty; copy it again from where it came")
    if size > limits.image_bytes:
        raise LimitReached(
            f"{name}: {size / MB:,.0f} MB, the limit for pictures is {limits.image_bytes / MB:,.0f} MB; "
            "raise image_bytes to read it"
        )
    return size


def _detect_mime(name: str, stream: BinaryIO, size: int) -> str:
    def read_at(offset: int, length: int) -> bytes:
        stream.seek(offset)
        return stream.read(length)

    return identify(name, read_at(0, HEAD_BYTES), size, read_at)[1]


def _size_check(name: str, limits: PictureLimits) -> Callable[[tuple[int, int]], None]:
    def check(size: tuple[int, int]) -> None:
        if size[0] < 1 or size[1] < 1:
            raise ValueError("its header gives no size")
        if size[0] * size[1] > limits.image_pixels:
            raise _too_many_pixels(name, size, limits)

    return check


def _too_many_pixels(name: str, size: tuple[int, int] | None, limits: PictureLimits) -> LimitReached:
    actual = f"{size[0]} × {size[1]} pixels" if size else "a picture inside is larger than the header says"
    limit = f"{limits.image_pixels / 1e6:,g} megapixels"
    return LimitReached(f"{name}: {actual}, the limit is {limit}; raise image_pixels to read it, or save it smaller")


def _decode(name: str, mime: str, request: DecodeRequest, limits: PictureLimits) -> DecodedImage:
    first = _try_decoder(name, DECODERS.get(mime, decode_with_pillow), request, limits)
    if isinstance(first, DecodedImage):
        return first
    others: list[BaseException] = []
    for decoder in fallback_decoders(mime):
        try:
            result = _try_decoder(name, decoder, request, limits)
        except MemoryError as error:  # a broken file may claim any size; the first decoder's answer stands
            result = error
        if isinstance(result, DecodedImage):
            return note_missing_part(result, request)
        others.append(result)
    raise _decode_error(name, mime, request, first, others) from first


def _try_decoder(
    name: str, decode: Decoder, request: DecodeRequest, limits: PictureLimits
) -> DecodedImage | BaseException:
    """The picture, or the error. Decoders raise every class there is; some errors from Rust are not Exceptions."""
    try:
        return decode(request)
    except (DigestError, MemoryError, KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        if too_large(error):
            raise _too_many_pixels(name, None, limits) from None
        return error.with_traceback(None)  # the traceback would keep half a picture in memory


def _decode_error(
    name: str, mime: str, request: DecodeRequest, first: BaseException, others: list[BaseException]
) -> DigestError:
    kind = _FORMATS.get(mime)
    if isinstance(first, ImportError):
        package = _PACKAGES.get(first.name or "", first.name)
        return EngineUnavailable(f"{name}: reading it needs {package}; run 'pip install {package}' where chyme lives")
    if kind is None:
        return UnsupportedFile(f"{name}: pictures of type {mime} are not read here; {SAVE_AS_HINT}")
    why = EARLY_END if ends_early(request.stream, request.size) else _describe_error(first)
    reasons = dict.fromkeys(map(_describe_error, others))
    other_reasons = [reason for reason in reasons if reason not in (why, NO_PICTURE)]
    # After "; " comes only the way out.
    others_tried = f" (other decoders: {', '.join(other_reasons)})" if other_reasons else ""
    error = UnsupportedFile if isinstance(first, UnsupportedEncoding) else UnreadableFile
    return error(f"{name}: cannot be read as {kind}: {why}{others_tried}; {SAVE_AS_HINT}")


def _describe_error(error: BaseException) -> str:
    """A decoder's error in one short line without internals."""
    words = getattr(error, "strerror", None) or str(error)  # next to `strerror` there is a path
    reason = _OBJECT_REPR.sub("the file", words).strip().partition("\n")[0]
    if "cannot identify image file" in reason or "stream_options" in reason:  # PyAV: it found no stream to limit
        return NO_PICTURE
    if "truncated" in reason.lower() or "end of file" in reason.lower():
        return EARLY_END
    if not reason or isinstance(error, LookupError | TypeError):
        return "the file is broken"
    return reason if len(reason) <= FAILURE_LENGTH else reason[: FAILURE_LENGTH - 1] + "…"
