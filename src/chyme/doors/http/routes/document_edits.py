"""The routes about documents: retry, edits by hand, and renaming."""

from __future__ import annotations

import contextlib
from typing import Annotated, Any, Literal

from fastapi import FastAPI
from pydantic import BaseModel, Field

from chyme.application.app import App
from chyme.doors.http.problem_details import require_file
from chyme.doors.http.request_bodies import RequestBody
from chyme.errors import UsageError
from chyme.understanding.edit_rules import DATE, TAGS, TITLE, EditRequest
from chyme.understanding.edits import NothingToChange
from chyme.understanding.rename_proposals import FileRenamer, RenameResult

Tags = Annotated[list[Annotated[str, Field(max_length=1000)]], Field(max_length=1000)]


class NewEdits(RequestBody):
    """The fields a person sets by hand."""

    title: Annotated[str, Field(max_length=10_000)] | None = None
    date: Annotated[str, Field(max_length=100)] | None = None
    tags: Tags | None = None  # exactly these tags
    add_tags: Tags = Field(default=[])
    remove_tags: Tags = Field(default=[])


class Cleared(RequestBody):
    """A field for which the machine's value counts again."""

    field: Literal["title", "date", "tags"]


class Undone(BaseModel):
    """A description of what was undone."""

    undone: str


class NewName(BaseModel):
    """The new and the old path of a file."""

    path: str
    was: str


def add_routes(api: FastAPI, app: App) -> None:
    @api.post("/api/documents/{path:path}/reprocess")
    def reprocess(path: str) -> dict[str, Any]:
        """Try again what went wrong with a document; asking twice starts one job."""
        require_file(app, path)
        return app.reprocess(path).as_json()

    @api.patch("/api/files/{path:path}")
    def edit(path: str, edits: NewEdits) -> dict[str, Any]:
        """Set title, date or tags by hand, all or nothing; null means there is none, fields left out stay."""
        require_file(app, path)
        fields = edits.model_dump(exclude_unset=True)
        request = EditRequest(
            {field: fields[field] for field in (TITLE, DATE) if field in fields},
            (fields[TAGS] or []) if TAGS in fields else None,
            add=edits.add_tags,
            remove=edits.remove_tags,
        )
        if fields:
            with contextlib.suppress(NothingToChange):
                app.edits.change(path, request)
        return app.documents.show(path)

    @api.post("/api/files/{path:path}/undo")
    def undo(path: str) -> Undone:
        """Undo the last edit; call it again for the one before."""
        require_file(app, path)
        return Undone(undone=app.edits.undo(path).what)

    @api.post("/api/files/{path:path}/clear")
    def clear(path: str, cleared: Cleared) -> dict[str, Any]:
        """Let the machine's value count again; that can be undone, too."""
        require_file(app, path)
        with contextlib.suppress(NothingToChange):
            app.edits.change(path, EditRequest(clear=(cleared.field,)))
        return app.documents.show(path)

    @api.post("/api/files/{path:path}/rename")
    def rename(path: str) -> NewName:
        """Give a file the name that was proposed for it; everything known about it is kept."""
        require_file(app, path)
        return _rename_response(path, FileRenamer(app.open_vault).accept([path]), "there is no other name to propose")

    @api.post("/api/files/{path:path}/rename-back")
    def rename_back(path: str) -> NewName:
        """Give a file its previous name back."""
        require_file(app, path)
        return _rename_response(path, FileRenamer(app.open_vault).undo([path]), "it has its name still")


def _rename_response(path: str, results: list[RenameResult], message: str) -> NewName:
    """Return where the file is now; raise an error when it kept its name."""
    if not results:
        raise UsageError(f"{path}: {message}")
    if results[0].problem:
        raise UsageError(f"{path}: {results[0].problem}")
    return NewName(path=results[0].becomes, was=path)
