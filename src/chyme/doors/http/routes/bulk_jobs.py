"""The routes that digest many files again, by any selection and any digesters."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, Literal

from fastapi import FastAPI, Path, Response
from pydantic import BaseModel, Field, StrictBool

from chyme.application.app import App
from chyme.application.bulk_jobs import Job, Plan, Selection
from chyme.doors.http.request_bodies import RequestBody
from chyme.model import Mode

LARGEST = 2**63 - 1
JobNumber = Annotated[int, Path(ge=1, le=LARGEST)]


class Wanted(RequestBody):
    """Which files are to be digested again, by which digesters, and how."""

    query: Annotated[str, Field(max_length=10_000)] | None = None
    paths: Annotated[list[Annotated[str, Field(max_length=4096)]], Field(max_length=10_000)] | None = None
    folder: Annotated[str, Field(max_length=4096)] | None = None
    all: StrictBool = False
    digesters: Annotated[list[Annotated[str, Field(max_length=200)]], Field(max_length=100)] | None = None
    mode: Mode = Mode.RESET
    dry_run: StrictBool = False


class Planned(BaseModel):
    """What would be done."""

    files: int
    digests: int
    by_digester: dict[str, int]
    asks_models: int
    providers: dict[str, int]


class OneJob(BaseModel):
    """Many files, digested again."""

    id: int
    what: str
    mode: Mode
    digesters: list[str] | None
    state: Literal["running", "paused", "cancelled", "done"]
    total: int
    done: int
    failed: int
    left_out: int
    left: int
    created_at: str
    finished_at: str | None
    under_way: int


class Started(BaseModel):
    """The job that does the work."""

    job: OneJob


class Jobs(BaseModel):
    """Jobs that are not finished, then finished ones, newest first."""

    jobs: list[OneJob]


PLANNED: dict[int | str, dict[str, Any]] = {
    200: {"model": Planned, "description": "What would be done (dry_run)"},
    202: {"model": Started, "description": "A job does it"},
}


def job_response(job: Job) -> OneJob:
    """Return a job as HTTP shows it."""
    return OneJob(**asdict(job), left=job.left)


def plan_response(plan: Plan) -> Planned:
    """Return a plan as HTTP shows it."""
    return Planned(**asdict(plan))


def add_routes(api: FastAPI, app: App) -> None:
    @api.post("/api/digest", status_code=202, response_model=Started | Planned, responses=PLANNED)
    def digest_many(wanted: Wanted, response: Response) -> Started | Planned:
        """Digest all files of a selection again; the same request while its job is open answers with that job."""
        paths = None if wanted.paths is None else tuple(wanted.paths)
        selection = Selection(wanted.query, paths, wanted.folder, wanted.all)
        if wanted.dry_run:
            response.status_code = 200
            return plan_response(app.bulk.plan(selection, wanted.digesters, wanted.mode))
        return Started(job=job_response(app.bulk.start(selection, wanted.digesters, wanted.mode)))

    @api.get("/api/jobs")
    def jobs() -> Jobs:
        """All current jobs, and recent finished ones."""
        return Jobs(jobs=[job_response(job) for job in app.bulk.list_jobs()])

    @api.post("/api/jobs/{job}/{action}")
    def change(job: JobNumber, action: Literal["pause", "resume", "cancel"]) -> OneJob:
        """Pause, resume or cancel a job; files that it has not started are left as they are."""
        act = {"pause": app.bulk.pause, "resume": app.bulk.resume, "cancel": app.bulk.cancel}[action]
        return job_response(act(job))
