"""The routes about saved searches: each user's own, what is new to them, and their feeds."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import FastAPI, Path, Query, Request
from pydantic import BaseModel, Field

from chyme.application.app import App
from chyme.doors.http.address_of_server import server_address, user_of
from chyme.doors.http.request_bodies import RequestBody
from chyme.search.query.parser import LONGEST_QUESTION
from chyme.search.saved_searches import MAX_NAME, SavedSearch, search_json

Number = Annotated[int, Path(ge=1, le=2**63 - 1)]
Name = Annotated[str, Field(min_length=1, max_length=MAX_NAME)]
SearchMode = Literal["both", "words", "meaning"]


class Wanted(RequestBody):
    """A search, and the name it is saved under."""

    name: Name
    query: Annotated[str, Field(min_length=1, max_length=LONGEST_QUESTION)]
    mode: SearchMode = "both"


class Renaming(RequestBody):
    """Another name."""

    name: Name


class Seen(RequestBody):
    """How far it was looked at: the `newest` of the search when it was listed; without it, all."""

    until: Annotated[int, Field(ge=0, le=2**63 - 1, strict=True)] | None = None


class OneSearch(BaseModel):
    """A saved search. `new` counts the files that came since it was last marked as seen, at most 1000."""

    id: int
    name: str
    query: str
    mode: SearchMode
    created_at: str
    seen_at: str
    newest: int
    new: int
    feed: bool
    feed_made_at: str | None
    feed_read_at: str | None


class Searches(BaseModel):
    """Your saved searches, by name."""

    searches: list[OneSearch]


class NewFile(BaseModel):
    """A file that a search finds, and when it arrived."""

    path: str
    title: str
    kind: str
    date: str | None
    arrived_at: str


class WhatIsNew(BaseModel):
    """A saved search, and the files that are new to it, the newest first."""

    search: OneSearch
    files: list[NewFile]


class Deleted(BaseModel):
    """The name of what was deleted."""

    deleted: str


class Feed(BaseModel):
    """The address of a feed; it is shown this once."""

    address: str


def add_routes(api: FastAPI, app: App) -> None:
    @api.get("/api/searches")
    def listed(request: Request) -> Searches:
        """Your saved searches, with how many files are new to each."""
        return Searches(searches=[_response(app, saved) for saved in app.saved_searches.list_all(user_of(request))])

    @api.post("/api/searches", status_code=201)
    def save(request: Request, wanted: Wanted) -> OneSearch:
        """Save a search under a name. What is there now counts as seen."""
        return _response(app, app.saved_searches.save(wanted.name, wanted.query, wanted.mode, user_of(request)))

    @api.get("/api/searches/{search_id}/new")
    def whats_new(request: Request, search_id: Number, limit: Annotated[int, Query(ge=1, le=1000)] = 100) -> WhatIsNew:
        """The files that are new to a saved search, the newest first."""
        saved = app.saved_searches.find(search_id, user_of(request))
        files = [
            NewFile(
                path=file.card.path,
                title=file.card.title,
                kind=str(file.card.kind),
                date=file.card.date,
                arrived_at=file.at,
            )
            for file in app.saved_searches.new_files(saved, limit)
        ]
        return WhatIsNew(search=_response(app, saved), files=files)

    @api.post("/api/searches/{search_id}/seen")
    def seen(request: Request, search_id: Number, how_far: Seen | None = None) -> OneSearch:
        """Mark what is new to a saved search as seen."""
        until = how_far.until if how_far else None
        return _response(app, app.saved_searches.mark_seen(search_id, until, user_of(request)))

    @api.patch("/api/searches/{search_id}")
    def rename(request: Request, search_id: Number, renaming: Renaming) -> OneSearch:
        """Rename a saved search."""
        return _response(app, app.saved_searches.rename(search_id, renaming.name, user_of(request)))

    @api.delete("/api/searches/{search_id}")
    def delete(request: Request, search_id: Number) -> Deleted:
        """Delete a saved search; its feed ends with it."""
        saved = app.saved_searches.find(search_id, user_of(request))
        app.saved_searches.delete(search_id, user_of(request))
        return Deleted(deleted=saved.name)

    @api.post("/api/searches/{search_id}/feed", status_code=201)
    def make_feed(request: Request, search_id: Number) -> Feed:
        """Make an address at which a feed reader follows a saved search. An earlier address ends."""
        secret = app.saved_searches.make_feed(search_id, user_of(request))
        return Feed(address=f"{server_address(request)}/feeds/{secret}.atom")

    @api.delete("/api/searches/{search_id}/feed")
    def end_feed(request: Request, search_id: Number) -> OneSearch:
        """End the feed of a saved search."""
        return _response(app, app.saved_searches.end_feed(search_id, user_of(request)))


def _response(app: App, saved: SavedSearch) -> OneSearch:
    return OneSearch.model_validate(search_json(saved, app.saved_searches.count_new(saved)))
