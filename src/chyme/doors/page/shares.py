"""The page of links: what is shared, with whom it was opened, and ending it."""

from __future__ import annotations

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse

from chyme.application.app import App
from chyme.doors.http.routes.shares import require_sharer
from chyme.doors.page.rendering import page


def add_routes(api: FastAPI, app: App) -> None:
    @api.get("/shares")
    def shares(request: Request) -> HTMLResponse:
        """The links to files of this vault, newest first."""
        require_sharer(request)
        return page(request, "shares.html", active="settings", shares=app.shares.list_all())

    @api.get("/ui/shares/list")
    def listed(request: Request) -> HTMLResponse:
        """The list without its frame."""
        require_sharer(request)
        return page(request, "shares_list.html", shares=app.shares.list_all())
