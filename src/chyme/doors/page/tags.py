"""The tags page: find, rename, merge and ban tags."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import FastAPI, Query, Request
from fastapi.responses import HTMLResponse

from chyme.application.app import App
from chyme.doors.page.rendering import page
from chyme.understanding.tags.rename_merge_ban import filter_tags

SHOWN = 120  # tags at once; more are loaded on scrolling
LAST = 1_000_000
PAIRS = 30
Words = Annotated[str, Query(max_length=200)]
Order = Literal["files", "name"]
Offset = Annotated[int, Query(ge=0, le=LAST)]


def add_routes(api: FastAPI, app: App) -> None:
    def render(request: Request, template: str, q: str, sort: Order, offset: int) -> HTMLResponse:
        listing = app.tags.list_all()
        matching = filter_tags(listing.tags, contains=q, by_name=sort == "name")
        next_offset = offset + SHOWN
        return page(
            request,
            template,
            active="tags",
            tags=matching[offset:next_offset],
            total=len(matching),
            all_tags=len(listing.tags),
            banned=listing.banned,
            becomes=listing.becomes,
            q=q,
            sort=sort,
            offset=offset,
            next=next_offset if next_offset < len(matching) else None,
        )

    @api.get("/tags")
    def tags(request: Request, q: Words = "", sort: Order = "files") -> HTMLResponse:
        """All tags, those on most files first."""
        return render(request, "tags.html", q, sort, 0)

    @api.get("/ui/tags/list")
    def some(request: Request, q: Words = "", sort: Order = "files", offset: Offset = 0) -> HTMLResponse:
        """Some of the tags that contain these letters."""
        return render(request, "tags_list.html" if not offset else "tags_rows.html", q, sort, offset)

    @api.get("/ui/tags/decided")
    def decided(request: Request) -> HTMLResponse:
        """What was decided about tags."""
        return render(request, "tags_decided.html", "", "files", 0)

    @api.get("/ui/tags/similar")
    def similar(request: Request) -> HTMLResponse:
        """Tags that may be one; comparing thousands takes a moment."""
        return page(request, "tags_similar.html", pairs=app.tags.similar()[:PAIRS])
