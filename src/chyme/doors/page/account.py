"""The visitor's own account: password, sessions, and the tokens of their programs."""

from __future__ import annotations

from typing import Annotated

from fastapi import FastAPI, HTTPException, Path, Request
from fastapi.responses import RedirectResponse, Response

from chyme.accounts.api_tokens import NewToken
from chyme.accounts.permissions import Right, Visitor
from chyme.application.server_vaults import ServerVaults
from chyme.doors.http.account_requests import change_own_password, require_session, user_id_of
from chyme.doors.http.password_hashing import PasswordHasher
from chyme.doors.http.request_bodies import form_of
from chyme.doors.page.login import vaults_of
from chyme.doors.page.rendering import page
from chyme.doors.page.shown_once import ShownOnce
from chyme.errors import NotFound, UsageError

CHANGED = "Your password is changed. Everywhere else you are signed out; your tokens stay until you revoke them below."
Number = Annotated[int, Path(ge=1, le=2**63 - 1)]


def add_routes(api: FastAPI, server_vaults: ServerVaults, password_hasher: PasswordHasher) -> None:
    """Add these pages to the server."""
    authenticator = server_vaults.authenticator
    new_tokens: ShownOnce[NewToken] = ShownOnce()

    def render(request: Request, visitor: Visitor, status: int = 200, **messages: str | None) -> Response:
        return page(
            request,
            "account.html",
            status,
            active="account",
            name=visitor.name,
            is_owner=visitor.is_owner,
            session_id=visitor.session_id,
            sessions=authenticator.accounts.sessions(user_id_of(visitor)),
            tokens=authenticator.tokens.of_user(user_id_of(visitor)),
            listed=vaults_of(server_vaults, request),
            problem=messages.get("problem"),
            done=messages.get("done"),
            secret=messages.get("secret"),
        )

    @api.get("/account", include_in_schema=False)
    def account(request: Request) -> Response:
        visitor = require_session(request)
        token = new_tokens.take(visitor)
        if token is None:
            return render(request, visitor)
        return render(request, visitor, secret=token.secret, done=f"The token “{token.token.name}” is made.")

    @api.get("/account/password", include_in_schema=False)
    @api.get("/account/tokens", include_in_schema=False)
    def back() -> Response:
        return RedirectResponse("/account", 303)  # for reloading, or going back to, the address of a form

    @api.post("/account/password", include_in_schema=False)
    async def change_password(request: Request) -> Response:
        visitor, form = require_session(request), await form_of(request)
        if form.get("password", "") != form.get("again", ""):
            return render(request, visitor, 400, problem="The new password was typed in two ways; nothing was changed.")
        try:
            await change_own_password(
                server_vaults, password_hasher, request, form.get("current", ""), form.get("password", "")
            )
        except HTTPException as error:
            response = render(request, visitor, error.status_code, problem=as_sentence(error.detail))
            response.headers.update(error.headers or {})
            return response
        except UsageError as error:
            return render(request, visitor, 400, problem=as_sentence(str(error)))
        return render(request, visitor, done=CHANGED)

    @api.post("/account/sign-out-elsewhere", include_in_schema=False)
    def end_other_sessions(request: Request) -> Response:
        visitor = require_session(request)
        authenticator.accounts.end_sessions(user_id_of(visitor), visitor.session_id)
        return RedirectResponse("/account", 303)

    @api.post("/account/sessions/{number}/end", include_in_schema=False)
    def end_session(request: Request, number: Number) -> Response:
        visitor = require_session(request)
        if not authenticator.accounts.end_session(number, user_id_of(visitor)):
            raise NotFound("you are not signed in there")
        return RedirectResponse("/account", 303)

    @api.post("/account/tokens", include_in_schema=False)
    async def add_token(request: Request) -> Response:
        visitor, form = require_session(request), await form_of(request)
        try:
            right = next((right for right in (Right.WRITE, Right.ADD) if form.get("right") == right), Right.READ)
            vault = server_vaults.vault_named(form["vault"]) if form.get("vault") else None
            days = _parse_days(form.get("days", ""))
            token = authenticator.tokens.add_own(visitor, form.get("name", ""), right, vault, days)
        except UsageError as error:
            return render(request, visitor, 400, problem=as_sentence(str(error)))
        new_tokens.put(visitor, token)
        return RedirectResponse("/account", 303)  # a reload does not create a second one

    @api.post("/account/tokens/{number}/revoke", include_in_schema=False)
    def revoke_token(request: Request, number: Number) -> Response:
        visitor = require_session(request)
        if number not in {token.id for token in authenticator.tokens.of_user(user_id_of(visitor))}:
            raise NotFound("you have no such token")
        authenticator.tokens.revoke(number)
        return RedirectResponse("/account", 303)


def _parse_days(text: str) -> int | None:
    if not text.strip():
        return None
    if not text.strip().isdecimal() or len(text) > 9:
        raise UsageError("how long a token lives is a number of days")
    return int(text)


def as_sentence(text: str) -> str:
    """Return an error's text as a sentence of a page."""
    return f"{text[:1].upper()}{text[1:]}."
