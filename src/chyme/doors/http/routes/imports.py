"""The routes that import what other programs exported."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from anyio import CapacityLimiter
from fastapi import FastAPI, HTTPException, Path, Query, Request
from pydantic import BaseModel

from chyme.application.app import App
from chyme.application.import_jobs import ImportRun
from chyme.doors.http.routes.uploads import parse_length, receive_body

LARGEST = 2**63 - 1
WRITERS = 2  # threads that write uploads; a limit, so that other requests find a free thread
ImportNumber = Annotated[int, Path(ge=1, le=LARGEST)]
Source = Literal["paperless", "karakeep", "bookmarks", "folder"]
FORMS = ("application/x-www-form-urlencoded", "multipart/form-data", "text/plain")  # what any page may send anywhere
BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}


class ImportCounts(BaseModel):
    """What an import did so far, or would do."""

    entries: int
    added: int
    updated: int
    unchanged: int
    deleted_here: int
    left_out: int
    failed: int
    bytes: int
    problems: list[str]


class OneImport(BaseModel):
    """An import of an uploaded export."""

    id: int
    source: Source
    name: str
    folder: str
    state: Literal["checking", "checked", "running", "done", "failed", "cancelled"]
    summary: ImportCounts
    problem: str | None
    created_at: str
    finished_at: str | None


class Imports(BaseModel):
    """All imports, newest first."""

    imports: list[OneImport]


def add_routes(api: FastAPI, app: App) -> None:
    writers = CapacityLimiter(WRITERS)

    @api.post("/api/imports", status_code=202, openapi_extra=BODY)
    async def upload(
        request: Request,
        source: Source,
        name: Annotated[str, Query(max_length=1000)] = "export",
        folder: Annotated[str, Query(max_length=4096)] = "",
        dry_run: bool = True,
    ) -> OneImport:
        """Upload an export as the body. With `dry_run` it is only counted, until it is started."""
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() in FORMS:
            raise HTTPException(415, "send the export itself as the body, as application/octet-stream")
        run = await receive_body(
            request,
            writers,
            lambda: app.imports.receive(source, name, folder, parse_length(request)),
            lambda receiver: receiver.finish(source, folder, dry_run),
        )
        return _response(run)

    @api.get("/api/imports")
    def imports() -> Imports:
        """All imports, newest first."""
        return Imports(imports=[_response(run) for run in app.imports.list_runs()])

    @api.get("/api/imports/{number}")
    def one_import(number: ImportNumber) -> OneImport:
        """One import and how far it is."""
        return _response(app.imports.run(number))

    @api.post("/api/imports/{number}/{action}")
    def change(number: ImportNumber, action: Literal["start", "cancel"]) -> OneImport:
        """Start an import that was counted, or cancel one; what it has imported stays."""
        return _response((app.imports.start if action == "start" else app.imports.cancel)(number))


def _response(run: ImportRun) -> OneImport:
    return OneImport(
        id=run.id,
        source=run.source,  # type: ignore[arg-type]  # the database holds no other
        name=run.name,
        folder=run.folder,
        state=run.state,  # type: ignore[arg-type]
        summary=ImportCounts(**run.summary.as_json()),
        problem=run.problem,
        created_at=run.created_at,
        finished_at=run.finished_at,
    )
