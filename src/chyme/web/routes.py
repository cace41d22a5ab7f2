"""The HTTP face of one opened vault. Who may come in is decided outside, at the door."""

from __future__ import annotations

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.routing import Match, Route

from chyme import __version__
from chyme.app import App
from chyme.errors import ChymeError
from chyme.web import (
    bulk,
    content,
    digesters,
    digesting,
    events,
    failures,
    files,
    people,
    searching,
    tags,
    understanding,
    uploads,
)
from chyme.web.pages import PAGES
from chyme.web.problems import RESPONSES, problem, status_of, wrong_form

API = (searching, digesting, files, content, uploads, understanding, bulk, failures, digesters, tags, people, events)


def create(app: App) -> FastAPI:
    """The HTTP face of an opened vault."""
    api = FastAPI(title="chyme", version=__version__, docs_url=None, redoc_url=None, responses=RESPONSES)

    @api.exception_handler(ChymeError)
    def sentence(_request: Request, error: ChymeError) -> Response:
        return problem(status_of(error), str(error))

    @api.exception_handler(RequestValidationError)
    def misshapen(_request: Request, error: RequestValidationError) -> Response:
        return problem(422, wrong_form(error))

    @api.exception_handler(HTTPException)
    def plain(request: Request, error: HTTPException) -> Response:
        headers = dict(error.headers or {})
        if error.status_code == 405:
            headers["Allow"] = ", ".join(sorted(_allowed(api, request)))
        return problem(error.status_code, str(error.detail), headers)

    for part in API:
        part.add_routes(api, app)
    told = len(api.routes)
    for page in PAGES:
        page.add_routes(api, app)
    for route in api.routes[told:]:
        if isinstance(route, APIRoute):
            route.include_in_schema = False  # for people, and free to change
    return api


def _allowed(api: FastAPI, request: Request) -> set[str]:
    """What may be done at this address; each route knows only of itself."""
    here = [route for route in api.routes if isinstance(route, Route) and route.matches(request.scope)[0] != Match.NONE]
    return {method for route in here for method in route.methods or ()}
