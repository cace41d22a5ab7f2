"""The picture as image-preview made it, for those who look at it."""

from __future__ import annotations

from chyme.digester import Source
from chyme.errors import UpstreamMissing

PREVIEW = "preview.jpg"


def preview_of(source: Source) -> bytes:
    """An upright JPEG, or UpstreamMissing."""
    preview = source.output("image-preview")
    jpeg = preview.artifacts.get(PREVIEW) if preview else None
    if not jpeg:
        raise UpstreamMissing(f"{source.file.name}: there is no preview to look at; see what became of image-preview")
    return jpeg
