"""The trash page: files that were deleted and can be restored."""

from __future__ import annotations

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse

from chyme.application.app import App
from chyme.doors.page.rendering import page


def add_routes(api: FastAPI, app: App) -> None:
    @api.get("/trash")
    def trash(request: Request) -> HTMLResponse:
        """What is in the trash, newest first."""
        return page(request, "trash.html", active="trash", trashed=app.trash.list_all())

    @api.get("/ui/trash/list")
    def some(request: Request) -> HTMLResponse:
        """The list without its frame."""
        return page(request, "trash_list.html", trashed=app.trash.list_all())
