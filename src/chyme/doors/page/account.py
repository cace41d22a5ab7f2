"""The visitor's own account: password, sessions, and the tokens of their programs."""

from __future__ import annotations

import time
from functools import partial
from typing import Annotated

from fastapi import FastAPI, Path, Request
from fastapi.responses import RedirectResponse, Response

from chyme.accounts.api_tokens import NewToken
from chyme.accounts.login_throttle import network_key
from chyme.accounts.permissions import Right, Visitor
from chyme.application.server_vaults import ServerVaults
from chyme.doors.http.access_middleware import retry_after
from chyme.doors.http.request_bodies import form_of
from chyme.doors.page.login import PasswordHasher, vaults_of
from chyme.doors.page.rendering import page
from chyme.errors import NotFound, UsageError

CHANGED = "Your password is changed. Everywhere else you are signed out; your tokens stay until you revoke them below."
KEPT_SECONDS = 60.0  # so long a new secret waits for the browser that created it
Number = Annotated[int, Path(ge=1, le=2**63 - 1)]


class NewTokens:
    """New tokens that were not shown yet. Each is shown once, soon, and only to the session that created it."""

    def __init__(self) -> None:
        self._tokens: dict[int | None, tuple[float, NewToken]] = {}

    def put(self, visitor: Visitor, token: NewToken) -> None:
        oldest = time.monotonic() - KEPT_SECONDS
        self._tokens = {session: entry for session, entry in self._tokens.items() if entry[0] > oldest}
        self._tokens[visitor.session_id] = (time.monotonic(), token)

    def take(self, visitor: Visitor) -> NewToken | None:
        created_at, token = self._tokens.pop(visitor.session_id, (0.0, None))
        return token if time.monotonic() - created_at < KEPT_SECONDS else None


def add_routes(api: FastAPI, server_vaults: ServerVaults, password_hasher: PasswordHasher) -> None:
    """Add these pages to the server."""
    authenticator = server_vaults.authenticator
    new_tokens = NewTokens()

    def render(request: Request, visitor: Visitor, status: int = 200, **messages: str | None) -> Response:
        return page(
            request,
            "account.html",
            status,
            active="account",
            name=visitor.name,
            session_id=visitor.session_id,
            sessions=authenticator.accounts.sessions(_user_id(visitor)),
            tokens=authenticator.tokens.of_user(_user_id(visitor)),
            listed=vaults_of(server_vaults, request),
            problem=messages.get("problem"),
            done=messages.get("done"),
            secret=messages.get("secret"),
        )

    @api.get("/account", include_in_schema=False)
    def account(request: Request) -> Response:
        visitor = _require_session(request)
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
        visitor, form = _require_session(request), await form_of(request)
        keys = [network_key(request.state.client), f"password of {visitor.user_id}"]
        wait = authenticator.wrong_passwords.start_attempt(keys)
        if wait > 0:
            response = render(request, visitor, 429, problem="Too many wrong passwords. Wait a while, then try again.")
            response.headers.update(retry_after(wait))
            return response
        if not await password_hasher.run(
            partial(authenticator.accounts.check_password, visitor.name, form.get("current", ""))
        ):
            return render(request, visitor, 403, problem="This is not your password; nothing was changed.")
        authenticator.wrong_passwords.record_success(keys)
        if form.get("password", "") != form.get("again", ""):
            return render(request, visitor, 400, problem="The new password was typed in two ways; nothing was changed.")
        try:
            await password_hasher.run(
                partial(
                    authenticator.accounts.change_password, visitor.name, form.get("password", ""), visitor.session_id
                )
            )
        except UsageError as error:
            return render(request, visitor, 400, problem=_as_sentence(str(error)))
        return render(request, visitor, done=CHANGED)

    @api.post("/account/sessions/{number}/end", include_in_schema=False)
    def end_session(request: Request, number: Number) -> Response:
        visitor = _require_session(request)
        if not authenticator.accounts.end_session(number, _user_id(visitor)):
            raise NotFound("you are not signed in there")
        return RedirectResponse("/account", 303)

    @api.post("/account/tokens", include_in_schema=False)
    async def add_token(request: Request) -> Response:
        visitor, form = _require_session(request), await form_of(request)
        try:
            right = next((right for right in (Right.WRITE, Right.ADD) if form.get("right") == right), Right.READ)
            vault = _find_vault(server_vaults, request, form.get("vault", ""))
            token = authenticator.tokens.add(
                form.get("name", ""), right, vault, visitor.name, _parse_days(form.get("days", ""))
            )
        except UsageError as error:
            return render(request, visitor, 400, problem=_as_sentence(str(error)))
        new_tokens.put(visitor, token)
        return RedirectResponse("/account", 303)  # a reload does not create a second one

    @api.post("/account/tokens/{number}/revoke", include_in_schema=False)
    def revoke_token(request: Request, number: Number) -> Response:
        visitor = _require_session(request)
        if number not in {token.id for token in authenticator.tokens.of_user(_user_id(visitor))}:
            raise NotFound("you have no such token")
        authenticator.tokens.revoke(number)
        return RedirectResponse("/account", 303)


def _require_session(request: Request) -> Visitor:
    """Return the signed-in visitor. A token opens vaults, not the account it belongs to."""
    visitor: Visitor | None = request.state.visitor
    if visitor is None or visitor.session_id is None:
        raise NotFound("there is no account here; 'chyme users add NAME' makes one")
    return visitor


def _user_id(visitor: Visitor) -> int:
    if visitor.user_id is None:
        raise NotFound("there is no account here")
    return visitor.user_id


def _find_vault(server_vaults: ServerVaults, request: Request, name: str) -> tuple[str, str] | None:
    if not name:
        return None
    if name not in request.state.vaults:
        raise UsageError(f"there is no vault called {name[:100]!r}")
    return server_vaults.identities[name], name


def _parse_days(text: str) -> int | None:
    if not text.strip():
        return None
    if not text.strip().isdecimal() or len(text) > 9:
        raise UsageError("how long a token lives is a number of days")
    return int(text)


def _as_sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."
