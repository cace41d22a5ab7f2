"""The digester that makes an upright JPEG preview and a thumbnail of a picture of any format."""

from __future__ import annotations

import json

from chyme.core.package_versions import describe_versions
from chyme.digester import Digester, Makes, Runs, Source
from chyme.errors import UpstreamMissing
from chyme.imaging.decoding.decoder_interface import PictureLimits
from chyme.model import File, Form, Kind, Output

DECODERS = ("pillow", "pillow-heif", "pillow-jxl-plugin", "resvg-py", "av", "opencv-python-headless")


class ImagePreview(Digester):
    """Writes `preview.jpg` and `thumbnail.jpg`; the content is the file's own metadata as JSON."""

    name = "image-preview"
    label = "Preview"
    description = "The picture upright as JPEG, a thumbnail, and when, where and with what it was taken."
    makes = Makes(Form.PICTURE_FACTS, picture="preview.jpg", essential_for=frozenset({Kind.IMAGE}))
    runs = Runs(family="pictures")

    def __init__(self, limits: PictureLimits | None = None, tell_place: bool = True, seconds: float = 600.0) -> None:
        self.limits = limits or PictureLimits()
        self.tell_place = tell_place
        self.seconds = seconds

    @property
    def fingerprint(self) -> str:
        return f"{describe_versions(*DECODERS)} {self.limits} {self.tell_place}"

    def can_digest(self, file: File) -> bool:
        return file.kind is Kind.IMAGE

    def time_limit(self, source: Source) -> float:
        return self.seconds

    def digest(self, source: Source) -> list[Output]:
        from chyme.imaging.decoding.reader import open_picture
        from chyme.imaging.thumbnails import make_preview_and_thumbnail

        with source.open() as stream:
            picture = open_picture(source.file.name, stream, self.limits, self.limits.preview)
        fields = {
            "width": picture.width,
            "height": picture.height,
            "format": picture.format,
            "mime": picture.mime,
            "frames": picture.frames if picture.frames > 1 else None,
            "animated": picture.animated or None,
            "orientation": picture.orientation if picture.orientation > 1 else None,
            **picture.facts,
            "note": picture.note,
        }
        if not self.tell_place:
            fields.pop("place", None)
        known = {name: value for name, value in fields.items() if value is not None}
        content = json.dumps(known, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        artifacts = make_preview_and_thumbnail("preview.jpg", picture.image, self.limits.preview, self.limits.thumbnail)
        return [Output(self.name, content, artifacts)]


PREVIEW = "preview.jpg"


def preview_of(source: Source) -> bytes:
    """Return the upright JPEG, or raise UpstreamMissing."""
    preview = source.output("image-preview")
    jpeg = preview.artifacts.get(PREVIEW) if preview else None
    if not jpeg:
        raise UpstreamMissing(f"{source.file.name}: there is no preview to look at; see what became of image-preview")
    return jpeg
