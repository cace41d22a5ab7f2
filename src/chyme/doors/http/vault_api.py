"""The HTTP face of one opened vault. Who may come in is decided outside, at the door."""

from __future__ import annotations

import sqlite3

from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.routing import Match, Route

from chyme import __version__
from chyme.application.app import App
from chyme.doors.http.problem_details import RESPONSES, describe_validation_error, status_of
from chyme.doors.http.routes import (
    bulk_jobs,
    content,
    digesters,
    digests,
    document_edits,
    events,
    export,
    failures,
    files,
    links,
    mcp,
    outdated_digests,
    people,
    search,
    settings,
    spending,
    tags,
    uploads,
    vanished_files,
)
from chyme.doors.page.all_pages import PAGES
from chyme.doors.page.error_pages import error_response, internal_error_response
from chyme.errors import ChymeError

API = (
    mcp,
    search,
    digests,
    files,
    content,
    uploads,
    links,
    document_edits,
    bulk_jobs,
    failures,
    digesters,
    tags,
    people,
    events,
    export,
    outdated_digests,
    spending,
    settings,
    vanished_files,
)


def create_vault_api(app: App) -> FastAPI:
    """The HTTP face of an opened vault."""

    async def for_pages(request: Request) -> None:
        request.state.upload_bytes = app.settings.upload_bytes
        # before anything is looked at: what comes later is told by events
        request.state.newest = app.broadcast.newest()

    api = FastAPI(
        title="chyme",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        responses=RESPONSES,
        dependencies=[Depends(for_pages)],
    )

    @api.exception_handler(ChymeError)
    def sentence(request: Request, error: ChymeError) -> Response:
        return error_response(request, status_of(error), str(error))

    @api.exception_handler(sqlite3.DatabaseError)
    def damaged(request: Request, error: sqlite3.DatabaseError) -> Response:
        told = app.database.explain(error)
        if not isinstance(told, ChymeError):
            raise error
        return error_response(request, status_of(told), str(told))

    @api.exception_handler(RequestValidationError)
    def misshapen(request: Request, error: RequestValidationError) -> Response:
        return error_response(request, 422, describe_validation_error(error))

    @api.exception_handler(HTTPException)
    def plain(request: Request, error: HTTPException) -> Response:
        headers = dict(error.headers or {})
        if error.status_code == 405:
            headers["Allow"] = ", ".join(sorted(_allowed(api, request)))
        return error_response(request, error.status_code, str(error.detail), headers)

    @api.exception_handler(Exception)
    def broken(request: Request, _error: Exception) -> Response:
        return internal_error_response(request, getattr(request.state, "request_id", "-"))

    for part in API:
        part.add_routes(api, app)
    told = len(api.routes)
    for part in PAGES:
        part.add_routes(api, app)
    for route in api.routes[told:]:
        if isinstance(route, APIRoute):
            route.include_in_schema = False  # for people, and free to change
    return api


def _allowed(api: FastAPI, request: Request) -> set[str]:
    """What may be done at this address; each route knows only of itself."""
    here = [route for route in api.routes if isinstance(route, Route) and route.matches(request.scope)[0] != Match.NONE]
    return {method for route in here for method in route.methods or ()}
