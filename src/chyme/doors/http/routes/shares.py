"""The routes about links that show files to people without an account."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import FastAPI, HTTPException, Path, Request
from pydantic import BaseModel, Field, StrictBool

from chyme.application.app import App
from chyme.doors.http.address_of_server import server_address, user_of
from chyme.doors.http.request_bodies import RequestBody
from chyme.sharing.share_links import (
    DEFAULT_DAYS,
    MAX_DAYS,
    MAX_FILES,
    MAX_LABEL,
    PrivateFilesChosen,
    Share,
    share_json,
)

Number = Annotated[int, Path(ge=1, le=2**63 - 1)]


class Wanted(RequestBody):
    """What a link is to show, and for how long."""

    paths: Annotated[list[Annotated[str, Field(max_length=4096)]], Field(max_length=MAX_FILES)] = Field(
        default_factory=list
    )
    query: Annotated[str, Field(max_length=10_000)] | None = None
    days: Annotated[int, Field(ge=1, le=MAX_DAYS, strict=True)] = DEFAULT_DAYS
    label: Annotated[str, Field(max_length=MAX_LABEL)] = ""
    private: StrictBool = False


class OneShare(BaseModel):
    """A link: what it shows, until when, and how often it was opened."""

    id: int
    label: str
    by: str | None
    private: bool
    created_at: str
    expires_at: str
    state: Literal["open", "expired", "ended", "restored"]
    opens: int
    last_opened_at: str | None
    files: int
    paths: list[str | None]


class Shares(BaseModel):
    """All links, the newest first."""

    shares: list[OneShare]


class Made(BaseModel):
    """A new link. Its address is shown this once."""

    share: OneShare
    address: str


def add_routes(api: FastAPI, app: App) -> None:
    @api.get("/api/shares")
    def listed(request: Request) -> Shares:
        """The links to files of this vault; those that ended, too, for some months."""
        require_sharer(request)
        return Shares(shares=[share_response(share) for share in app.shares.list_all()])

    @api.post(
        "/api/shares", status_code=201, responses={409: {"description": "Some are private, and private is false"}}
    )
    def share(request: Request, wanted: Wanted) -> Made:
        """Make a link that shows some files, read only, to everybody who has it."""
        require_sharer(request)
        chosen = app.select_files(wanted.paths, wanted.query)
        try:
            made = app.shares.add(
                chosen, days=wanted.days, label=wanted.label, private=wanted.private, user=user_of(request)
            )
        except PrivateFilesChosen as error:
            raise HTTPException(409, f"{error} (private: true)") from error
        return Made(share=share_response(made.share), address=f"{server_address(request)}/s/{made.secret}")

    @api.delete("/api/shares/{share_id}")
    def end(request: Request, share_id: Number) -> OneShare:
        """End a link: it cannot be opened any more."""
        require_sharer(request)
        return share_response(app.shares.end(share_id))


def require_sharer(request: Request) -> None:
    """Links show what is in the vault to others: to make, see and end them takes the right to write."""
    if not getattr(request.state, "may_write", True):
        raise HTTPException(403, "links are only shown to those who may change this vault; ask its owner")


def share_response(share: Share) -> OneShare:
    """Return a link as HTTP shows it."""
    return OneShare.model_validate(share_json(share))
