"""The routes about the digesters."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from fastapi import FastAPI, Path, Response
from pydantic import BaseModel

from chyme.application.app import App
from chyme.application.bulk_jobs import Selection
from chyme.doors.http.routes.bulk_jobs import PLANNED, Planned, Started, job_response, plan_response
from chyme.errors import NotFound


class OneDigester(BaseModel):
    """A digester, and how many digests of it there are."""

    name: str
    label: str
    description: str
    outputs: list[str]
    reads: list[str]
    kinds: list[str]
    provider: str | None
    model: str | None
    statuses: dict[str, int]
    outdated: int


class Digesters(BaseModel):
    """All digesters, in the order in which they run."""

    digesters: list[OneDigester]


def add_routes(api: FastAPI, app: App) -> None:
    @api.get("/api/digesters")
    def digesters() -> Digesters:
        """Which digesters there are, what they make of which files, and how many digests have which status."""
        return Digesters(digesters=[OneDigester(**asdict(digester)) for digester in app.list_digesters()])

    @api.delete("/api/digesters/{name}/digests", status_code=202, response_model=Started | Planned, responses=PLANNED)
    def forget(
        name: Annotated[str, Path(max_length=100)], response: Response, dry_run: bool = False
    ) -> Started | Planned:
        """Forget everything one digester made, and have it made again."""
        if name not in {digester.name for digester in app.rules.registry}:
            raise NotFound(f"there is no digester called {name[:100]!r}; GET /api/digesters lists them")
        everything = Selection(everything=True)
        if dry_run:
            response.status_code = 200
            return plan_response(app.bulk.plan(everything, [name]))
        return Started(job=job_response(app.bulk.start(everything, [name])))
