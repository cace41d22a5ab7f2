"""The second way to decode: slower, or satisfied with less, for files that the first way gave up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from chyme.imaging.decoding.decoder_interface import CUT, DAMAGED, ENDS_EARLY, SMALL, DecodedImage, DecodeRequest
from chyme.imaging.decoding.decoders import decode_pillow_frame, decode_raw_preview
from chyme.imaging.decoding.headers import ends_early
from chyme.imaging.decoding.pillow import open_header, pillow_limits, upright_size
from chyme.imaging.decoding.resizing import scale_to_grey, shrink
from chyme.imaging.decoding.tiff import tiff_size

if TYPE_CHECKING:
    from PIL import Image

Decoder = Callable[[DecodeRequest], DecodedImage]

# Named, so that a file cannot pass for a playlist and have others opened.
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
_NOT_FOR_PILLOW = frozenset({"image/heic", "image/jxl", "image/svg+xml", "image/x-canon-cr3"})


def fallback_decoders(mime: str) -> Iterator[Decoder]:
    """What is worth trying, best first."""
    if mime not in _NOT_FOR_PILLOW:
        yield _forgiving_pillow
    if mime in ("image/heic", "image/heif"):
        yield _small_heif
    if mime == "image/tiff":
        yield _by_opencv
    if mime in _DEMUXERS:
        yield lambda request: _by_ffmpeg(request, _DEMUXERS[mime])
    if mime == "image/tiff":
        yield decode_raw_preview  # camera raw under another name


def note_missing_part(found: DecodedImage, request: DecodeRequest) -> DecodedImage:
    """What was saved, saying what is missing."""
    if found.note in (None, DAMAGED) and ends_early(request.stream, request.size):
        return replace(found, note=CUT)
    return found


def is_blank(image: Image.Image) -> bool:
    """Whether every pixel is the same: a decoder that found nothing leaves that."""
    extrema = image.getextrema()
    pairs = extrema if isinstance(extrema[0], tuple) else (extrema,)
    return all(low == high for low, high in pairs)


def _forgiving_pillow(request: DecodeRequest) -> DecodedImage:
    with pillow_limits(None, forgiving=True):
        image = open_header(request.stream)
        request.check(image.size)
    with image, pillow_limits(request.most_pixels, forgiving=True):
        found = decode_pillow_frame(image, request.longest)
    if is_blank(found.image):
        raise ValueError("nothing of the picture is left")
    return replace(found, note=DAMAGED)


def _small_heif(request: DecodeRequest) -> DecodedImage:
    from chyme.imaging.decoding.heif import heif_header

    heif = heif_header(request.stream)
    request.check(heif.size)
    small = heif.thumbnail()
    if small is None:
        raise ValueError("it carries no smaller picture")
    return DecodedImage(shrink(small, request.longest), heif.size, note=SMALL)


def _by_ffmpeg(request: DecodeRequest, demuxer: str) -> DecodedImage:
    import av

    request.stream.seek(0)
    bound = {"max_pixels": str(request.most_pixels)}  # it decodes as soon as it opens, so that nobody else can check
    while_probing: Any = [bound]
    with av.open(request.stream, mode="r", format=demuxer, stream_options=while_probing) as container:
        videos = container.streams.video
        if len(videos) != 1:  # the tiles of a large picture, one by one
            raise ValueError("it has no single picture inside")
        video = videos[0]
        video.codec_context.options = bound
        video.codec_context.thread_count = 1
        for frame in container.decode(video):
            image: Image.Image = frame.to_image()  # type: ignore[no-untyped-call]
            size, turn = image.size, {90: 8, 180: 3, 270: 6}.get(round(getattr(frame, "rotation", 0)) % 360, 1)
            note = ENDS_EARLY if demuxer == "mov" and ends_early(request.stream, request.size) else None
            return DecodedImage(shrink(image, request.longest), upright_size(size, turn), turn=turn, note=note)
    raise ValueError("no picture came out")


def _by_opencv(request: DecodeRequest) -> DecodedImage:
    """TIFFs in layouts that only scientists use: floating colours, odd depths, signs."""
    import cv2
    import numpy

    size = tiff_size(request.stream)
    if size is None:
        raise ValueError("its header does not tell how large it is")
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
