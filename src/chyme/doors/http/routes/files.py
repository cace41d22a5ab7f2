"""The routes about files: listing, details, deleting and restoring, and what vanished from the folder."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import FastAPI, Query
from pydantic import BaseModel, Field, StrictBool

from chyme.application.app import App
from chyme.doors.http.problem_details import require_file
from chyme.doors.http.request_bodies import RequestBody
from chyme.errors import NotFound
from chyme.model import Kind
from chyme.search.file_list import Card, Filters, Folder
from chyme.vault.trash import RestoredFile, TrashEntry

PATH = 4096  # characters; no system opens a longer path
Name = Annotated[str, Field(max_length=500)]
State = Literal["processing", "stale", "completed", "needs-classification", "failed"]


class FileList(BaseModel):
    """One page of files."""

    files: list[Card]
    next: str | None = Field(description="The cursor of the next page; null at the end.")
    total: int
    total_is_exact: bool


class FileAbout(BaseModel):
    """What one file is, without its content."""

    file: dict[str, Any]
    document: dict[str, Any] | None
    edits: dict[str, Any]


class FolderList(BaseModel):
    """The folders directly inside another one."""

    folders: list[Folder]


class Deleted(BaseModel):
    """Where a deleted file is now."""

    trashed: TrashEntry


class TrashList(BaseModel):
    """What is in the trash, newest first."""

    trash: list[TrashEntry]


class Restored(BaseModel):
    """Where a restored file is now."""

    restored: RestoredFile


class Emptied(BaseModel):
    """How many files were deleted for good."""

    deleted: int


class VanishedFile(BaseModel):
    """A file that is no longer in the folder."""

    path: str
    vanished_at: str | None


class Vanished(BaseModel):
    """What vanished, how many files are due to be forgotten, and why nothing is before a person confirms."""

    total: int
    due: int
    waits: str | None
    files: list[VanishedFile]


class Forgetting(RequestBody):
    """Which vanished files: those that are due, or all."""

    everything: StrictBool = False


class Forgotten(BaseModel):
    """How many files were forgotten."""

    files: int


def add_routes(api: FastAPI, app: App) -> None:
    @api.get("/api/files")
    def listed(
        cursor: Annotated[str | None, Query(max_length=2000)] = None,
        limit: Annotated[int, Query(ge=1, le=500)] = 60,
        sort: Literal["added", "date", "name", "title", "size", "kind"] = "added",
        order: Literal["asc", "desc"] = "desc",
        kind: Annotated[list[Kind] | None, Query(max_length=10)] = None,
        tag: Annotated[list[Name] | None, Query(max_length=20)] = None,
        folder: Annotated[str | None, Query(max_length=PATH)] = None,
        state: Annotated[list[State] | None, Query(max_length=10)] = None,
        year: Annotated[str | None, Query(pattern=r"^[0-9]{4}$")] = None,
        person: Annotated[str | None, Query(max_length=500)] = None,
    ) -> FileList:
        """List the files, sorted and filtered, one page at a time."""
        filters = Filters(tuple(map(str, kind or ())), tuple(tag or ()), folder, tuple(state or ()), year, person)
        file_page = app.file_list.page(filters, sort=sort, descending=order == "desc", cursor=cursor, limit=limit)
        return FileList(
            files=list(file_page.cards),
            next=file_page.next,
            total=file_page.total,
            total_is_exact=file_page.total_is_exact,
        )

    @api.get("/api/files/{path:path}")
    def about(path: str) -> FileAbout:
        """What one file is, and what people set about it."""
        require_file(app, path)
        return FileAbout(**app.documents.about(path))

    @api.delete("/api/files/{path:path}")
    def delete(path: str) -> Deleted:
        """Move a file to the trash, with everything known about it."""
        require_file(app, path)
        if not app.file_list.cards([path]):
            raise NotFound(f"{path}: has vanished from the vault")
        return Deleted(trashed=app.trash.put([path])[0])

    @api.get("/api/folders")
    def folders(inside: Annotated[str, Query(max_length=PATH)] = "") -> FolderList:
        """The folders directly inside this one, and how many files are in each or below it."""
        return FolderList(folders=app.file_list.folders(inside))

    @api.get("/api/trash")
    def trash() -> TrashList:
        """What is in the trash, newest first."""
        return TrashList(trash=app.trash.list_all())

    @api.post("/api/trash/{id}/restore")
    def restore(id: str) -> Restored:
        """Restore a file to where it was, or beside a file that is there now."""
        return Restored(restored=app.trash.restore([id])[0])

    @api.delete("/api/trash")
    def empty() -> Emptied:
        """Delete everything in the trash for good, with everything known about it."""
        return Emptied(deleted=app.trash.empty())

    @api.delete("/api/trash/{id}")
    def empty_one(id: str) -> Emptied:
        """Delete one file in the trash for good."""
        return Emptied(deleted=app.trash.empty([id]))

    @api.get("/api/vanished", response_model=Vanished)
    def vanished(limit: Annotated[int, Query(ge=1, le=1000)] = 100) -> dict[str, Any]:
        """Files that vanished from the folder and are still remembered."""
        files = app.list_vanished()
        return {
            "total": len(files),
            "due": len(app.list_purgeable(everything=False)),
            "waits": app.purge_blocker(),
            "files": [{"path": file.path, "vanished_at": file.vanished_at} for file in files[:limit]],
        }

    @api.post("/api/vanished/forget", response_model=Forgotten)
    def forget(which: Forgetting | None = None) -> dict[str, Any]:
        """Delete everything known about vanished files; the request confirms that they are meant to be gone."""
        return {"files": app.purge(everything=bool(which and which.everything), confirmed=True)}
