"""The routes about what documents are: trying again, setting by hand, and the models that are asked."""

from __future__ import annotations

import contextlib
from dataclasses import asdict
from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel, ConfigDict

from chyme.app import App
from chyme.decide.edits import DATE, TAGS, TITLE, Wanted
from chyme.edits import AlreadySo
from chyme.web.not_found import known


class NewEdits(BaseModel):
    """What a person knows better."""

    model_config = ConfigDict(extra="forbid")

    title: str | None = None
    date: str | None = None
    tags: list[str] | None = None


def add_routes(api: FastAPI, app: App) -> None:
    """Add these routes to the HTTP face of an opened vault."""

    @api.post("/api/documents/{path:path}/reprocess")
    def reprocess(path: str) -> dict[str, Any]:
        """Try again what went wrong with a document; asking twice makes one job."""
        known(app, path)
        return app.reprocess(path).as_json()

    @api.patch("/api/files/{path:path}")
    def edit(path: str, edits: NewEdits) -> dict[str, Any]:
        """Set title, date or tags by hand, all or nothing; null says that there is none, what is left out stays."""
        known(app, path)
        given = edits.model_dump(exclude_unset=True)
        wanted = Wanted(
            {field: given[field] for field in (TITLE, DATE) if field in given},
            (given[TAGS] or []) if TAGS in given else None,
        )
        if given:
            with contextlib.suppress(AlreadySo):
                app.edits.change(path, wanted)
        return app.documents.show(path)

    @api.get("/api/ai")
    def standing() -> dict[str, Any]:
        """Which models are asked, how they stand, and what they cost today."""
        models = app.providers
        return {
            "providers": [{"model": models[one.name], **asdict(one)} for one in app.ledger.standings(sorted(models))],
            "private_patterns": app.private.patterns,
        }
