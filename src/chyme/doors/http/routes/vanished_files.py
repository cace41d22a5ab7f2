"""The routes about files that vanished from the folder, and forgetting them."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import FastAPI, Query
from pydantic import BaseModel, ConfigDict, StrictBool

from chyme.application.app import App


class VanishedFile(BaseModel):
    """A file that is not in the folder any more."""

    path: str
    vanished_at: str | None


class Vanished(BaseModel):
    """What vanished; how much of it is due to be forgotten; and why nothing is before a person confirms."""

    total: int
    due: int
    waits: str | None
    files: list[VanishedFile]


class Forgetting(BaseModel):
    """Which vanished files: those whose time has come, or all."""

    model_config = ConfigDict(extra="forbid")

    everything: StrictBool = False


class Forgotten(BaseModel):
    """How many files were forgotten."""

    files: int


def add_routes(api: FastAPI, app: App) -> None:
    """Add these routes to the HTTP face of an opened vault."""

    @api.get("/api/vanished", response_model=Vanished)
    def vanished(limit: Annotated[int, Query(ge=1, le=1000)] = 100) -> dict[str, Any]:
        """Files that vanished from the folder and are remembered still."""
        found = app.list_vanished()
        return {
            "total": len(found),
            "due": len(app.list_purgeable(everything=False)),
            "waits": app.purge_blocker(),
            "files": [{"path": file.path, "vanished_at": file.vanished_at} for file in found[:limit]],
        }

    @api.post("/api/vanished/forget", response_model=Forgotten)
    def forget(which: Forgetting | None = None) -> dict[str, Any]:
        """Leave nothing of vanished files; asking for it confirms that they are meant to be gone."""
        return {"files": app.purge(everything=bool(which and which.everything), confirmed=True)}
