"""The routes about tags: which there are, and what people decide about them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, Literal

from fastapi import FastAPI, Query
from pydantic import BaseModel, Field

from chyme.application.app import App
from chyme.doors.http.request_bodies import RequestBody
from chyme.errors import NotFound
from chyme.understanding.tags.rename_merge_ban import DecisionResult, UnknownTag, as_json, filter_tags

Name = Annotated[str, Field(min_length=1, max_length=200)]
LAST = 1_000_000


class Tag(BaseModel):
    """A tag, and how many files have it."""

    name: str
    files: int
    by_machine: int
    by_person: int


class Tags(BaseModel):
    """Tags, how many match, and what was decided about tags."""

    tags: list[Tag]
    total: int
    banned: list[str]
    becomes: dict[str, str]


class Holder(BaseModel):
    """A file that has the tag."""

    path: str
    title: str | None
    by_person: bool


class ShownTag(BaseModel):
    """One tag, the words that become it, and files that have it."""

    tag: Tag
    replaces: list[str]
    files: list[Holder]


class Pair(BaseModel):
    """Two tags that may be one."""

    one: str
    other: str
    likeness: float
    files: tuple[int, int]


class Pairs(BaseModel):
    """The closest first."""

    similar: list[Pair]


class Decided(BaseModel):
    """A description of the decision, how many files it changed, and the tag, if it still exists."""

    done: str
    files: int
    tag: Tag | None


class Renaming(RequestBody):
    """A new name for a tag."""

    old: Name
    new: Name


class Merging(RequestBody):
    """Several tags that become one."""

    into: Name
    others: list[Name] = Field(min_length=1, max_length=1000)


class OneTag(RequestBody):
    """The tag that is meant."""

    tag: Name


def add_routes(api: FastAPI, app: App) -> None:
    @api.get("/api/tags", response_model=Tags)
    def listed(
        prefix: Annotated[str, Query(max_length=200)] = "",
        contains: Annotated[str, Query(max_length=200)] = "",
        sort: Literal["files", "name"] = "files",
        limit: Annotated[int, Query(ge=1, le=5000)] = 100,
        offset: Annotated[int, Query(ge=0, le=LAST)] = 0,
    ) -> dict[str, Any]:
        """The tags that files have, those on most files first, and what was decided about tags."""
        listing = app.tags.list_all()
        matching = filter_tags(listing.tags, prefix=prefix, contains=contains, by_name=sort == "name")
        return {
            "tags": [as_json(tag) for tag in matching[offset : offset + limit]],
            "total": len(matching),
            "banned": list(listing.banned),
            "becomes": listing.becomes,
        }

    @api.get("/api/tags/similar", response_model=Pairs)
    def similar() -> dict[str, Any]:
        """Tags that may be one: spelt alike, or close in meaning."""
        return {"similar": [asdict(pair) for pair in app.tags.similar()]}

    @api.get("/api/tags/{name:path}", response_model=ShownTag)
    def show(name: str, limit: Annotated[int, Query(ge=1, le=1000)] = 100) -> dict[str, Any]:
        """One tag, with files that have it."""
        try:
            details = app.tags.show(name)
        except UnknownTag as error:
            raise NotFound(str(error)) from None
        files = [asdict(file) for file in details.files[:limit]]
        return {"tag": as_json(details.tag), "replaces": list(details.replaces), "files": files}

    @api.post("/api/tags/rename", response_model=Decided)
    def rename(renaming: Renaming) -> dict[str, Any]:
        """Rename a tag, on all files and whenever it is proposed again."""
        return _decision_json(app.tags.rename(renaming.old, renaming.new))

    @api.post("/api/tags/merge", response_model=Decided)
    def merge(merging: Merging) -> dict[str, Any]:
        """Replace the other tags by the first one."""
        return _decision_json(app.tags.merge(merging.into, merging.others))

    @api.post("/api/tags/ban", response_model=Decided)
    def ban(meant: OneTag) -> dict[str, Any]:
        """Never give a tag to any file; files that were given it by hand keep it."""
        return _decision_json(app.tags.ban(meant.tag))

    @api.post("/api/tags/unban", response_model=Decided)
    def unban(meant: OneTag) -> dict[str, Any]:
        """Allow a tag again; files get it when they are digested again."""
        return _decision_json(app.tags.unban(meant.tag))

    @api.post("/api/tags/undo", response_model=Decided)
    def undo() -> dict[str, Any]:
        """Undo the last of these decisions; call it again for the one before."""
        return _decision_json(app.tags.undo(), prefix="undone: ")


def _decision_json(result: DecisionResult, prefix: str = "") -> dict[str, Any]:
    return {"done": prefix + result.what, "files": result.files, "tag": as_json(result.tag) if result.tag else None}
