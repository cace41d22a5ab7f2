"""Serves scripts, styles and pictures of the web page. Nothing is loaded from elsewhere."""

from __future__ import annotations

import os
import re
from pathlib import Path

from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from chyme.doors.page.rendering import STATIC, STATIC_VERSION

TYPES = {  # the system's own tables differ between machines
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".webmanifest": "application/manifest+json",
    ".woff2": "font/woff2",
    ".png": "image/png",
}
CACHE_FOREVER = "public, max-age=31536000, immutable"
_VERSION_FOLDER = re.compile(r"^[0-9a-f]{10}/")


class Static(StaticFiles):
    """Files are cached forever when the first folder of their path is the current version.

    Everything else is revalidated. A page from before an upgrade asks for an older version: it gets the current file,
    which must not be cached under that address.
    """

    def __init__(self) -> None:
        super().__init__(directory=STATIC)

    def lookup_path(self, path: str) -> tuple[str, os.stat_result | None]:
        try:
            return super().lookup_path(_VERSION_FOLDER.sub("", path))
        except ValueError:  # a NUL in the name
            return "", None

    def file_response(
        self, full_path: str | os.PathLike[str], stat_result: os.stat_result, scope: Scope, status_code: int = 200
    ) -> Response:
        response = super().file_response(full_path, stat_result, scope, status_code)
        is_current = self.get_path(scope).startswith(f"{STATIC_VERSION}/")
        response.headers["Cache-Control"] = CACHE_FOREVER if is_current else "no-cache"
        media_type = TYPES.get(Path(full_path).suffix)
        if media_type is not None and response.status_code == 200:
            response.headers["Content-Type"] = media_type
        return response
