"""The page of an invitation. Its code follows a # in the link, so that it is in no log."""

from __future__ import annotations

from fastapi import FastAPI, HTTPException, Request
from fastapi.responses import RedirectResponse, Response

from chyme.application.server_vaults import ServerVaults
from chyme.doors.http.account_requests import redeem_invitation, sign_in_new
from chyme.doors.http.password_hashing import PasswordHasher
from chyme.doors.http.request_bodies import form_of
from chyme.doors.page.account import as_sentence
from chyme.doors.page.login import browser_name, set_session_cookie
from chyme.doors.page.rendering import page
from chyme.doors.page.set_up import TWO_WAYS
from chyme.errors import NotFound, UsageError


def add_routes(api: FastAPI, server_vaults: ServerVaults, password_hasher: PasswordHasher) -> None:
    """Add this page to the server."""

    @api.get("/invitation", include_in_schema=False)
    def form(request: Request) -> Response:
        return page(request, "invitation.html", code="", name="", problem=None)

    @api.post("/invitation", include_in_schema=False)
    async def redeem(request: Request) -> Response:
        fields = await form_of(request)
        code, typed, password = fields.get("code", ""), fields.get("name", ""), fields.get("password", "")
        if password != fields.get("again", ""):
            return page(request, "invitation.html", 400, code=code, name=typed, problem=TWO_WAYS)
        try:
            name = await redeem_invitation(server_vaults, password_hasher, request, code, typed, password)
        except HTTPException as error:
            problem = as_sentence(error.detail)
            response = page(request, "invitation.html", error.status_code, code=code, name=typed, problem=problem)
            response.headers.update(error.headers or {})
            return response
        except UsageError as error:
            status = 404 if isinstance(error, NotFound) else 400
            problem = as_sentence(str(error))
            return page(request, "invitation.html", status, code=code, name=typed, problem=problem)
        browser = browser_name(request.headers.get("user-agent", ""))
        session = await sign_in_new(server_vaults, password_hasher, request, name, password, browser)
        redirect = RedirectResponse("/", 303)
        if session is not None:
            set_session_cookie(request, redirect, session)
        return redirect
