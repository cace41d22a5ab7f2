"""Signing in and out, and choosing a vault. All of it works without JavaScript."""

from __future__ import annotations

from functools import partial
from typing import Literal

from fastapi import FastAPI, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import BaseModel

from chyme.accounts.login_throttle import network_key
from chyme.accounts.passwords import fingerprint
from chyme.accounts.permissions import Right, Visitor
from chyme.accounts.users import NewSession, fold_name
from chyme.application.server_vaults import ServerVaults
from chyme.doors.http.access_middleware import cookie_name, retry_after
from chyme.doors.http.password_hashing import PasswordHasher
from chyme.doors.http.problem_details import problem_response
from chyme.doors.http.request_bodies import form_of
from chyme.doors.http.request_origin import safe_redirect_path
from chyme.doors.page.rendering import page

# The order matters: most browsers claim to be several of those below them.
_BROWSERS = (("Edg", "Edge"), ("OPR/", "Opera"), ("Firefox/", "Firefox"), ("Chrom", "Chrome"), ("Safari/", "Safari"))
_SYSTEMS = (
    *(("Android", "Android"), ("iPhone", "iPhone"), ("iPad", "iPad"), ("Windows", "Windows")),
    *(("Mac OS X", "Mac"), ("CrOS", "ChromeOS"), ("Linux", "Linux")),
)
MAX_NAME = 40


class ListedVault(BaseModel):
    """A vault the visitor may read."""

    name: str
    address: str
    files: int
    right: Literal["read", "write"]


class ListedVaults(BaseModel):
    """All vaults the visitor may read."""

    vaults: list[ListedVault]


def add_routes(api: FastAPI, server_vaults: ServerVaults, password_hasher: PasswordHasher) -> None:
    """Add these pages to the server."""
    authenticator = server_vaults.authenticator

    @api.get("/login", include_in_schema=False)
    def login_page(request: Request, next: str | None = None) -> Response:
        if request.state.visitor is not None or not request.state.closed:
            return RedirectResponse(safe_redirect_path(next), 303)
        return page(request, "login.html", next=safe_redirect_path(next), name="", problem=None)

    @api.post("/login", include_in_schema=False)
    async def sign_in(request: Request) -> Response:
        form = await form_of(request)
        name, next_path = form.get("name", ""), safe_redirect_path(form.get("next"))
        if not request.state.closed:
            return RedirectResponse(next_path, 303)
        network, name_key = network_key(request.state.client), f"named {fingerprint(fold_name(name))}"
        keys = [network, f"{name_key} {network}"]
        if password_hasher.is_full:
            return problem_response(503, "too many people sign in at once; try again in a moment", retry_after(5))
        wait = authenticator.wrong_passwords.start_attempt(keys, brief=[name_key])
        if wait > 0:
            message = f"Too many wrong passwords. Try again in {format_wait(wait)}."
            response = page(request, "login.html", 429, next=next_path, name=name, problem=message)
            response.headers.update(retry_after(wait))
            return response
        browser = browser_name(request.headers.get("user-agent", ""))
        work = partial(
            authenticator.accounts.sign_in,
            name,
            form.get("password", ""),
            server_vaults.settings.session_days,
            browser,
            request.state.client,
        )
        session = await password_hasher.run(work)
        if not isinstance(session, NewSession):
            message = "This name and this password do not belong together."
            return page(request, "login.html", 401, next=next_path, name=name, problem=message)
        authenticator.wrong_passwords.record_success([*keys, name_key])
        _end_session(server_vaults, request.state.visitor)
        redirect = RedirectResponse(next_path, 303)
        set_session_cookie(request, redirect, session)
        return redirect

    @api.post("/logout", include_in_schema=False)
    def sign_out(request: Request) -> Response:
        _end_session(server_vaults, request.state.visitor)
        response = RedirectResponse("/login" if request.state.closed else "/", 303)
        _set_cookie(request, response, "", 0)
        return response

    @api.get("/api/vaults")
    def listed(request: Request) -> ListedVaults:
        """The vaults you may read."""
        return ListedVaults(vaults=vaults_of(server_vaults, request))

    if len(server_vaults.vaults) > 1:

        @api.get("/", include_in_schema=False)
        def choose(request: Request) -> Response:
            vaults = vaults_of(server_vaults, request)
            if len(vaults) == 1:
                return RedirectResponse(vaults[0].address, 303)
            return page(request, "vaults.html", listed=vaults)


def vaults_of(server_vaults: ServerVaults, request: Request) -> list[ListedVault]:
    """Return the vaults the visitor may read, and how many files each has."""
    visitor: Visitor | None = request.state.visitor
    vaults = []
    for name in request.state.vaults:
        may_write = visitor is None or visitor.may(server_vaults.identities[name], Right.WRITE)
        files = int(server_vaults.vaults[name].documents.status()["files"])
        vaults.append(
            ListedVault(name=name, address=f"/v/{name}/", files=files, right="write" if may_write else "read")
        )
    return vaults


def _end_session(server_vaults: ServerVaults, visitor: Visitor | None) -> None:
    if visitor is not None and visitor.session_id is not None and visitor.user_id is not None:
        server_vaults.authenticator.accounts.end_session(visitor.session_id, visitor.user_id)


def set_session_cookie(request: Request, response: Response, session: NewSession) -> None:
    """Sign the browser in that gets this response."""
    _set_cookie(request, response, session.secret, session.seconds)


def _set_cookie(request: Request, response: Response, secret: str, seconds: int) -> None:
    scheme = request.scope["scheme"]
    response.set_cookie(
        cookie_name(scheme), secret, max_age=seconds, path="/", httponly=True, samesite="lax", secure=scheme == "https"
    )


def format_wait(seconds: float) -> str:
    return f"{round(seconds / 60)} minutes" if seconds >= 90 else f"{max(1, round(seconds))} seconds"


def browser_name(user_agent: str) -> str:
    """`Firefox on Linux`; for an unknown client the first word."""
    browser = next((name for marker, name in _BROWSERS if marker in user_agent), None)
    system = next((name for marker, name in _SYSTEMS if marker in user_agent), None)
    if browser is None:
        return "".join(character for character in (user_agent.split() or [""])[0] if character.isprintable())[:MAX_NAME]
    return f"{browser} on {system}" if system is not None else browser
