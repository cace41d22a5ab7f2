"""The routes that search."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import FastAPI, Query

from chyme.application.app import App
from chyme.doors.http.problem_details import require_file
from chyme.search.results import as_json

LAST = 1_000_000  # offset: nobody pages further


def add_routes(api: FastAPI, app: App) -> None:
    @api.get("/api/search")
    def search(
        q: str,
        limit: Annotated[int, Query(ge=1, le=1000)] = 20,
        offset: Annotated[int, Query(ge=0, le=LAST)] = 0,
        typing: bool = False,
        mode: Literal["both", "words", "meaning"] = "both",
        facets: bool = False,
        as_typed: bool = False,
    ) -> dict[str, Any]:
        """Search by word and by meaning."""
        return as_json(
            app.search.search(q, limit=limit, offset=offset, typing=typing, mode=mode, facets=facets, as_typed=as_typed)
        )

    @api.get("/api/similar/{path:path}")
    def similar(
        path: str,
        limit: Annotated[int, Query(ge=1, le=1000)] = 20,
        offset: Annotated[int, Query(ge=0, le=LAST)] = 0,
    ) -> dict[str, Any]:
        """The files that are most like this one."""
        require_file(app, path)
        return as_json(app.search.similar(path, limit=limit, offset=offset))
