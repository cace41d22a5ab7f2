"""Scripts, styles and pictures of the page. Nothing is loaded from elsewhere."""

from __future__ import annotations

import os
from pathlib import Path

from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from chyme.doors.page.rendering import STATIC

TYPES = {  # what the system's tables say differs from one machine to the next
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".webmanifest": "application/manifest+json",
    ".woff2": "font/woff2",
    ".png": "image/png",
}
CACHE_FOREVER = "public, max-age=31536000, immutable"


class Static(StaticFiles):
    """Kept for good when asked for with a version behind the question mark; otherwise asked for anew."""

    def __init__(self) -> None:
        super().__init__(directory=STATIC)

    def lookup_path(self, path: str) -> tuple[str, os.stat_result | None]:
        try:
            return super().lookup_path(path)
        except ValueError:  # a NUL in the name
            return "", None

    def file_response(
        self, full_path: str | os.PathLike[str], stat_result: os.stat_result, scope: Scope, status_code: int = 200
    ) -> Response:
        answer = super().file_response(full_path, stat_result, scope, status_code)
        answer.headers["Cache-Control"] = CACHE_FOREVER if scope.get("query_string") else "no-cache"
        kind = TYPES.get(Path(full_path).suffix)
        if kind is not None and answer.status_code == 200:
            answer.headers["Content-Type"] = kind
        return answer
