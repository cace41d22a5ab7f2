"""The routes about what failed, grouped by cause."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from fastapi import FastAPI, Path
from pydantic import BaseModel

from chyme.application.app import App
from chyme.core.pipeline.failure_groups import NoSuchGroup
from chyme.doors.http.not_found import NotFound


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


def add_routes(api: FastAPI, app: App) -> None:
    """Add these routes to the HTTP application of an opened vault."""

    @api.get("/api/failures")
    def failures() -> Groups:
        """What failed, grouped by digester, category and cause; digests that only wait are left out."""
        return Groups(groups=[Group(**asdict(group)) for group in app.failures.groups()])

    @api.post("/api/failures/{group}/retry")
    def retry(group: Annotated[str, Path(max_length=100)]) -> Retried:
        """Retry all digests of one group, and nothing else."""
        try:
            return Retried(digests=app.failures.retry(group))
        except NoSuchGroup as error:
            raise NotFound(str(error)) from error
