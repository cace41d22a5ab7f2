"""The routes about digests: of one file, failed ones by cause, and outdated ones; and the state of the vault."""

from __future__ import annotations

import threading
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import FastAPI, Path, Query
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from chyme.application.app import App
from chyme.application.digester_list import outdated_json
from chyme.doors.http.problem_details import require_file
from chyme.doors.http.request_bodies import RequestBody
from chyme.errors import VaultGone
from chyme.model import Mode

WAITERS = 8  # of all vaults together: each takes a thread that other requests need
_waiters = threading.BoundedSemaphore(WAITERS)
Name = Annotated[str, Field(max_length=200)]


class Queued(BaseModel):
    """A file that is processed later, in the background."""

    path: str
    queued: bool = True


QUEUED: dict[int | str, dict[str, Any]] = {202: {"model": Queued, "description": "It is done in the background"}}


class Group(BaseModel):
    """All digests of one digester that failed for the same cause."""

    id: str
    digester: str
    label: str
    category: str
    cause: str
    way_out: str
    files: int
    digests: int
    sample_paths: list[str]
    newest_at: str
    again: int
    again_at: str | None


class Groups(BaseModel):
    """What failed, the most frequent cause first."""

    groups: list[Group]


class Retried(BaseModel):
    """How many digests are tried again."""

    digests: int


class Outdated(BaseModel):
    """What making the digests of one digester again would take."""

    digester: str
    files: int
    calls: int
    seconds: float


class AllOutdated(BaseModel):
    """What is out of date, by digester, and what making it all again would take."""

    outdated: list[Outdated]
    calls: int
    seconds: float


class Again(RequestBody):
    """Which digesters; all if left out."""

    digesters: list[Name] = Field(default_factory=list, max_length=200)


class Redone(AllOutdated):
    """The same, and how many digests will be made again."""

    digests: int


def add_routes(api: FastAPI, app: App) -> None:
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
                "workers": asdict(report.workers) if report.workers is not None else None,
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

    @api.get("/api/failures")
    def failures() -> Groups:
        """What failed, grouped by digester, category and cause; digests that only wait are left out."""
        return Groups(groups=[Group(**asdict(group)) for group in app.failures.groups()])

    @api.post("/api/failures/{group}/retry")
    def retry(group: Annotated[str, Path(max_length=100)]) -> Retried:
        """Retry all digests of one group, and nothing else."""
        return Retried(digests=app.failures.retry(group))

    @api.get("/api/outdated", response_model=AllOutdated)
    def outdated() -> dict[str, Any]:
        """What is out of date, and what making it again would take. Changes nothing."""
        return outdated_json(app.list_outdated([], []))

    @api.post("/api/outdated/redo", response_model=Redone)
    def redo(again: Again | None = None) -> dict[str, Any]:
        """Have outdated digests made again; the old ones stay until they are replaced."""
        outdated_digests = app.list_outdated([], again.digesters if again else [])
        return {**outdated_json(outdated_digests), "digests": app.redo(outdated_digests)}
