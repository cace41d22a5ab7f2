"""The set-up page: the owner's account is made with the code from the terminal. Works without JavaScript."""

from __future__ import annotations

from functools import partial

from fastapi import FastAPI, HTTPException, Request
from fastapi.responses import RedirectResponse, Response

from chyme.accounts.first_owner import FirstOwner
from chyme.application.server_vaults import ServerVaults
from chyme.doors.http.access_middleware import SETUP_PATH
from chyme.doors.http.account_requests import count_attempt, sign_in_new
from chyme.doors.http.password_hashing import PasswordHasher
from chyme.doors.http.request_bodies import form_of
from chyme.doors.page.account import as_sentence
from chyme.doors.page.login import browser_name, set_session_cookie
from chyme.doors.page.rendering import page
from chyme.errors import NotFound, UsageError

WRONG_CODE = "This is not the code. It is in the terminal in which chyme was started, new at each start."
TWO_WAYS = "The password was typed in two ways; no account was made."


def add_routes(
    api: FastAPI, server_vaults: ServerVaults, password_hasher: PasswordHasher, first_owner: FirstOwner | None
) -> None:
    """Add this page to the server. Once there is an account, it leads to the start page."""
    authenticator = server_vaults.authenticator

    @api.get(SETUP_PATH, include_in_schema=False)
    def form(request: Request) -> Response:
        if first_owner is None or not first_owner.is_awaited:
            return RedirectResponse("/", 303)
        return page(request, "set_up.html", name="", problem=None)

    @api.post(SETUP_PATH, include_in_schema=False)
    async def make_owner(request: Request) -> Response:
        if first_owner is None or not first_owner.is_awaited:
            raise NotFound("the set-up is done; sign in")
        fields = await form_of(request)
        name, password = fields.get("name", ""), fields.get("password", "")
        status, problem = 400, ""
        try:
            keys = count_attempt(authenticator.wrong_codes, request)
            if not first_owner.is_code(fields.get("code", "")):
                return page(request, "set_up.html", 403, name=name, problem=WRONG_CODE)
            authenticator.wrong_codes.record_success(keys)
            if password != fields.get("again", ""):
                return page(request, "set_up.html", 400, name=name, problem=TWO_WAYS)
            account = await password_hasher.run(partial(first_owner.make, name, password))
        except HTTPException as error:
            status, problem = error.status_code, as_sentence(error.detail)
        except UsageError as error:
            problem = as_sentence(str(error))
        if problem:
            return page(request, "set_up.html", status, name=name, problem=problem)
        browser = browser_name(request.headers.get("user-agent", ""))
        session = await sign_in_new(server_vaults, password_hasher, request, account.name, password, browser)
        redirect = RedirectResponse("/", 303)
        if session is not None:
            set_session_cookie(request, redirect, session)
        return redirect
