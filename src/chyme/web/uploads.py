"""The routes by which files, links and notes come in."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI, Response
from pydantic import BaseModel, ConfigDict

from chyme.app import App
from chyme.app.adding import add_links


class NewLink(BaseModel):
    """A page somebody wants in the vault."""

    model_config = ConfigDict(extra="forbid")

    url: str
    name: str | None = None
    folder: str = ""


def add_routes(api: FastAPI, app: App) -> None:
    """Add these routes to the HTTP face of an opened vault."""

    @api.post("/api/links", status_code=201)
    def add_link(link: NewLink, response: Response) -> dict[str, Any]:
        """Put a link into the vault; 200 when it is there already."""
        (added,) = add_links(app, [link.url], link.name, link.folder)
        response.status_code = 201 if added.created else 200
        return {"url": added.url, "path": added.path, "created": added.created}
