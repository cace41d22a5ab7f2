"""The routes about one file's digests, and about the state of the vault."""

from __future__ import annotations

import threading
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import FastAPI, Query
from fastapi.responses import JSONResponse
from pydantic import BaseModel

from chyme.application.app import App
from chyme.doors.http.not_found import require_file
from chyme.errors import VaultGone
from chyme.model import Mode

WAITERS = 8  # of all vaults together: each takes a thread that other requests need
_waiters = threading.BoundedSemaphore(WAITERS)


class Queued(BaseModel):
    """A file that is processed later, in the background."""

    path: str
    queued: bool = True


QUEUED: dict[int | str, dict[str, Any]] = {202: {"model": Queued, "description": "It is done in the background"}}


def add_routes(api: FastAPI, app: App) -> None:
    """Add these routes to the HTTP application of an opened vault."""
    last_status: dict[str, Any] = {}  # the answer while the database is not at its path

    @api.get("/api/status")
    def status() -> dict[str, Any]:
        """Counts, and what is being worked on."""
        nonlocal last_status
        try:
            report = app.progress.report()
            last_status = {
                **app.documents.status(),
                **app.current_work(),
                "eta_seconds": report.eta_seconds,
                "done_lately": report.done_lately,
                "paused": app.database.presence.find_problem() or report.paused,
                "search": app.search_index.status(),
            }
        except VaultGone as error:
            last_status = {**last_status, "eta_seconds": None, "paused": str(error)}
        return last_status

    @api.get("/api/digest/{path:path}")
    def show(path: str) -> dict[str, Any]:
        """Everything about one file."""
        require_file(app, path)
        return app.documents.show(path)

    @api.post("/api/digest/{path:path}", response_model=None, responses=QUEUED)
    def digest(
        path: str, digester: Annotated[list[str] | None, Query()] = None, wait: bool = True
    ) -> dict[str, Any] | JSONResponse:
        """Reset and process a file; `unsettled` says what is still to come, and why.

        With wait=false, or when many wait already, it is done in the background.
        """
        require_file(app, path)
        if not wait or not _waiters.acquire(blocking=False):
            app.request_again(Mode.RESET, [path], digester or ())
            return JSONResponse(Queued(path=path).model_dump(), 202)
        try:
            unsettled = app.digest_again(path, digester or ())
        finally:
            _waiters.release()
        return {**app.documents.show(path), "unsettled": [asdict(digest_left) for digest_left in unsettled]}
