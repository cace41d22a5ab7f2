"""The routes about the links in a text."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from fastapi import FastAPI
from pydantic import BaseModel, Field

from chyme.application.app import App
from chyme.doors.http.problem_details import require_file
from chyme.doors.http.request_bodies import RequestBody
from chyme.doors.http.routes.uploads import AddedLink, AddedLinks, Folder, Url
from chyme.vault.intake.text_links import FOLDER, keep_links, links_of


class KeptLink(BaseModel):
    """One link in a text."""

    url: str
    path: str | None


class TextLinks(BaseModel):
    """The links in a text, and the link files that save them."""

    links: list[KeptLink]


class Keep(RequestBody):
    """Which links of a text to save, and where."""

    urls: Annotated[list[Url], Field(min_length=1, max_length=100)] | None = None
    folder: Folder = FOLDER


def add_routes(api: FastAPI, app: App) -> None:
    @api.get("/api/links/{path:path}")
    def links(path: str) -> TextLinks:
        """The links in a text."""
        require_file(app, path)
        return TextLinks(links=[KeptLink(**asdict(link)) for link in links_of(app.open_vault, path)])

    @api.post("/api/links/{path:path}")
    def keep(path: str, wanted: Keep | None = None) -> AddedLinks:
        """Save links of a text as link files, each once."""
        require_file(app, path)
        wanted = wanted or Keep()
        saved = keep_links(app.open_vault, path, wanted.urls, wanted.folder)
        return AddedLinks(links=[AddedLink(**asdict(link)) for link in saved])
