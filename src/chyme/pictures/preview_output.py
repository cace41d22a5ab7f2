"""Access to the preview image that image-preview made, for digesters that look at the picture."""

from __future__ import annotations

from chyme.digester import Source
from chyme.errors import UpstreamMissing

PREVIEW = "preview.jpg"


def preview_of(source: Source) -> bytes:
    """Return the upright JPEG, or raise UpstreamMissing."""
    preview = source.output("image-preview")
    jpeg = preview.artifacts.get(PREVIEW) if preview else None
    if not jpeg:
        raise UpstreamMissing(f"{source.file.name}: there is no preview to look at; see what became of image-preview")
    return jpeg
