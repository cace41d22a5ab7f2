"""The routes about what documents are: trying again, setting by hand, and the models that are asked."""

from __future__ import annotations

import contextlib
from dataclasses import asdict
from typing import Annotated, Any, Literal

from fastapi import FastAPI
from pydantic import BaseModel, ConfigDict, Field

from chyme.application.app import App
from chyme.doors.http.not_found import require_file
from chyme.errors import UsageError
from chyme.understanding.edit_rules import DATE, TAGS, TITLE, EditRequest
from chyme.understanding.edits import NothingToChange
from chyme.understanding.rename_proposals import FileRenamer, RenameResult

Tags = Annotated[list[Annotated[str, Field(max_length=1000)]], Field(max_length=1000)]


class NewEdits(BaseModel):
    """What a person knows better."""

    model_config = ConfigDict(extra="forbid")

    title: Annotated[str, Field(max_length=10_000)] | None = None
    date: Annotated[str, Field(max_length=100)] | None = None
    tags: Tags | None = None  # these and no others
    add_tags: Tags = []
    remove_tags: Tags = []


class Cleared(BaseModel):
    """A field for which the machine's word counts again."""

    model_config = ConfigDict(extra="forbid")

    field: Literal["title", "date", "tags"]


class Undone(BaseModel):
    """What was taken back, in words."""

    undone: str


class NewName(BaseModel):
    """Where a file is now, and where it was."""

    path: str
    was: str


def add_routes(api: FastAPI, app: App) -> None:
    """Add these routes to the HTTP face of an opened vault."""

    @api.post("/api/documents/{path:path}/reprocess")
    def reprocess(path: str) -> dict[str, Any]:
        """Try again what went wrong with a document; asking twice makes one job."""
        require_file(app, path)
        return app.reprocess(path).as_json()

    @api.patch("/api/files/{path:path}")
    def edit(path: str, edits: NewEdits) -> dict[str, Any]:
        """Set title, date or tags by hand, all or nothing; null says that there is none, what is left out stays."""
        require_file(app, path)
        given = edits.model_dump(exclude_unset=True)
        wanted = EditRequest(
            {field: given[field] for field in (TITLE, DATE) if field in given},
            (given[TAGS] or []) if TAGS in given else None,
            add=edits.add_tags,
            remove=edits.remove_tags,
        )
        if given:
            with contextlib.suppress(NothingToChange):
                app.edits.change(path, wanted)
        return app.documents.show(path)

    @api.post("/api/files/{path:path}/undo")
    def undo(path: str) -> Undone:
        """Take back what was set last; again: what was set before that."""
        require_file(app, path)
        return Undone(undone=app.edits.undo(path).what)

    @api.post("/api/files/{path:path}/clear")
    def clear(path: str, cleared: Cleared) -> dict[str, Any]:
        """Let the machine's word count again; that can be undone, too."""
        require_file(app, path)
        with contextlib.suppress(NothingToChange):
            app.edits.clear(path, cleared.field)
        return app.documents.show(path)

    @api.post("/api/files/{path:path}/rename")
    def rename(path: str) -> NewName:
        """Give a file the name that was proposed for it; everything known about it goes along."""
        require_file(app, path)
        return _renamed(path, FileRenamer(app.open_vault).accept([path]), "there is no other name to propose")

    @api.post("/api/files/{path:path}/rename-back")
    def rename_back(path: str) -> NewName:
        """Give a file the name back that it had before."""
        require_file(app, path)
        return _renamed(path, FileRenamer(app.open_vault).undo([path]), "it has its name still")

    @api.get("/api/ai")
    def standing() -> dict[str, Any]:
        """Which models are asked, how they stand, and what they cost today."""
        models = app.providers
        return {
            "providers": [{"model": models[one.name], **asdict(one)} for one in app.ledger.statuses(sorted(models))],
            "private_patterns": app.private.patterns,
        }


def _renamed(path: str, done: list[RenameResult], nothing: str) -> NewName:
    """Where the file is now; a sentence when it kept its name."""
    if not done:
        raise UsageError(f"{path}: {nothing}")
    if done[0].problem:
        raise UsageError(f"{path}: {done[0].problem}")
    return NewName(path=done[0].becomes, was=path)
