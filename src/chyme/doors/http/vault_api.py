"""The HTTP application of one opened vault. AccessMiddleware and VaultRouter decide who may use it."""

from __future__ import annotations

import sqlite3

from fastapi import Depends, FastAPI, Request
from fastapi.responses import Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.routing import Match, Route

from chyme import __version__
from chyme.application.app import App
from chyme.doors.http.problem_details import RESPONSES, status_of
from chyme.doors.http.routes import (
    ask,
    bulk_jobs,
    captures,
    content,
    digesters,
    digests,
    document_edits,
    events,
    export,
    files,
    imports,
    links,
    mail,
    mcp,
    overviews,
    people,
    saved_searches,
    search,
    settings,
    shares,
    spending,
    tags,
    uploads,
    workers,
)
from chyme.doors.page import activity, file, sharing, timeline, trash, vault
from chyme.doors.page import ask as ask_page
from chyme.doors.page import people as people_page
from chyme.doors.page import saved_searches as saved_searches_page
from chyme.doors.page import settings as settings_page
from chyme.doors.page import shares as shares_page
from chyme.doors.page import tags as tags_page
from chyme.doors.page.error_pages import add_error_handlers, error_response
from chyme.errors import ChymeError

# The `add_routes` of each module adds its routes to the HTTP application of an opened vault.
API = (
    *(mcp, search, ask, digests, files, content, uploads, captures, imports, links, document_edits, bulk_jobs),
    *(digesters, tags, people, events, export, spending, settings, workers, mail, shares),
    *(saved_searches, overviews),
)
PAGES = (
    *(vault, ask_page, file, people_page, tags_page, activity, settings_page, trash),
    *(sharing, saved_searches_page, shares_page, timeline),
)


def create_vault_api(app: App) -> FastAPI:
    """Create the HTTP application of an opened vault."""

    async def set_page_state(request: Request) -> None:
        request.state.upload_bytes = app.settings.upload_bytes
        # before anything is read: later changes arrive as events
        request.state.newest = app.broadcast.newest_event_id()

    api = FastAPI(
        title="chyme",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        responses=RESPONSES,
        dependencies=[Depends(set_page_state)],
    )

    add_error_handlers(api, error_response)

    @api.exception_handler(sqlite3.DatabaseError)
    def database_error(request: Request, error: sqlite3.DatabaseError) -> Response:
        explained = app.database.explain(error)
        if not isinstance(explained, ChymeError):
            raise error
        return error_response(request, status_of(explained), str(explained))

    @api.exception_handler(HTTPException)
    def http_error(request: Request, error: HTTPException) -> Response:
        headers = dict(error.headers or {})
        if error.status_code == 405:
            headers["Allow"] = ", ".join(sorted(_allowed_methods(api, request)))
        return error_response(request, error.status_code, str(error.detail), headers)

    for module in API:
        module.add_routes(api, app)
    api_route_count = len(api.routes)
    for module in PAGES:
        module.add_routes(api, app)
    for route in api.routes[api_route_count:]:
        if isinstance(route, APIRoute):
            route.include_in_schema = False  # pages are no API and may change
    return api


def _allowed_methods(api: FastAPI, request: Request) -> set[str]:
    """Return the methods that are allowed at this address; each route knows only its own."""
    matching = [
        route for route in api.routes if isinstance(route, Route) and route.matches(request.scope)[0] != Match.NONE
    ]
    return {method for route in matching for method in route.methods or ()}
