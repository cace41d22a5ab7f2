"""The whole server: its door, its vaults, and what belongs to no vault."""

from __future__ import annotations

import ipaddress
from collections.abc import Awaitable, Callable

from fastapi import FastAPI, Request
from fastapi.responses import Response
from starlette.staticfiles import StaticFiles

from chyme.app import App
from chyme.web.pages.render import STATIC
from chyme.web.problems import problem
from chyme.web.routes import create


def create_house(app: App) -> FastAPI:
    """What the server answers with. (To be replaced by the one with doors and several vaults.)"""
    house = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)

    @house.middleware("http")
    async def local_only(request: Request, call: Callable[[Request], Awaitable[Response]]) -> Response:
        if not _local(request.headers.get("host", "")) or not _own(request):
            return problem(403, "requests must come from this machine, addressed to it by name")
        answer = await call(request)
        answer.headers["X-Content-Type-Options"] = "nosniff"
        answer.headers.setdefault("Cache-Control", "no-store")
        return answer

    @house.get("/healthz")
    def healthz() -> dict[str, str]:
        """The vault is open."""
        return {"status": "ok"}

    house.mount("/static", StaticFiles(directory=STATIC))
    house.mount("", create(app))
    return house


def _local(host: str) -> bool:
    """Only names of this machine: a page elsewhere cannot make its own name lead here."""
    name = host.rsplit(":", 1)[0] if host.count(":") == 1 or (host.startswith("[") and "]:" in host) else host
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name.strip("[]")).is_loopback
    except ValueError:
        return False


def _own(request: Request) -> bool:
    """Nothing that changes the vault may be sent by another site's page."""
    origin = request.headers.get("origin")
    if request.method in ("GET", "HEAD", "OPTIONS") or origin is None:
        return True
    return origin.split("://", 1)[-1] == request.headers.get("host", "")
