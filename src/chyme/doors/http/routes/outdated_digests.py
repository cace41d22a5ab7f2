"""The routes about digests that were made by older rules, models or prompts than today's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import FastAPI
from pydantic import BaseModel, ConfigDict, Field

from chyme.application.app import App
from chyme.core.pipeline.again import OutdatedDigester

Name = Annotated[str, Field(max_length=200)]


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


class Again(BaseModel):
    """Which digesters; all if left out."""

    model_config = ConfigDict(extra="forbid")

    digesters: list[Name] = Field(default_factory=list, max_length=200)


class Redone(AllOutdated):
    """The same, and how many digests will be made again."""

    digests: int


def add_routes(api: FastAPI, app: App) -> None:
    """Add these routes to the HTTP application of an opened vault."""

    @api.get("/api/outdated", response_model=AllOutdated)
    def outdated() -> dict[str, Any]:
        """What is out of date, and what making it again would take. Changes nothing."""
        return _outdated_json(app.list_outdated([], []))

    @api.post("/api/outdated/redo", response_model=Redone)
    def redo(again: Again | None = None) -> dict[str, Any]:
        """Have outdated digests made again; the old ones stay until they are replaced."""
        outdated_digests = app.list_outdated([], again.digesters if again else [])
        return {**_outdated_json(outdated_digests), "digests": app.redo(outdated_digests)}


def _outdated_json(outdated_digests: Sequence[OutdatedDigester]) -> dict[str, Any]:
    return {
        "outdated": [
            {
                "digester": entry.digester,
                "files": len(entry.file_ids),
                "calls": entry.calls,
                "seconds": round(entry.seconds, 1),
            }
            for entry in outdated_digests
        ],
        "calls": sum(entry.calls for entry in outdated_digests),
        "seconds": round(sum(entry.seconds for entry in outdated_digests), 1),
    }
