"""The routes of the HTTP API."""

from __future__ import annotations

import ipaddress
import threading
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Literal

from fastapi import FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, ConfigDict

from chyme import __version__
from chyme.app import App
from chyme.app.adding import add_links
from chyme.errors import ChymeError, VaultError
from chyme.search.result import as_json
from chyme.web.not_found import NotFound, known
from chyme.web.understanding import add_routes

WAITERS = 8
LAST = 1_000_000  # hits nobody pages through to
SHOWN = 100  # characters of what somebody sent, in a sentence
TYPES = {".jpg": "image/jpeg", ".json": "application/json"}  # whatever else an artifact is, it is only downloaded


class Refused(BaseModel):
    """What went wrong."""

    detail: str


class NewLink(BaseModel):
    """A page somebody wants in the vault."""

    model_config = ConfigDict(extra="forbid")

    url: str
    name: str | None = None
    folder: str = ""


def create(app: App) -> FastAPI:
    """The HTTP face of an opened vault."""
    api = FastAPI(
        title="chyme",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        responses={"default": {"model": Refused, "description": "One sentence: what, why, and the way out"}},
    )
    waiters = threading.BoundedSemaphore(WAITERS)

    @api.middleware("http")
    async def local_only(request: Request, call: Callable[[Request], Awaitable[Response]]) -> Response:
        if not _local(request.headers.get("host", "")) or not _own(request):
            return JSONResponse({"detail": "requests must come from this machine, addressed to it by name"}, 403)
        answer = await call(request)
        answer.headers["X-Content-Type-Options"] = "nosniff"
        answer.headers["Cache-Control"] = "no-store"
        return answer

    @api.exception_handler(ChymeError)
    def sentence(_request: Request, error: ChymeError) -> JSONResponse:
        code = 404 if isinstance(error, NotFound) else 503 if isinstance(error, VaultError) else 400
        return JSONResponse({"detail": str(error)}, code)

    @api.exception_handler(RequestValidationError)
    def wrong_form(_request: Request, error: RequestValidationError) -> JSONResponse:
        return JSONResponse({"detail": _wrong_form(error)}, 422)

    @api.get("/healthz")
    def healthz() -> dict[str, str]:
        """The vault is open."""
        return {"status": "ok"}

    @api.get("/api/status")
    def status() -> dict[str, Any]:
        """Counts, and what is being worked on."""
        return {**app.documents.status(), **app.at_work(), "search": app.searching.status()}

    @api.get("/api/search")
    def search(
        q: str,
        limit: Annotated[int, Query(ge=1, le=1000)] = 20,
        offset: Annotated[int, Query(ge=0, le=LAST)] = 0,
        typing: bool = False,
        mode: Literal["both", "words", "meaning"] = "both",
        facets: bool = False,
    ) -> dict[str, Any]:
        """Search by word and by meaning."""
        return as_json(app.search.search(q, limit=limit, offset=offset, typing=typing, mode=mode, facets=facets))

    @api.get("/api/similar/{path:path}")
    def similar(
        path: str,
        limit: Annotated[int, Query(ge=1, le=1000)] = 20,
        offset: Annotated[int, Query(ge=0, le=LAST)] = 0,
    ) -> dict[str, Any]:
        """The files that are most like this one."""
        known(app, path)
        return as_json(app.search.similar(path, limit=limit, offset=offset))

    @api.get("/api/digest/{path:path}")
    def show(path: str) -> dict[str, Any]:
        """Everything about one file."""
        known(app, path)
        return app.documents.show(path)

    @api.post("/api/digest/{path:path}", response_model=None)
    def digest(
        path: str, digester: Annotated[list[str] | None, Query()] = None, wait: bool = True
    ) -> dict[str, Any] | JSONResponse:
        """Reset and process a file; with wait=false, or when many wait already, in the background."""
        known(app, path)
        if not wait or not waiters.acquire(blocking=False):
            app.request_again(path, digester or ())
            return JSONResponse({"path": path, "queued": True}, 202)
        try:
            app.digest_again(path, digester or ())
        finally:
            waiters.release()
        return app.documents.show(path)

    @api.post("/api/links", status_code=201)
    def add_link(link: NewLink, response: Response) -> dict[str, Any]:
        """Put a link into the vault; 200 when it is there already."""
        (added,) = add_links(app, [link.url], link.name, link.folder)
        response.status_code = 201 if added.created else 200
        return {"url": added.url, "path": added.path, "created": added.created}

    @api.get("/api/artifacts/{name:path}", response_class=Response)
    def artifact(name: str) -> Response:
        """The bytes of a preview, thumbnail, poster, cover or first page."""
        data = app.documents.artifact(name)
        if data is None:
            raise NotFound(f"{name}: is no artifact of this vault")
        known = TYPES.get(name[name.rfind(".") :])
        headers = {"Content-Security-Policy": "default-src 'none'; sandbox"}
        if known is None:
            headers["Content-Disposition"] = "attachment"
        return Response(data, media_type=known or "application/octet-stream", headers=headers)

    add_routes(api, app)
    return api


def _wrong_form(error: RequestValidationError) -> str:
    """The first thing that is wrong with a request, and where."""
    first = error.errors()[0]
    inside = ".".join(str(part) for part in first["loc"][1:] if first["type"] != "json_invalid")
    where = f"“{inside[:SHOWN]}”" if inside else "the body"
    return f"{where} has the wrong form: {first['msg'][:SHOWN]}; /openapi.json tells the right one"


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
