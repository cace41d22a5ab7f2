"""The bytes of files, artifacts and pages: ranges, caching, and nothing that could run in the page."""

from __future__ import annotations

from fastapi import FastAPI
from fastapi.responses import Response

from chyme.app import App
from chyme.web.not_found import NotFound

TYPES = {".jpg": "image/jpeg", ".json": "application/json"}  # whatever else an artifact is, it is only downloaded


def add_routes(api: FastAPI, app: App) -> None:
    """Add these routes to the HTTP face of an opened vault."""

    @api.get("/api/artifacts/{name:path}", response_class=Response)
    def artifact(name: str) -> Response:
        """The bytes of a preview, thumbnail, poster, cover or first page."""
        data = app.documents.artifact(name)
        if data is None:
            raise NotFound(f"{name}: is no artifact of this vault")
        known = TYPES.get(name[name.rfind(".") :])
        headers = {"Content-Security-Policy": "default-src 'none'; sandbox"}
        if known is None:
            headers["Content-Disposition"] = "attachment"
        return Response(data, media_type=known or "application/octet-stream", headers=headers)
