"""The route that saves a page: its address, its title, and what was selected on it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from fastapi import FastAPI, Response
from pydantic import BaseModel, Field

from chyme.application.app import App
from chyme.doors.http.request_bodies import RequestBody
from chyme.doors.http.routes.uploads import AddedLink, Folder, Url
from chyme.vault.intake.captures import MAX_TEXT, save_shared, sort_shared


class NewCapture(RequestBody):
    """A page to save, or a text that may hold the address of one."""

    url: Url = ""
    title: Annotated[str, Field(max_length=10_000)] = ""
    text: Annotated[str, Field(max_length=MAX_TEXT)] = ""
    folder: Folder = ""


class Captured(BaseModel):
    """The link file, and the note with the text; null where there was none."""

    link: AddedLink | None
    note: str | None
    created: bool


def add_routes(api: FastAPI, app: App) -> None:
    @api.post(
        "/api/capture",
        status_code=201,
        responses={200: {"model": Captured, "description": "All of it was there before"}},
    )
    def capture(new: NewCapture, response: Response) -> Captured:
        """Save a page as a link, with its title and the text selected on it."""
        saved = save_shared(app.open_vault, sort_shared(new.title, new.text, new.url), new.folder)
        response.status_code = 201 if saved.created else 200
        link = None if saved.link is None else AddedLink(**asdict(saved.link))
        return Captured(link=link, note=saved.note, created=saved.created)
