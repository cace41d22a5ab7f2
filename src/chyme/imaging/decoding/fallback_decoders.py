"""Decoders for files that the first decoder rejected: slower, or content with less."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from chyme.imaging.decoding.decoder_interface import CUT, DAMAGED, ENDS_EARLY, SMALL, DecodedImage, DecodeRequest
from chyme.imaging.decoding.decoders import decode_pillow_frame, decode_raw_preview
from chyme.imaging.decoding.headers import ends_early, tiff_size
from chyme.imaging.decoding.pillow import open_header, pillow_limits, upright_size
from chyme.imaging.decoding.pixel_conversion import scale_to_grey, shrink

if TYPE_CHECKING:
    from PIL import Image

Decoder = Callable[[DecodeRequest], DecodedImage]

# The demuxer is fixed, so that a file cannot pose as a playlist and make FFmpeg open others.
_DEMUXERS = {
    "image/jpeg": "jpeg_pipe",
    "image/png": "png_pipe",
    "image/gif": "gif",
    "image/webp": "webp_pipe",
    "image/tiff": "tiff_pipe",
    "image/bmp": "bmp_pipe",
    "image/jp2": "j2k_pipe",
    "image/jxl": "jpegxl_pipe",
    "image/vnd.adobe.photoshop": "psd_pipe",
    "image/heic": "mov",
    "image/heif": "mov",
    "image/avif": "mov",
}
_UNKNOWN_TO_PILLOW = frozenset({"image/heic", "image/jxl", "image/svg+xml", "image/x-canon-cr3"})


def fallback_decoders(mime: str) -> Iterator[Decoder]:
    """The decoders worth trying, best first."""
    if mime not in _UNKNOWN_TO_PILLOW:
        yield _decode_truncated_with_pillow
    if mime in ("image/heic", "image/heif"):
        yield _decode_heif_thumbnail
    if mime == "image/tiff":
        yield _decode_with_opencv
    if mime in _DEMUXERS:
        yield lambda request: _decode_with_ffmpeg(request, _DEMUXERS[mime])
    if mime == "image/tiff":
        yield decode_raw_preview  # camera raw under another name


def note_missing_part(decoded: DecodedImage, request: DecodeRequest) -> DecodedImage:
    """Add a note to a rescued picture if a part is missing."""
    if decoded.note in (None, DAMAGED) and ends_early(request.stream, request.size):
        return replace(decoded, note=CUT)
    return decoded


def is_blank(image: Image.Image) -> bool:
    """Whether every pixel is the same, as when a decoder found nothing."""
    extrema = image.getextrema()
    pairs = extrema if isinstance(extrema[0], tuple) else (extrema,)
    return all(low == high for low, high in pairs)


def _decode_truncated_with_pillow(request: DecodeRequest) -> DecodedImage:
    with pillow_limits(None, forgiving=True):
        image = open_header(request.stream)
        request.check(image.size)
    with image, pillow_limits(request.max_pixels, forgiving=True):
        decoded = decode_pillow_frame(image, request.longest)
    if is_blank(decoded.image):
        raise ValueError("nothing of the picture is left")
    return replace(decoded, note=DAMAGED)


def _decode_heif_thumbnail(request: DecodeRequest) -> DecodedImage:
    from chyme.imaging.decoding.heif import decode_thumbnail, read_header

    heif = read_header(request.stream)
    request.check(heif.size)
    small = decode_thumbnail(heif)
    if small is None:
        raise ValueError("it carries no smaller picture")
    return DecodedImage(shrink(small, request.longest), heif.size, note=SMALL)


def _decode_with_ffmpeg(request: DecodeRequest, demuxer: str) -> DecodedImage:
    import av

    request.stream.seek(0)
    # FFmpeg decodes as soon as it opens a file, before a check is possible.
    limits = {"max_pixels": str(request.max_pixels)}
    probing_limits: Any = [limits]
    with av.open(request.stream, mode="r", format=demuxer, stream_options=probing_limits) as container:
        videos = container.streams.video
        if len(videos) != 1:  # the tiles of a large picture, one by one
            raise ValueError("it has no single picture inside")
        video = videos[0]
        video.codec_context.options = limits
        video.codec_context.thread_count = 1
        for frame in container.decode(video):
            image: Image.Image = frame.to_image()  # type: ignore[no-untyped-call]
            size, turn = image.size, {90: 8, 180: 3, 270: 6}.get(round(getattr(frame, "rotation", 0)) % 360, 1)
            note = ENDS_EARLY if demuxer == "mov" and ends_early(request.stream, request.size) else None
            return DecodedImage(shrink(image, request.longest), upright_size(size, turn), turn=turn, note=note)
    raise ValueError("no picture came out")


def _decode_with_opencv(request: DecodeRequest) -> DecodedImage:
    """Decode TIFFs in layouts that only scientists use: floating-point colours, odd depths, signed values."""
    import cv2
    import numpy

    size = tiff_size(request.stream)
    if size is None:
        raise ValueError("its header gives no size")
    request.check(size)  # OpenCV decodes at once
    request.stream.seek(0)
    data = numpy.frombuffer(request.stream.read(), numpy.uint8)
    cv2.setNumThreads(1)
    cv2.utils.logging.setLogLevel(cv2.utils.logging.LOG_LEVEL_SILENT)
    pixels = cv2.imdecode(data, cv2.IMREAD_UNCHANGED)
    del data
    if pixels is None:
        raise ValueError("no picture came out")
    image = scale_to_grey(pixels if pixels.ndim == 2 else pixels[:, :, 2::-1])  # blue comes first, and alpha last
    return DecodedImage(shrink(image, request.longest), image.size)
