"""The first decoder for each format: fast, and scaling while decoding where the format allows it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, BinaryIO

from chyme.imaging.decoding.decoder_interface import ENDS_EARLY, RAW, DecodedImage, DecodeRequest, UnsupportedEncoding
from chyme.imaging.decoding.headers import ends_early, jxl_size
from chyme.imaging.decoding.metadata import exif_in, exif_of, facts_of, orientation_of
from chyme.imaging.decoding.pillow import open_header, pillow_limits, upright_size
from chyme.imaging.decoding.pixel_conversion import fit_size, shrink

if TYPE_CHECKING:
    from PIL import ImageFile

MULTI_FRAME_FORMATS = ("GIF", "WEBP", "PNG", "AVIF", "TIFF")  # in other formats, frames are layers, sizes or depth maps


def decode_with_pillow(request: DecodeRequest) -> DecodedImage:
    with pillow_limits(None):
        image = open_header(request.stream)
        request.check(image.size)
        count = frame_count(image)
    with image, pillow_limits(request.max_pixels):
        return decode_pillow_frame(image, request.longest, count)


def decode_pillow_frame(image: ImageFile.ImageFile, longest: int | None, count: int = 1) -> DecodedImage:
    """Decode the frame that is selected in the image."""
    size, kind, mime = image.size, image.format, image.get_format_mimetype()
    if longest is not None and kind in ("JPEG", "MPO"):
        image.draft(None, fit_size(size, longest))
    tiff = kind == "TIFF"  # Pillow rotates TIFFs itself, and forgets their orientation
    if not tiff:
        image.load()
    exif = exif_of(image)
    orientation, facts = orientation_of(exif), facts_of(exif, _info_with_iptc(image))
    if tiff:
        image.load()
    turn = 1 if tiff else orientation
    profile = image.info.get("icc_profile")
    mime = "image/jpeg" if kind == "MPO" else mime
    return DecodedImage(
        *(shrink(image, longest), upright_size(size, turn), orientation, turn, count, mime, facts, profile)
    )


def decode_with_libheif(request: DecodeRequest) -> DecodedImage:
    from chyme.imaging.decoding.heif import decode_main, read_header

    heif = read_header(request.stream)
    request.check(heif.size)
    image = decode_main(heif, request.longest)
    info = heif.info
    exif = exif_in(info.get("exif"))
    note = ENDS_EARLY if ends_early(request.stream, request.size) else None
    # libheif has already rotated it; the EXIF orientation is only for information.
    return DecodedImage(
        image,
        heif.size,
        orientation_of(exif),
        frames=len(heif),
        facts=facts_of(exif, info),
        profile=info.get("icc_profile"),
        note=note,
    )


def decode_with_libjxl(request: DecodeRequest) -> DecodedImage:
    from pillow_jxl import JpegXLImagePlugin

    size = jxl_size(request.stream, request.size)
    if size is None:
        raise ValueError("its header is broken")
    request.check(size)  # opening decodes it at once
    JpegXLImagePlugin.DECODE_THREADS = 0
    request.stream.seek(0)
    with pillow_limits(request.max_pixels), JpegXLImagePlugin.JXLImageFile(request.stream) as image:
        decoded = decode_pillow_frame(image, request.longest)
        if image.jpeg:  # a losslessly packed JPEG is not rotated; everything else comes out upright
            return decoded
        return replace(decoded, size=image.size, turn=1)


def decode_with_resvg(request: DecodeRequest) -> DecodedImage:
    from chyme.imaging.decoding.svg import SVG_BYTES, parse_svg

    request.stream.seek(0)
    data = request.stream.read(SVG_BYTES + 1)
    if len(data) > SVG_BYTES:
        raise ValueError(f"it has more than {SVG_BYTES >> 20} MB of markup")
    drawing = parse_svg(data)
    return DecodedImage(drawing.image(request.longest), (drawing.width, drawing.height), note=drawing.note)


def decode_raw_preview(request: DecodeRequest) -> DecodedImage:
    from chyme.imaging.decoding.camera_raw import previews

    for preview in previews(request.stream):
        try:
            with pillow_limits(None), open_header(preview) as image:
                request.check(image.size)
                decoded = decode_pillow_frame(image, request.longest)
        except (OSError, SyntaxError, ValueError):
            continue
        return _add_raw_facts(decoded, request.stream)
    raise UnsupportedEncoding("no preview inside this camera raw file")


def _add_raw_facts(preview: DecodedImage, stream: BinaryIO) -> DecodedImage:
    exif: Mapping[int, Any] = {}
    try:
        with pillow_limits(None):
            exif = exif_of(open_header(stream))
    except (OSError, SyntaxError, ValueError):
        pass  # not every camera writes a TIFF that Pillow reads
    orientation = orientation_of(exif) if preview.turn == 1 else preview.turn
    size = preview.size if preview.turn != 1 else upright_size(preview.size, orientation)
    facts = facts_of(exif, {}) or preview.facts
    return replace(
        preview, size=size, orientation=orientation, turn=orientation, frames=1, mime=None, facts=facts, note=RAW
    )


def frame_count(image: ImageFile.ImageFile) -> int:
    """How many pages or frames there are; 1 if unknown. Call before the image is loaded."""
    if image.format not in MULTI_FRAME_FORMATS:
        return 1
    try:
        return max(1, int(getattr(image, "n_frames", 1)))
    except (OSError, ValueError, SyntaxError, EOFError, TypeError, KeyError, IndexError):
        return 1


def _info_with_iptc(image: ImageFile.ImageFile) -> dict[Any, Any]:
    from PIL import IptcImagePlugin

    info = dict(image.info)
    if image.format in ("JPEG", "MPO", "TIFF"):
        try:
            info["iptc"] = IptcImagePlugin.getiptcinfo(image)
        except Exception:
            info["iptc"] = None  # may be malformed, which is no reason to lose the picture
    return info


DECODERS: dict[str, Callable[[DecodeRequest], DecodedImage]] = {
    "image/heic": decode_with_libheif,
    "image/heif": decode_with_libheif,
    "image/jxl": decode_with_libjxl,
    "image/svg+xml": decode_with_resvg,
    "image/x-adobe-dng": decode_raw_preview,
    "image/x-nikon-nef": decode_raw_preview,
    "image/x-canon-cr2": decode_raw_preview,
    "image/x-canon-cr3": decode_raw_preview,
    "image/x-sony-arw": decode_raw_preview,
}
