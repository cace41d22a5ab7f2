"""Rewrite parts of a zip package before a converter reads it, so that what it would drop arrives as plain text."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping

from chyme.documents.conversion.zip_packages import Package

_MEDIA = (
    *(".png", ".jpg", ".jpeg", ".gif", ".bmp", ".tif", ".tiff", ".emf", ".wmf", ".webp"),
    *(".mp3", ".mp4", ".m4a", ".m4v", ".mov", ".wav", ".wmv", ".avi", ".ttf", ".otf", ".odttf", ".fntdata"),
)


def rewrite(package: Package, parts: Mapping[str, bytes]) -> bytes:
    """The package with these parts in place of its own. Pictures, sounds and fonts are empty: nothing reads them."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name in dict.fromkeys(package.names):
            if name in parts:
                archive.writestr(name, parts[name])
            elif name.lower().endswith(_MEDIA):
                archive.writestr(name, b"")
            else:
                archive.writestr(name, package.read(name) or b"")
    return buffer.getvalue()
