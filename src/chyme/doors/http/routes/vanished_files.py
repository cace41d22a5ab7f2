"""The routes about files that vanished from the folder, and about forgetting them."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import FastAPI, Query
from pydantic import BaseModel, ConfigDict, StrictBool

from chyme.application.app import App


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


class Forgetting(BaseModel):
    """Which vanished files: those that are due, or all."""

    model_config = ConfigDict(extra="forbid")

    everything: StrictBool = False


class Forgotten(BaseModel):
    """How many files were forgotten."""

    files: int


def add_routes(api: FastAPI, app: App) -> None:
    """Add these routes to the HTTP application of an opened vault."""

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
