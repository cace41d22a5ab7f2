"""The picture embedded in a recording, such as an album cover or a show's logo."""

from __future__ import annotations

import io
import warnings
from typing import TYPE_CHECKING

from chyme.imaging.thumbnails import LONGEST
from chyme.speech.media.limits import MediaLimits

if TYPE_CHECKING:
    from av.container import InputContainer
    from PIL import Image

_FORMATS = ("JPEG", "PNG", "GIF", "BMP", "WEBP")
_MAX_PACKETS = 100  # pictures come before all other packets


def cover_of(container: InputContainer, limits: MediaLimits) -> tuple[Image.Image | None, str | None]:
    """Return the front cover or else the first readable picture; and a note when all pictures are unreadable."""
    import av.error
    from av.stream import Disposition

    pictures = [stream for stream in container.streams.video if stream.disposition & Disposition.attached_pic]
    if not pictures:
        return None, None
    pictures.sort(key=lambda stream: "front" not in stream.metadata.get("comment", "").lower())
    data: dict[int, bytes] = {}
    try:
        for count, packet in enumerate(container.demux(*pictures)):
            if packet.size:
                data.setdefault(packet.stream_index, bytes(packet))
            if len(data) == len(pictures) or count >= _MAX_PACKETS:
                break
    except av.error.FFmpegError:
        pass
    note: str | None = "its cover cannot be read"
    for stream in pictures:
        image, problem = _decode(data.get(stream.index, b""), limits.cover_pixels)
        if image is not None:
            return image, None
        note = problem or note
    return None, note


def _decode(data: bytes, max_pixels: int) -> tuple[Image.Image | None, str | None]:
    from PIL import Image, ImageOps

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings about sizes, which are checked here, and about odd metadata
        try:
            image = Image.open(io.BytesIO(data), formats=_FORMATS)
            if image.width * image.height > max_pixels:
                return None, f"its cover is larger than cover_pixels ({max_pixels:,}) allows"
            image.draft("RGB", (LONGEST, LONGEST))
            image.load()
            return ImageOps.exif_transpose(image), None
        except Image.DecompressionBombError:
            return None, f"its cover is larger than cover_pixels ({max_pixels:,}) allows"
        except (OSError, ValueError, SyntaxError, EOFError, IndexError, KeyError, TypeError, OverflowError):
            return None, None  # these are what Pillow raises for broken pictures
