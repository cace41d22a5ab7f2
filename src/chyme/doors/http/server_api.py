"""The whole server: its door, its vaults, and what belongs to no vault."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import AsyncIterator, Callable, Mapping

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp

from chyme.application.server_vaults import ServerVaults
from chyme.application.settings import Settings
from chyme.doors.http.access_middleware import AccessMiddleware, Addresses
from chyme.doors.http.body_limits import BodyMemory
from chyme.doors.http.problem_details import RESPONSES, describe_validation_error, status_of
from chyme.doors.http.request_log import RequestLog
from chyme.doors.http.request_origin import parse_networks
from chyme.doors.http.routes.metrics import add_metrics
from chyme.doors.http.static_files import Static
from chyme.doors.http.vault_api import create_vault_api
from chyme.doors.http.vault_router import VaultRouter
from chyme.doors.page import account, login
from chyme.doors.page.error_pages import internal_error_response, server_error_response
from chyme.errors import ChymeError, UsageError

Lifespan = Callable[[FastAPI], contextlib.AbstractAsyncContextManager[None]]


def create_server_app(house: ServerVaults, bound: str = "127.0.0.1") -> ASGIApp:
    """What the server answers with, behind its door. `bound` is the address it listens on."""
    return RequestLog(AccessMiddleware(create_server_api(house), house, addresses_of(house.settings, bound)))


def addresses_of(settings: Settings, bound: str) -> Addresses:
    """What the server is called, and whom it believes."""
    names = frozenset(name.strip().lower().strip("[]") for name in settings.hosts.split(",") if name.strip())
    try:
        proxies = parse_networks(settings.trusted_proxies)
    except ValueError as error:
        raise UsageError(f"setting trusted_proxies must be addresses or networks: {error}") from error
    return Addresses(bound, names, proxies)


def create_server_api(house: ServerVaults, prepare: Callable[[FastAPI], None] | None = None) -> FastAPI:
    """The same without the door. `prepare` is given the face of every vault."""
    faces = {name: create_vault_api(app) for name, app in house.vaults.items()}
    for face in faces.values():
        if prepare is not None:
            prepare(face)
    api = FastAPI(
        title="chyme", docs_url=None, redoc_url=None, openapi_url=None, lifespan=_lives(faces), responses=RESPONSES
    )

    @api.exception_handler(ChymeError)
    def sentence(request: Request, error: ChymeError) -> Response:
        return server_error_response(request, status_of(error), str(error))

    @api.exception_handler(sqlite3.DatabaseError)
    def damaged(_request: Request, error: sqlite3.DatabaseError) -> Response:
        with house.doors.explain_damage():
            raise error

    @api.exception_handler(RequestValidationError)
    def misshapen(request: Request, error: RequestValidationError) -> Response:
        return server_error_response(request, 422, describe_validation_error(error))

    @api.exception_handler(HTTPException)
    def plain(request: Request, error: HTTPException) -> Response:
        return server_error_response(request, error.status_code, str(error.detail), dict(error.headers or {}))

    @api.exception_handler(Exception)
    def broken(request: Request, _error: Exception) -> Response:
        return internal_error_response(request, request.state.request_id)

    @api.get("/healthz")
    def healthz() -> dict[str, str]:
        """The server answers; `paused` while a vault is not at its path."""
        gone = any(app.database.presence.find_problem() for app in house.vaults.values())
        return {"status": "paused" if gone else "ok"}

    add_metrics(api, house)
    hashing = login.PasswordHasher()
    login.add_routes(api, house, hashing)
    account.add_routes(api, house, hashing)
    api.mount("/static", Static())
    bodies = BodyMemory()
    api.mount("/v", VaultRouter(house, faces, bodies))
    if len(faces) == 1:
        api.mount("", VaultRouter(house, faces, bodies, only=next(iter(faces))))
    return api


def _lives(faces: Mapping[str, FastAPI]) -> Lifespan:
    """Mounted faces are not told that the server begins and ends; so we tell them."""

    @contextlib.asynccontextmanager
    async def lives(_api: FastAPI) -> AsyncIterator[None]:
        async with contextlib.AsyncExitStack() as stack:
            for face in faces.values():
                await stack.enter_async_context(face.router.lifespan_context(face))
                for lifespan in getattr(face.state, "lifespans", ()):
                    await stack.enter_async_context(lifespan(face))
            yield

    return lives
