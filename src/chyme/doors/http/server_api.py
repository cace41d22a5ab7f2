"""The whole server: access control, its vaults, and the routes that belong to no vault."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import AsyncIterator, Callable, Mapping

from fastapi import FastAPI, Request
from fastapi.responses import Response
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp

from chyme.accounts.first_owner import FirstOwner
from chyme.application.server_vaults import ServerVaults
from chyme.application.settings import Settings
from chyme.doors.http.access_middleware import AccessMiddleware, Addresses
from chyme.doors.http.password_hashing import PasswordHasher
from chyme.doors.http.problem_details import RESPONSES
from chyme.doors.http.request_bodies import BodyMemory, SmallBodies
from chyme.doors.http.request_log import RequestLog
from chyme.doors.http.request_origin import parse_networks
from chyme.doors.http.routes import account as account_routes
from chyme.doors.http.routes import feeds
from chyme.doors.http.routes import team as team_routes
from chyme.doors.http.routes.metrics import add_metrics
from chyme.doors.http.static_files import Static
from chyme.doors.http.vault_api import create_vault_api
from chyme.doors.http.vault_router import VaultRouter
from chyme.doors.page import account, capture, invitation, login, set_up, shared_files, team
from chyme.doors.page.error_pages import add_error_handlers, server_error_response
from chyme.errors import UsageError

Lifespan = Callable[[FastAPI], contextlib.AbstractAsyncContextManager[None]]


def create_server_app(
    server_vaults: ServerVaults, bound: str = "127.0.0.1", first_owner: FirstOwner | None = None
) -> ASGIApp:
    """Create the ASGI application with access control. `bound` is the address the server listens on.

    With `first_owner`, only the set-up page is served until there is an account.
    """
    api = create_server_api(server_vaults, first_owner=first_owner)
    return RequestLog(AccessMiddleware(api, server_vaults, addresses_of(server_vaults.settings, bound), first_owner))


def addresses_of(settings: Settings, bound: str) -> Addresses:
    """Return the names of the server and the proxies it trusts."""
    names = frozenset(name.strip().lower().strip("[]") for name in settings.hosts.split(",") if name.strip())
    try:
        proxies = parse_networks(settings.trusted_proxies)
    except ValueError as error:
        raise UsageError(f"setting trusted_proxies must be addresses or networks: {error}") from error
    return Addresses(bound, names, proxies)


def create_server_api(
    server_vaults: ServerVaults,
    prepare: Callable[[FastAPI], None] | None = None,
    first_owner: FirstOwner | None = None,
) -> FastAPI:
    """Create the application without access control. `prepare` is called with the application of every vault."""
    vault_apis = {name: create_vault_api(app) for name, app in server_vaults.vaults.items()}
    for vault_api in vault_apis.values():
        if prepare is not None:
            prepare(vault_api)
    api = FastAPI(
        title="chyme",
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        lifespan=_create_lifespan(vault_apis),
        responses=RESPONSES,
    )

    api.add_middleware(SmallBodies, prefixes=("/api/account", "/api/team", "/api/invitation"))
    add_error_handlers(api, server_error_response)

    @api.exception_handler(sqlite3.DatabaseError)
    def database_error(_request: Request, error: sqlite3.DatabaseError) -> Response:
        with server_vaults.authenticator.explain_damage():
            raise error

    @api.exception_handler(HTTPException)
    def http_error(request: Request, error: HTTPException) -> Response:
        return server_error_response(request, error.status_code, str(error.detail), dict(error.headers or {}))

    @api.get("/healthz")
    def healthz() -> dict[str, str]:
        """The server answers; `paused` while a vault is not at its path."""
        missing = any(app.database.presence.find_problem() for app in server_vaults.vaults.values())
        return {"status": "paused" if missing else "ok"}

    add_metrics(api, server_vaults)
    password_hasher = PasswordHasher()
    login.add_routes(api, server_vaults, password_hasher)
    set_up.add_routes(api, server_vaults, password_hasher, first_owner)
    invitation.add_routes(api, server_vaults, password_hasher)
    account.add_routes(api, server_vaults, password_hasher)
    team.add_routes(api, server_vaults, password_hasher)
    account_routes.add_routes(api, server_vaults, password_hasher)
    team_routes.add_routes(api, server_vaults, password_hasher)
    capture.add_routes(api, server_vaults)
    shared_files.add_routes(api, server_vaults)
    feeds.add_routes(api, server_vaults)
    api.mount("/static", Static())
    body_memory = BodyMemory()
    api.mount("/v", VaultRouter(server_vaults, vault_apis, body_memory))
    if len(vault_apis) == 1:
        api.mount("", VaultRouter(server_vaults, vault_apis, body_memory, only=next(iter(vault_apis))))
    return api


def _create_lifespan(vault_apis: Mapping[str, FastAPI]) -> Lifespan:
    """Start and end the applications of the vaults with the server: mounted applications get no lifespan events."""

    @contextlib.asynccontextmanager
    async def server_lifespan(_api: FastAPI) -> AsyncIterator[None]:
        async with contextlib.AsyncExitStack() as stack:
            for vault_api in vault_apis.values():
                await stack.enter_async_context(vault_api.router.lifespan_context(vault_api))
                for lifespan in getattr(vault_api.state, "lifespans", ()):
                    await stack.enter_async_context(lifespan(vault_api))
            yield

    return server_lifespan
